"""Receipts are found in what people have."""

from __future__ import annotations

import base64
import json

import pytest

from conformance.receipts.offline.reading import LARGEST, Found, NoReceipt, receipts_in
from tests.conformance.receipts.offline.signed_receipts import COMPLIANCE, PAYABLE, sign_receipt

TOKEN, OTHER_TOKEN = sign_receipt(PAYABLE), sign_receipt(COMPLIANCE)
DOCUMENT = {"receipt": {"jws": TOKEN}, "results": [{"a": 1}, OTHER_TOKEN], "note": "no.receipt.here"}
ENCODED_TOKEN = base64.b64encode(json.dumps({"success": True, "receipt": TOKEN}).encode())


@pytest.mark.parametrize("around", ["{}", "  {}\r\n", "\ufeff{}\n", "X-Receipt: {}", '"{}"'])
def test_a_compact_jws_is_the_receipt(around: str) -> None:
    """Blanks around it, a byte order mark, a header's name and quotes do not matter."""
    assert receipts_in(around.replace("{}", TOKEN).encode()) == [Found("", TOKEN)]


def test_every_receipt_of_a_document_is_found_with_its_place() -> None:
    """In the order of the document; other texts with dots are ignored."""
    assert receipts_in(json.dumps(DOCUMENT).encode()) == [Found("receipt.jws", TOKEN), Found("results[1]", OTHER_TOKEN)]


@pytest.mark.parametrize("data", [ENCODED_TOKEN, b"PAYMENT-RESPONSE: " + ENCODED_TOKEN + b"\r\n"])
def test_a_header_that_encodes_a_document_is_read(data: bytes) -> None:
    """The header PAYMENT-RESPONSE holds base64 of JSON."""
    assert receipts_in(data) == [Found("receipt", TOKEN)]


def test_a_place_chooses_whatever_stands_there() -> None:
    """A damaged receipt, too, which no search would find."""
    data = json.dumps({**DOCUMENT, "results": [{"a b": ["damaged."]}]}).encode()
    assert receipts_in(data, "receipt.jws") == [Found("receipt.jws", TOKEN)]
    assert receipts_in(data, "results[0].a b[0]") == [Found("results[0].a b[0]", "damaged.")]


@pytest.mark.parametrize(
    ("data", "at", "why"),
    [
        (b" \n", None, "empty"),
        (b'{"a": ', None, "looks like JSON"),
        (b"[" * 100_000, None, "nested too deep"),
        (b'{"a": "b"}', None, "no member"),
        (b'{"a": ["b"]}', "a[1]", "nothing at"),
        (b'{"a": ["b"]}', "a.b", "nothing at"),
        (b'{"a": 5}', "a", "not a text"),
        (b'{"a": 5}', "[", "not a place"),
        (b"text", "a", "not a JSON document"),
        (b"a" * (LARGEST + 1), None, "larger"),
    ],
)
def test_where_there_is_none_it_is_said_why(data: bytes, at: str | None, why: str) -> None:
    """Empty, broken, without any, or at another place."""
    with pytest.raises(NoReceipt, match=why):
        receipts_in(data, at)


def test_a_damaged_text_is_taken_for_the_receipt() -> None:
    """It is explained then, bytes outside UTF-8 included."""
    assert receipts_in(b"a.b") == [Found("", "a.b")]
    assert receipts_in(b"\xff.b.c") == [Found("", "\\xff.b.c")]
