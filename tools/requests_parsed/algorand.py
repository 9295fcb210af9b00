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
    transfers, tail = {}, body
    while tail:
        start = tail
        signed_members, tail = _value(tail)
        whole = start[: len(start) - len(tail)]
        # The transaction is the last member of a signed one, so its bytes are the end of these.
        raw = whole[whole.index(b"\xa3txn") + 4 :]
        text = b"TX" + raw
        identity = base64.b32encode(hashlib.new("sha512_256", text).digest()).decode().rstrip("=")
        transfers[identity] = Transfer(signed_members["txn"], _verifies(signed_members, text))
    return transfers


def _verifies(signed_members: Mapping[str, Any], text: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(signed_members["txn"]["snd"]).verify(signed_members.get("sig", b""), text)
    except InvalidSignature:
        return False
    return True


def deviations(transfer: Transfer, entry: Mapping[str, Any], tokens: Mapping[str, Any]) -> set[str]:
    """Return how a transaction differs from what an `accepts` entry asks for; `tokens` are those ever issued."""
    members, faults = transfer.fields, set()
    if not transfer.is_signed:
        faults.add("the transaction's signature")
    note = members.get("note", b"")
    if note != entry["extra"]["payment_reference"].encode():
        names_other_token = note.decode("utf-8", "replace") in tokens
        faults.add("weld: of another challenge" if names_other_token else "weld: missing or altered")
    if members.get("type") != "axfer":
        native = members.get("type") == "pay"
        faults.add("asset: native coin" if native else "no transfer")
        if native and address(members.get("rcv", _ZERO)) != entry["payTo"]:
            faults.add("receiver")
        return faults
    if members.get("asnd"):
        faults.add("clawback")
    if str(members.get("xaid")) != entry["asset"]:
        faults.add("asset")
    if address(members.get("arcv", _ZERO)) != entry["payTo"]:
        faults.add("receiver")
    price, amount = int(entry["maxAmountRequired"]), members.get("aamt", 0)
    if amount != price:
        faults.add("amount: less" if amount < price else "(amount: more)")
    return faults | {f"({what})" for member, what in _UNUSUAL.items() if members.get(member)}


# What the interface leaves open, or names no fault.
_UNUSUAL = {"aclose": "closes out", "rekey": "rekeys", "grp": "in a group"}


def address(key: bytes) -> str:
    """Return the text of a public key: base32 with four bytes of SHA-512/256."""
    return base64.b32encode(key + hashlib.new("sha512_256", key).digest()[-4:]).decode().rstrip("=")


def _value(data: bytes) -> tuple[Any, bytes]:
    """Read one msgpack value of the kinds that Algorand writes."""
    tag, tail = data[0], data[1:]
    if tag < 0x80:
        return tag, tail
    if tag < 0x90:
        return _map(tag & 0x0F, tail)
    if tag < 0xA0:
        return _array(tag & 0x0F, tail)
    if tag < 0xC0:
        return tail[: tag & 0x1F].decode(), tail[tag & 0x1F :]
    if tag in (0xC2, 0xC3):
        return tag == 0xC3, tail
    width = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD9: 1, 0xDA: 2, 0xDC: 2, 0xDE: 2}[tag]
    number, tail = int.from_bytes(tail[:width], "big"), tail[width:]
    if 0xCC <= tag <= 0xCF:
        return number, tail
    if tag == 0xDC:
        return _array(number, tail)
    if tag == 0xDE:
        return _map(number, tail)
    content = tail[:number]
    return (content.decode() if tag in (0xD9, 0xDA) else content), tail[number:]


def _map(count: int, tail: bytes) -> tuple[dict[str, Any], bytes]:
    members = {}
    for _ in range(count):
        name, tail = _value(tail)
        members[name], tail = _value(tail)
    return members, tail


def _array(count: int, tail: bytes) -> tuple[list[Any], bytes]:
    items = []
    for _ in range(count):
        element, tail = _value(tail)
        items.append(element)
    return items, tail
