"""Echoes: an answer that repeats the payment or the key from a header of its own request (X-ROB-02)."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from conformance.http.redaction import Names

PAYMENTS: Final = {"x-payment": "X-PAYMENT", "payment-signature": "PAYMENT-SIGNATURE"}
# Answer headers whose value is JSON in base64: a text inside cannot be found in the encoded value.
_BASE64_HEADERS: Final = frozenset({"payment-required", "payment-response", "x-payment-response"})
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
# A shorter text may be in an answer by chance.
_SHORTEST_KEY: Final = 16
# The names of keys and tokens end like this. An answer may repeat other redacted values, such as an address.
_KEYS: Final = ("KEY", "TOKEN")
_PUBLIC: Final = "a proof of this lane is public on its chain, and only its JSON is repeated, not the header"
_ELSEWHERE: Final = "the interface has no secret in this place"


@dataclass(frozen=True, slots=True)
class Echo:
    """A part of the request that its answer repeats.

    Attributes:
        header: The header that bore it.
        shape: The place and the form in the answer.
        beyond: Why the echo is only a warning; None if it is a failure.
    """

    header: str
    shape: str
    beyond: str | None = None


def find_echoes(
    request_fields: Sequence[tuple[str, str]],
    answer_fields: Mapping[str, str],
    body: bytes,
    names: Names,
    elsewhere: bytes = b"",
) -> Iterator[Echo]:
    """Yield what an answer repeats of its request.

    Args:
        request_fields: Header fields of the request.
        answer_fields: Header fields of the answer.
        body: The body of the answer.
        names: The redaction table, which knows the secret keys.
        elsewhere: The rest of the request. A value that is also there is not a secret of a header.
    """
    secrets = [
        (header, forms)
        for place, (name, value) in enumerate(request_fields)
        for header, secret, forms in _list_secrets(name, value, names)
        if _bytes(secret) not in elsewhere and not _occurs(secret, request_fields[:place], request_fields[place + 1 :])
    ]
    if not secrets:
        return
    texts = dict(_list_texts(answer_fields, body))
    for header, forms in secrets:
        for shape, text, beyond in forms:
            place = next((place for place, told in texts.items() if text in told), None)
            if place is not None:
                yield Echo(header, f"{place}, {shape}", beyond)
                break


def _bytes(text: str) -> bytes:
    # Checks send header values on purpose that are not valid text.
    return text.encode("utf-8", "surrogatepass")


def _occurs(secret: str, *fields: Sequence[tuple[str, str]]) -> bool:
    return any(secret in value for some in fields for _, value in some)


def _list_secrets(name: str, value: str, names: Names) -> Iterator[tuple[str, str, list[tuple[str, str, str | None]]]]:
    """Yield a header's name and secret with the forms in which it would be recognised, the worst first."""
    header = name.lower()
    if header in PAYMENTS:
        # Only the whole value counts. A payment is public on its chain: an answer may name its transaction, payer,
        # token and even its signature. So the JSON of a proof without a signature is only a warning.
        beyond = None if header == "x-payment" else _ELSEWHERE
        proof = _decode_proof(value)
        if proof is not None:
            text, is_signed = proof
            json_beyond = beyond or (None if is_signed else _PUBLIC)
            forms = [("as it was sent", value, beyond), ("percent-encoded", quote(_bytes(value), safe=""), beyond)]
            yield (
                PAYMENTS[header],
                value,
                [*forms, ("its JSON", text, json_beyond), ("in base64url", _to_base64url(value), beyond)],
            )
    elif header == "authorization":
        key = value.rpartition(" ")[2]
        if len(key) >= _SHORTEST_KEY and (names.name_of(key) or "").endswith(_KEYS):
            forms = [("as it was sent", key, None), ("percent-encoded", quote(_bytes(key), safe=""), None)]
            yield "Authorization", key, forms


def _to_base64url(value: str) -> str:
    return value.replace("+", "-").replace("/", "_").rstrip("=")


def _decode_proof(value: str) -> tuple[str, bool] | None:
    """Return the JSON text of a proof, and whether it contains a signature; None for any other header."""
    try:
        text = base64.b64decode(value, validate=True).decode()
        proof: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(proof, dict):
        return None
    payload = proof.get("payload")
    is_signed = "signature" in proof or (isinstance(payload, dict) and {"signature", "transaction"} & payload.keys())
    return (text, bool(is_signed)) if is_signed or {"tx_id", "payment_reference"} <= proof.keys() else None


def _list_texts(answer_fields: Mapping[str, str], body: bytes) -> Iterator[tuple[str, str]]:
    """Yield the texts of an answer by their place, also without the escapes of JSON, and out of base64."""
    text = body.decode("utf-8", "replace")
    yield "the body", text
    if "\\" in text:
        yield "the body, as JSON", _ESCAPE.sub(_unescape, text)
    for name, value in answer_fields.items():
        yield f"the header {name}", value
        if name.lower() in _BASE64_HEADERS:
            try:
                decoded_text = base64.b64decode(value).decode()
            except ValueError:
                continue
            yield f"the JSON of the header {name}", _ESCAPE.sub(_unescape, decoded_text)


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else match[2]
