"""Search for receipts in an input: a compact JWS, a header that contains one, or an answer's JSON. Pure."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import Any

from conformance.oracles.jose import tokens_in

# Bytes of an input: a document with many receipts is far below.
LARGEST = 8 * 1024 * 1024
_FIELD = re.compile(r"[A-Za-z0-9-]+:[ \t]*(\S+)")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,9})\]")


class NoReceipt(Exception):
    """The input contains no receipt; the text contains the reason."""


@dataclass(frozen=True, slots=True)
class Found:
    """A receipt and its place.

    Attributes:
        place: For example `receipt.jws` or `results[0]`; empty if the whole input is the receipt.
        token: Its text, well-formed or not.
    """

    place: str
    token: str


def receipts_in(data: bytes, at: str | None = None) -> list[Found]:
    """Return the receipts in an input, in their order.

    A JSON document is searched for compact JWS; so is the base64 of one, as the header PAYMENT-RESPONSE carries it,
    with or without the header's name. Any other text is taken for one receipt, so that a damaged one can be explained.

    Args:
        data: The input.
        at: The exact place to take the receipt from, whatever text it contains.

    Raises:
        NoReceipt: The input contains no receipt, or no receipt at that place.
    """
    if len(data) > LARGEST:
        raise NoReceipt(f"the input is larger than {LARGEST} bytes")
    # A byte order mark and surrounding white space come from editors and terminals.
    text = data.decode("utf-8", "backslashreplace").lstrip("\ufeff").strip()
    if not text:
        raise NoReceipt("the input is empty")
    # A header copied with its name, such as `PAYMENT-RESPONSE: …`.
    field = _FIELD.fullmatch(text)
    text = field[1] if field is not None else text
    document = _document(text)
    if document is None:
        if at is not None:
            raise NoReceipt(f"the input is one receipt and not a JSON document, so it has no place {at!r}")
        return [Found("", text)]
    return [_at(document, at)] if at is not None else _find_receipts(document)


def _document(text: str) -> Any:
    """Return the JSON document that a text is or encodes; None if it is a receipt, or of an unknown form."""
    if text[0] in '{["':
        try:
            return json.loads(text)
        except RecursionError as fault:
            raise NoReceipt("the input looks like JSON and is nested too deep") from fault
        except ValueError as fault:
            raise NoReceipt(f"the input looks like JSON but is not valid: {fault}") from fault
    try:
        # A compact JWS contains dots, so it never decodes as base64.
        value = json.loads(base64.b64decode(text, validate=True))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _find_receipts(document: Any) -> list[Found]:
    if isinstance(document, str):
        return [Found("", document)]
    receipts = [Found(place.removeprefix("body:"), token) for place, token in tokens_in(document, {})]
    if not receipts:
        raise NoReceipt("no member of the JSON document is a compact JWS; --at PLACE takes a damaged one as it is")
    return receipts


def _at(document: Any, place: str) -> Found:
    value, remaining_path = document, place
    while remaining_path:
        step = _STEP.match(remaining_path)
        if step is None:
            raise NoReceipt(f"{place!r} is not a place: write it as result.receipts[0].jws")
        name, number = step[1], step[2]
        try:
            value = value[int(number)] if name is None and isinstance(value, list) else dict(value)[name]
        except (KeyError, IndexError, TypeError, ValueError) as fault:
            raise NoReceipt(f"the JSON document has nothing at {place}") from fault
        remaining_path = remaining_path[step.end() :]
    if not isinstance(value, str):
        raise NoReceipt(f"the value at {place} is not a text")
    return Found(place, value)
