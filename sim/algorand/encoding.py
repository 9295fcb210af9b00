"""Algorand's encodings: addresses, canonical msgpack, transaction and group ids."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

import msgpack

ZERO = bytes(32)
_NO_MAP = "msgpack decode error [pos {}]: only encoded map or array can be decoded into a struct"
_CHECKSUM_BYTES = 4
_ADDRESS_LENGTH = 58
_BASE32 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")


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
        Malformed: It is not an address; the text is the node's.
    """
    if not set(text) <= _BASE32:
        raise Malformed(f"failed to decode address {text} from base 32")
    if len(text) < _ADDRESS_LENGTH:
        raise Malformed(f"decoded bad addr: {text}")
    raw = base64.b32decode(text[:_ADDRESS_LENGTH] + "======")
    if len(text) > _ADDRESS_LENGTH or digest(raw[:32])[-_CHECKSUM_BYTES:] != raw[32:]:
        raise Malformed(f"address {text} is malformed, checksum verification failed")
    if encode_address(raw[:32]) != text:
        raise Malformed(f"address {text} is non-canonical")
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
    content: bytes = msgpack.packb(canonical(value), use_bin_type=True)
    return content


def canonical(value: Any) -> Any:
    """Return a value with the members of each map in order and zero values left out."""
    if isinstance(value, Mapping):
        return {name: canonical(member) for name, member in sorted(value.items()) if not is_zero(member, name)}
    if isinstance(value, list | tuple):
        return [canonical(member) for member in value]
    return value


def unpack_all(data: bytes) -> list[dict[str, Any]]:
    """Return the maps that follow each other in `data`, each in canonical form.

    The node reads any msgpack: members in any order, zeros written out, integers longer than needed. It ends at the end
    of the bytes, so that a map that breaks off is dropped without an error.

    Raises:
        Malformed: There is something else than a map.
    """
    unpacker = msgpack.Unpacker(raw=False, strict_map_key=True, max_buffer_size=0)
    unpacker.feed(data)
    maps: list[dict[str, Any]] = []
    start = 0
    try:
        for value in unpacker:
            if not isinstance(value, dict):
                raise Malformed(_NO_MAP.format(start + 1))
            maps.append(canonical(value))
            start = unpacker.tell()
    except Malformed:
        raise
    except msgpack.FormatError as fault:
        raise Malformed(_NO_MAP.format(start + 1)) from fault
    except Exception as fault:  # the library's readers raise many kinds: odd keys, bad text, depth
        raise Malformed(f"msgpack decode error [pos {start + 1}]: {type(fault).__name__}") from fault
    return maps


def transaction_id(transaction: Mapping[str, Any]) -> str:
    """Return the id of an unsigned transaction."""
    return _base32(digest(b"TX" + pack(transaction)))


def hashes_in_group(transactions: list[Mapping[str, Any]]) -> list[bytes]:
    """Return the hash of each transaction of a group, taken without its `grp`."""
    return [digest(b"TX" + pack({k: v for k, v in one.items() if k != "grp"})) for one in transactions]


def group_id(hashes: list[bytes]) -> bytes:
    """Return the id of the group whose transactions have these hashes."""
    return digest(b"TG" + pack({"txlist": hashes}))


def multisig_address(version: int, threshold: int, keys: list[bytes]) -> bytes:
    """Return the 32 bytes of a multisignature account."""
    return digest(b"MultisigAddr" + bytes([version, threshold]) + b"".join(keys))
