"""QR codes of every usual image are decoded, and their payloads are taken apart."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pytest
import segno
from PIL import Image

from conformance.pages import qr

TEXT = "algorand://ABC?amount=8410000&asset=10458941&xnote=weldproof%3AAAE"
PAYEE = "0x0000000000000000000000000000000000000001"
TOKEN = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"


def draw_code(kind: str, **how: Any) -> bytes:
    """Return a QR code as an image file."""
    code_file, file = io.BytesIO(), io.BytesIO()
    segno.make(TEXT, micro=False).save(code_file, kind="png", **how)
    Image.open(code_file).convert("RGB" if kind == "JPEG" else "RGBA").save(file, kind)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_images_of_any_kind_are_decoded(kind: str) -> None:
    """The file's form does not matter."""
    assert qr.decode(draw_code(kind, scale=4)) == (TEXT,)


def test_small_borderless_and_transparent_codes_are_decoded() -> None:
    """A pixel a module, no quiet zone, and no background are what pages really send."""
    assert qr.decode(draw_code("PNG", scale=1, border=0)) == (TEXT,)
    assert qr.decode(draw_code("PNG", scale=3, light=None, dark="darkblue")) == (TEXT,)


def test_codes_of_black_and_white_and_of_grey_are_decoded() -> None:
    """An image without colours, with or without something transparent, is read as any other."""
    for how in ({"scale": 1, "border": 0}, {"scale": 8}, {"scale": 3, "light": None}, {"dark": "#333", "scale": 3}):
        file = io.BytesIO()
        segno.make(TEXT, micro=False).save(file, kind="png", **how)
        assert qr.decode(file.getvalue()) == (TEXT,)


@pytest.mark.parametrize(
    "data", [b"", b"GIF89a", b"<svg/>", b"\x89PNG\r\n\x1a\n" + bytes(40), draw_code("PNG", scale=4)[:200]]
)
def test_what_is_no_image_has_no_code(data: bytes) -> None:
    """Broken files decide nothing and break nothing."""
    assert qr.decode(data) == ()


def test_payloads_of_three_lanes_are_taken_apart() -> None:
    """ARC-26, Solana Pay, and EIP-681 alone or in a page's fragment say address, amount, asset and memo."""
    algorand = qr.read_payload(TEXT)
    assert (algorand.address, algorand.microunits, algorand.asset, algorand.memo) == (
        "ABC",
        Decimal(8_410_000),
        "10458941",
        "weldproof:AAE",
    )
    solana = qr.read_payload("solana:9xyz?amount=8.41&spl-token=4zMM&reference=2X2&memo=weldproof%3AA%2BB+C")
    assert (solana.address, solana.microunits, solana.asset) == ("9xyz", Decimal(8_410_000), "4zMM")
    assert (solana.memo, solana.reference) == ("weldproof:A+B+C", "2X2")
    ethereum = f"ethereum:{TOKEN}@84532/transfer?address={PAYEE}&uint256=8410000"
    for text in (ethereum, f"http://localhost:8090/checkout/x#{ethereum}"):
        base = qr.read_payload(text)
        assert (base.address, base.microunits, base.asset, base.chain_id) == (PAYEE, Decimal(8_410_000), TOKEN, 84532)


@pytest.mark.parametrize(
    "text", ["", "hello", "https://pay.test/checkout/x", "solana:", "algorand://?amount=x", "ethereum:0x1"]
)
def test_other_texts_say_what_they_say(text: str) -> None:
    """A payload of no known form has its text and no amount."""
    payload = qr.read_payload(text)
    assert (payload.text, payload.microunits) == (text, None)


def test_address_is_found_whatever_its_case_and_escapes() -> None:
    """An EVM address counts in any case, another one as it stands, percent-encoded or not."""
    assert qr.read_payload(f"ethereum:{TOKEN.lower()}@1/transfer?address={PAYEE.upper().replace('0X', '0x')}").holds(
        PAYEE
    )
    assert qr.read_payload("https://pay.test/?to=A%42C").holds("ABC")
    assert not qr.read_payload("https://pay.test/?to=abc").holds("ABC")


