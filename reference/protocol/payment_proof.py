"""The header `X-PAYMENT`: a client's proof of a payment (5.6)."""

from __future__ import annotations

import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pybase64

from reference.fast_records import record
from reference.protocol.canonical_json import JsonValue, NotJson, parse
from reference.protocol.eip3009 import Authorization
from reference.protocol.refusals import PaymentRefused

MAX_HEADER_CHARACTERS = 8192
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", re.ASCII)
# Members of an ordinary x402 payload (P-XP-03). The header is then refused with a code that says why such a client
# cannot pay.
_STOCK_MEMBERS = frozenset({"x402Version", "scheme", "accepted", "payload"})
_MINED_MEMBERS = ("tx_id", "payment_reference")
_AUTHORIZED_MEMBERS = ("authorization", "signature", "challenge_token")


@record
class MinedProof:
    """Proof of a transaction that the payer put on the chain."""

    tx_id: str
    token: str
    network: str | None


@dataclass(frozen=True, slots=True)
class AuthorizedProof:
    """Proof that carries an authorization for the rail to settle."""

    authorization: Authorization
    token: str
    network: str | None


Proof: TypeAlias = MinedProof | AuthorizedProof


def decode(values: Sequence[str]) -> Proof:
    """Return the proof that the header's values hold.

    Raises:
        PaymentRefused: `invalid_payment_header`, or `payment_not_welded` for an ordinary x402 payload (P-XP-03).
    """
    members = _members(values)
    if _STOCK_MEMBERS & members.keys():
        raise PaymentRefused("payment_not_welded", network=_network_of_stock(members))
    # The optional member must be the lane of the token (P-LN-04). The caller compares it, because only the token
    # names the lane.
    network = members.get("network")
    if network is not None and not isinstance(network, str):
        raise _invalid()
    is_mined = all(_is_text(members.get(name)) for name in _MINED_MEMBERS)
    authorization = members.get("authorization")
    is_authorized = isinstance(authorization, dict) and all(
        _is_text(members.get(name)) for name in _AUTHORIZED_MEMBERS[1:]
    )
    # Exactly one of the two forms. A proof that mixes them would let the rail choose what it was paid with.
    if is_mined == is_authorized or (
        set(_MINED_MEMBERS) & members.keys() and set(_AUTHORIZED_MEMBERS) & members.keys()
    ):
        raise _invalid()
    if is_mined:
        return MinedProof(str(members["tx_id"]), str(members["payment_reference"]), network)
    assert isinstance(authorization, dict)  # noqa: S101 - narrowed by `is_authorized`
    try:
        signed_authorization = Authorization.from_members(authorization, str(members["signature"]))
    except ValueError as fault:
        raise _invalid() from fault
    return AuthorizedProof(signed_authorization, str(members["challenge_token"]), network)


def _members(values: Sequence[str]) -> dict[str, JsonValue]:
    if len(values) != 1 or len(values[0]) > MAX_HEADER_CHARACTERS or not values[0]:
        raise _invalid()
    if _BASE64.fullmatch(values[0]) is None:
        raise _invalid()
    try:
        raw = pybase64.b64decode(values[0], validate=True)
        value = parse(raw)
    except (binascii.Error, NotJson) as fault:
        raise _invalid() from fault
    # The reader ignores spare bits. Comparing with the encoding again leaves one text for each proof.
    if pybase64.b64encode_as_string(raw) != values[0] or not isinstance(value, dict):
        raise _invalid()
    return value


def _network_of_stock(members: dict[str, JsonValue]) -> str:
    """Return the network that a stock x402 payload names: version 2 in `accepted`, version 1 next to the payload."""
    accepted_entry = members.get("accepted")
    network = accepted_entry.get("network") if isinstance(accepted_entry, dict) else members.get("network")
    return network if isinstance(network, str) else ""


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str) and value != ""


def _invalid() -> PaymentRefused:
    return PaymentRefused("invalid_payment_header")
