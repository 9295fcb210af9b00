"""QR codes: from the bytes of an image to its text and back, and from the text to the payment that it requests."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from conformance.pages.svg_rasterizer import rasterize

if TYPE_CHECKING:
    from PIL import Image

_LARGEST_PIXELS = 40_000_000
_ETHEREUM = re.compile(r"ethereum:(?:pay-)?(0x[0-9a-fA-F]{40})(?:@([0-9]+))?/transfer\?(.*)", re.DOTALL)
_QUIET = 8
_SVG_TAG, _HEAD = re.compile(rb"<svg\b", re.IGNORECASE), 4096
# A code of few pixels can be distinguished from noise if its modules are several pixels wide.
_SMALL, _ENLARGEMENT = 400, 4
# Pixels of one module of a drawn code, and the modules of its white margin.
_MODULE_PIXELS, _MARGIN_MODULES = 6, 4
# Number of cached images. A page is read many times, and each decoding costs some ten milliseconds.
_CACHE_SIZE = 32


@lru_cache(maxsize=_CACHE_SIZE)
def decode(data: bytes) -> tuple[str, ...]:
    """Return the text of every QR code in a PNG, JPEG, GIF, WebP, BMP or SVG image; none for other bytes."""
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - it comes with the extra for checkout pages

    if is_drawing(data):
        pixels = rasterize(data.decode("utf-8", "replace"))
        return () if pixels is None else _codes(_on_white(pixels))
    try:
        with Image.open(io.BytesIO(data)) as opened:
            # The image comes from the target: a small file may expand to gigabytes of pixels.
            if opened.width * opened.height > _LARGEST_PIXELS:
                return ()
            image = _on_white(opened)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return ()
    texts = _codes(image)
    if not texts and max(image.size) < _SMALL:
        texts = _codes(
            image.resize((image.width * _ENLARGEMENT, image.height * _ENLARGEMENT), Image.Resampling.NEAREST)
        )
    return texts


def is_drawing(data: bytes) -> bool:
    """Return whether an image is a drawing (SVG), which only a browser shows completely."""
    return _SVG_TAG.search(data[:_HEAD]) is not None


def _on_white(picture: Image.Image) -> Image.Image:
    """Return an image on white with a margin: transparent parts are white, as on the page."""
    from PIL import Image, ImageOps  # noqa: PLC0415 - as above

    if picture.mode in {"1", "L"} and "transparency" not in picture.info:
        return ImageOps.expand(picture.convert("L"), _QUIET, 255)
    rgba = picture.convert("RGBA")
    size = (rgba.width + 2 * _QUIET, rgba.height + 2 * _QUIET)
    white = Image.new("RGBA", size, "white")
    white.alpha_composite(rgba, (_QUIET, _QUIET))
    return white.convert("L")


def _codes(image: Image.Image) -> tuple[str, ...]:
    import zxingcpp  # noqa: PLC0415 - as above

    # A search for every kind of barcode takes eight times as long.
    kinds = zxingcpp.BarcodeFormat
    formats = zxingcpp.BarcodeFormats((kinds.QRCode, kinds.MicroQRCode, kinds.RMQRCode))
    return tuple(found.text for found in zxingcpp.read_barcodes(image, formats=formats))


def draw(text: str) -> bytes:
    """Return the PNG of a QR code that contains a text."""
    import zxingcpp  # noqa: PLC0415 - as above
    from PIL import Image, ImageOps  # noqa: PLC0415 - as above

    barcode = zxingcpp.create_barcode(text, zxingcpp.BarcodeFormat.QRCode)
    picture = Image.fromarray(zxingcpp.write_barcode_to_image(barcode, scale=_MODULE_PIXELS))
    file = io.BytesIO()
    ImageOps.expand(picture.convert("L"), _MARGIN_MODULES * _MODULE_PIXELS, 255).save(file, "PNG")
    return file.getvalue()


@dataclass(frozen=True, slots=True)
class Payload:
    """The payment that a QR code requests; None for each value that it lacks or has in an unknown form.

    Attributes:
        text: The decoded text.
        address: Receiving address.
        atomic: Amount in atomic units.
        amount: Amount in whole units.
        asset: Asset id, mint or contract.
        chain_id: EVM chain id.
        memo: Memo or note.
        reference: Solana Pay reference.
    """

    text: str
    address: str | None = None
    atomic: int | None = None
    amount: Decimal | None = None
    asset: str | None = None
    chain_id: int | None = None
    memo: str | None = None
    reference: str | None = None

    def holds(self, word: str) -> bool:
        """Return whether the text contains `word`, percent-encoded or not; hexadecimal letters match in any case."""
        texts = (self.text, unquote(self.text))
        if word.lower().startswith("0x"):
            return any(word.lower() in text.lower() for text in texts)
        return any(word in text for text in texts)

    @property
    def microunits(self) -> Decimal | None:
        """The amount in millionths, of an asset with six decimals; None if it has no amount."""
        if self.atomic is not None:
            return Decimal(self.atomic)
        return None if self.amount is None else self.amount.scaleb(6)


def read_payload(text: str) -> Payload:
    """Return the payment that a payload requests: ARC-26, Solana Pay, or EIP-681, also in a page's fragment."""
    # Some pages put the payment into the fragment of their own address, so that a phone opens
    # the page.
    fragment = urlsplit(text).fragment if text.startswith(("http://", "https://")) else ""
    if (request := _ETHEREUM.match(fragment or text)) is not None:
        asking = _parse_query(request[3])
        number = request[2]
        return Payload(
            text,
            address=asking.get("address"),
            atomic=_integer(asking.get("uint256")),
            asset=request[1],
            chain_id=None if number is None else int(number),
        )
    if text.startswith("algorand://"):
        address, query = _parts(text.removeprefix("algorand://"))
        memo = query.get("xnote") or query.get("note")
        return Payload(text, address, _integer(query.get("amount")), asset=query.get("asset"), memo=memo)
    if text.startswith("solana:"):
        address, query = _parts(text.removeprefix("solana:"))
        asset, memo, reference = (query.get(name) for name in ("spl-token", "memo", "reference"))
        amount = _decimal(query.get("amount"))
        return Payload(text, address, amount=amount, asset=asset, memo=memo, reference=reference)
    return Payload(text)


def _parts(text: str) -> tuple[str, Mapping[str, str]]:
    address, _, query = text.partition("?")
    return unquote(address).strip("/"), _parse_query(query)


def _parse_query(query: str) -> Mapping[str, str]:
    # A plus sign is literal in these schemes, unlike in forms.
    return dict(parse_qsl(query.replace("+", "%2B"), keep_blank_values=True))


def _integer(text: str | None) -> int | None:
    # 78 digits hold every 256-bit number. Longer texts are hostile and slow to convert.
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,78}", text) else None


def _decimal(text: str | None) -> Decimal | None:
    try:
        return None if text is None or len(text) > 40 else Decimal(text)
    except InvalidOperation:
        return None
