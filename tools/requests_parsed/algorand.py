"""Algorand transactions from raw msgpack, and how one differs from the transfer that an entry asks for."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_ZERO = bytes(32)


@dataclass(frozen=True, slots=True)
class Transfer:
    """One transaction as sent to a node.

    Attributes:
        fields: Of the transaction, under their names on the wire.
        is_signed: Whether its signature verifies under its sender's key.
    """

    fields: Mapping[str, Any]
    is_signed: bool


def read(body: bytes) -> dict[str, Transfer]:
    """Return the transactions in a request to `/v2/transactions`, by their ids."""
    found, rest = {}, body
    while rest:
        start = rest
        signed, rest = _value(rest)
        whole = start[: len(start) - len(rest)]
        # The transaction is the last member of a signed one, so its bytes are the end of these.
        raw = whole[whole.index(b"\xa3txn") + 4 :]
        text = b"TX" + raw
        identity = base64.b32encode(hashlib.new("sha512_256", text).digest()).decode().rstrip("=")
        found[identity] = Transfer(signed["txn"], _verifies(signed, text))
    return found


def _verifies(signed: Mapping[str, Any], text: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(signed["txn"]["snd"]).verify(signed.get("sig", b""), text)
    except InvalidSignature:
        return False
    return True


def deviations(sent: Transfer, entry: Mapping[str, Any], tokens: Mapping[str, Any]) -> set[str]:
    """Return how a transaction differs from what an `accepts` entry asks for; `tokens` are those ever issued."""
    one, found = sent.fields, set()
    if not sent.is_signed:
        found.add("the transaction's signature")
    note = one.get("note", b"")
    if note != entry["extra"]["payment_reference"].encode():
        other = note.decode("utf-8", "replace") in tokens
        found.add("weld: of another challenge" if other else "weld: missing or altered")
    if one.get("type") != "axfer":
        native = one.get("type") == "pay"
        found.add("asset: native coin" if native else "no transfer")
        if native and address(one.get("rcv", _ZERO)) != entry["payTo"]:
            found.add("receiver")
        return found
    if one.get("asnd"):
        found.add("clawback")
    if str(one.get("xaid")) != entry["asset"]:
        found.add("asset")
    if address(one.get("arcv", _ZERO)) != entry["payTo"]:
        found.add("receiver")
    price, amount = int(entry["maxAmountRequired"]), one.get("aamt", 0)
    if amount != price:
        found.add("amount: less" if amount < price else "(amount: more)")
    return found | {f"({what})" for member, what in _UNUSUAL.items() if one.get(member)}


# What the interface leaves open, or names no fault.
_UNUSUAL = {"aclose": "closes out", "rekey": "rekeys", "grp": "in a group"}


def address(key: bytes) -> str:
    """Return the text of a public key: base32 with four bytes of SHA-512/256."""
    return base64.b32encode(key + hashlib.new("sha512_256", key).digest()[-4:]).decode().rstrip("=")


def _value(data: bytes) -> tuple[Any, bytes]:
    """Read one msgpack value of the kinds that Algorand writes."""
    tag, rest = data[0], data[1:]
    if tag < 0x80:
        return tag, rest
    if tag < 0x90:
        return _map(tag & 0x0F, rest)
    if tag < 0xA0:
        return _array(tag & 0x0F, rest)
    if tag < 0xC0:
        return rest[: tag & 0x1F].decode(), rest[tag & 0x1F :]
    if tag in (0xC2, 0xC3):
        return tag == 0xC3, rest
    width = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD9: 1, 0xDA: 2, 0xDC: 2, 0xDE: 2}[tag]
    number, rest = int.from_bytes(rest[:width], "big"), rest[width:]
    if 0xCC <= tag <= 0xCF:
        return number, rest
    if tag == 0xDC:
        return _array(number, rest)
    if tag == 0xDE:
        return _map(number, rest)
    content = rest[:number]
    return (content.decode() if tag in (0xD9, 0xDA) else content), rest[number:]


def _map(count: int, rest: bytes) -> tuple[dict[str, Any], bytes]:
    found = {}
    for _ in range(count):
        name, rest = _value(rest)
        found[name], rest = _value(rest)
    return found, rest


def _array(count: int, rest: bytes) -> tuple[list[Any], bytes]:
    found = []
    for _ in range(count):
        one, rest = _value(rest)
        found.append(one)
    return found, rest
