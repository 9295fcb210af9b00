"""Parsing a receipt into its header and claims. Nothing is verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.oracles.ed25519_keys import KeyFault, decode_base64url
from conformance.oracles.json_acceptance import parse_json
from conformance.oracles.receipt_kinds import Kind
from conformance.oracles.receipts import departure_from_jcs
from conformance.receipts.offline.comparison_rules import likely_kind

_SEGMENTS = 3


class UnreadableReceipt(ValueError):
    """The claims of a receipt cannot be read; the text contains the reason."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """A compact JWS whose header and claims can be read.

    Attributes:
        text: The compact JWS.
        header: Its protected header.
        claims: Its payload; of a duplicate member the last one.
        kind: Its kind.
        departure: Why the payload's bytes are not in RFC 8785 form; None if they are.
    """

    text: str
    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    kind: Kind
    departure: str | None


def parse_receipt(text: str) -> Receipt:
    """Parse a compact JWS.

    Raises:
        UnreadableReceipt: It is not a compact JWS, or a part is not a JSON object (P-CV-02: at most 32 levels).
    """
    parts = text.split(".")
    if len(parts) != _SEGMENTS or not all(parts):
        raise UnreadableReceipt("it is not a compact JWS: not three segments")
    try:
        header, payload = (decode_base64url(part) for part in parts[:2])
    except KeyFault as fault:
        raise UnreadableReceipt(f"a segment is {fault}") from fault
    # Duplicate members of a header are rejected. In a payload they are kept, so that the fault can
    # be explained.
    members, claims = _object(header, "header", duplicates=False), _object(payload, "payload", duplicates=True)
    return Receipt(text, members, claims, likely_kind(claims), departure_from_jcs(payload))


def _object(data: bytes, part: str, *, duplicates: bool) -> Mapping[str, Any]:
    try:
        value = parse_json(data, duplicates=duplicates)
    except ValueError as fault:
        raise UnreadableReceipt(f"its {part} is not JSON: {fault}") from fault
    if not isinstance(value, dict):
        raise UnreadableReceipt(f"its {part} is not a JSON object")
    return value
