"""Algorand's encodings: addresses, canonical msgpack, transaction and group ids."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

import msgpack

ZERO = bytes(32)
_CHECKSUM_BYTES = 4


class Malformed(Exception):
    """Bytes or text that the node does not read; the text is the reason it gives."""


def digest(data: bytes) -> bytes:
    """Return SHA-512/256."""
    return hashlib.new("sha512_256", data).digest()


def encode_address(public_key: bytes) -> str:
    """Return the 58-character address of 32 bytes."""
    return _base32(public_key + digest(public_key)[-_CHECKSUM_BYTES:])


def decode_address(text: str) -> bytes:
    """Return the 32 bytes of an address.

    Raises:
        Malformed: It is not an address.
    """
    try:
        raw = base64.b32decode(text + "=" * (-len(text) % 8))
    except (ValueError, TypeError) as fault:
        raise Malformed(f"failed to parse the address: {text[:80]}") from fault
    if len(raw) != 36 or digest(raw[:32])[-_CHECKSUM_BYTES:] != raw[32:] or encode_address(raw[:32]) != text:
        raise Malformed(f"failed to parse the address: {text[:80]}")
    return raw[:32]


def encode_digest(raw: bytes) -> str:
    """Return the 52-character text of a hash."""
    return _base32(raw)


def canonical_id(text: str) -> str | None:
    """Return the canonical spelling of a transaction id, or None when it is not an id.

    The last of its 52 characters carries four spare bits, which the node ignores.
    """
    try:
        raw = base64.b32decode(text + "====") if len(text) == 52 else b""
    except ValueError:
        return None
    return _base32(raw) if len(raw) == 32 else None


def _base32(raw: bytes) -> str:
    return base64.b32encode(raw).decode().rstrip("=")


def is_zero(value: object, name: str = "") -> bool:
    """Return whether canonical encoding leaves the value out.

    Addresses, keys, hashes and signatures have a fixed length and are zero when all their bytes are; a note has any
    length and is zero only when it is empty.
    """
    if isinstance(value, bytes):
        return not value or (name != "note" and not any(value))
    return value is None or value is False or value in (0, "", [], {})


def pack(value: Mapping[str, Any]) -> bytes:
    """Return canonical msgpack: members in order of their names, zero values left out."""
    packed: bytes = msgpack.packb(_canonical(value), use_bin_type=True)
    return packed


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _canonical(member) for name, member in sorted(value.items()) if not is_zero(member, name)}
    if isinstance(value, list | tuple):
        return [_canonical(member) for member in value]
    return value


def unpack_all(data: bytes) -> list[dict[str, Any]]:
    """Return the objects that stand one after the other in `data`; each must be in canonical form.

    Raises:
        Malformed: They are not.
    """
    unpacker = msgpack.Unpacker(raw=False, strict_map_key=True, max_buffer_size=0)
    unpacker.feed(data)
    found: list[dict[str, Any]] = []
    try:
        for value in unpacker:
            if not isinstance(value, dict):
                raise Malformed("msgpack decode error: not a map")
            found.append(value)
        again = b"".join(pack(value) for value in found)
    except Malformed:
        raise
    except Exception as fault:  # the library's readers and writers raise many kinds: bad bytes, odd keys, depth
        raise Malformed(f"msgpack decode error: {type(fault).__name__}") from fault
    if again != data:
        raise Malformed("msgpack decode error: not in canonical form")
    return found


def transaction_id(transaction: Mapping[str, Any]) -> str:
    """Return the id of an unsigned transaction."""
    return _base32(digest(b"TX" + pack(transaction)))


def group_id(transactions: list[dict[str, Any]]) -> bytes:
    """Return the group id of transactions, each taken without its own `grp`."""
    hashes = [digest(b"TX" + pack({k: v for k, v in one.items() if k != "grp"})) for one in transactions]
    return digest(b"TG" + pack({"txlist": hashes}))


def multisig_address(version: int, threshold: int, keys: list[bytes]) -> bytes:
    """Return the 32 bytes of a multisignature account."""
    return digest(b"MultisigAddr" + bytes([version, threshold]) + b"".join(keys))