MATRIX = [list(row) for row in segno.make(TEXT, micro=False).matrix_iter(border=4)]
SIDE = len(MATRIX)
DARK = [(x, y) for y, row in enumerate(MATRIX) for x, is_dark in enumerate(row) if is_dark]
SQUARES = "".join(f"M{x} {y}h1v1h-1z" for x, y in DARK)
# A code as libraries of several languages draw it.
DRAWINGS = {
    "a rectangle a module": f'<svg width="{SIDE * 8}" height="{SIDE * 8}">'
    '<rect width="100%" height="100%" fill="#fff"/>'
    + "".join(f'<rect x="{x * 8}" y="{y * 8}" width="8" height="8" style="fill:#000000"/>' for x, y in DARK)
    + "</svg>",
    "one path": f'<svg viewBox="0 0 {SIDE} {SIDE}"><path fill="#FFFFFF" d="M0,0 h{SIDE}v{SIDE}H0z"/>'
    f'<path fill="#000000" d="{SQUARES}" shape-rendering="crispEdges"/></svg>',
    "light on dark": f'<svg viewBox="0 0 {SIDE} {SIDE}"><rect width="{SIDE}" height="{SIDE}"/>'
    f'<path fill="white" d="{SQUARES}"/></svg>',
    "moved groups": f'<svg width="300" height="300"><g transform="scale({300 / SIDE})"><g transform="translate(0,0)">'
    f'<path fill-rule="evenodd" d="{SQUARES}" fill="#222"/></g></g></svg>',
    "dots": f'<svg viewBox="0 0 {SIDE} {SIDE}">'
    + "".join(f'<circle cx="{x + 0.5}" cy="{y + 0.5}" r="0.45"/>' for x, y in DARK)
    + "</svg>",
    "polygons": f'<svg viewBox="0 0 {SIDE} {SIDE}">'
    + "".join(f'<polygon points="{x},{y} {x + 1},{y} {x + 1},{y + 1} {x},{y + 1}"/>' for x, y in DARK)
    + "</svg>",
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_codes_that_are_drawn_are_decoded(name: str) -> None:
    """A drawing needs no script, so that no browser is needed for it either."""
    assert qr.decode(DRAWINGS[name].encode()) == (TEXT,)


@pytest.mark.parametrize("how", [{}, {"scale": 4}, {"border": 0}, {"light": "white"}, {"unit": "mm", "scale": 2}])
def test_codes_that_are_drawn_by_strokes_are_decoded(how: dict[str, Any]) -> None:
    """Segno draws each run of modules as a line."""
    file = io.BytesIO()
    segno.make(TEXT, micro=False).save(file, kind="svg", **how)
    assert qr.decode(file.getvalue()) == (TEXT,)


@pytest.mark.parametrize(
    "drawing_text",
    [
        "<svg/>",
        "<svg viewBox='0 0 1e999 1'></svg>",
        "<svg viewBox='0 0 0 0'><path d='M0 0h1'/></svg>",
        "<svg viewBox='0 0 9 9'><path d='M0 0C1 1 2 2 3 3z'/><path d='M0 0L x'/><path d='L1z'/></svg>",
        "<svg viewBox='0 0 9 9'><rect width='x' height='1e300' fill='url(#a)' stroke='red'/></svg>",
        "<svg viewBox='0 0 9 9'><g transform='scale()'><rect width='9' height='9'/></g></svg>",
        "<svg viewBox='0 0 9 9'><polygon points='1,1 1e308,1e308 5,5 nan'/></svg>",
        "<svg viewBox='0 0 9 9'>" + "<g>" * 3000 + "<rect width='1' height='1'/>",
        "<svg viewBox='0 0 9 9'>" + "<rect width='1' height='1'/>" * 25_000 + "</svg>",
    ],
)
def test_a_drawing_of_another_kind_has_no_code(drawing_text: str) -> None:
    """It decides nothing and breaks nothing, whatever its numbers are."""
    assert qr.decode(drawing_text.encode()) == ()
