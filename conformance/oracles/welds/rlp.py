"""RLP, in which signed transactions of an EVM chain are written: texts of bytes, and lists of such items.

Read strictly, as a chain does: one spelling for each value (Ethereum's yellow paper, appendix B).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

Item: TypeAlias = "bytes | Sequence[Item]"

_TEXT: Final = 0x80
_LIST: Final = 0xC0
_SHORT: Final = 55  # the longest whose length stands in its first byte
_DEEPEST: Final = 100


class Malformed(ValueError):
    """Bytes that are no item, more than one, or not in their shortest form."""


def encode(item: Item) -> bytes:
    """Return an item's bytes."""
    if isinstance(item, bytes):
        return item if len(item) == 1 and item[0] < _TEXT else _head(len(item), _TEXT) + item
    body = b"".join(encode(one) for one in item)
    return _head(len(body), _LIST) + body


def decode(raw: bytes) -> Item:
    """Return the item that bytes are from end to end.

    Raises:
        Malformed: They are not RLP.
    """
    item, end = _item(raw, 0, 0)
    if end != len(raw):
        raise Malformed("bytes follow the item")
    return item


def _head(length: int, base: int) -> bytes:
    if length <= _SHORT:
        return bytes([base + length])
    length_bytes = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([base + _SHORT + len(length_bytes)]) + length_bytes


def _item(raw: bytes, at: int, depth: int) -> tuple[Item, int]:
    """Return the item that begins at a place, and where it ends."""
    if at >= len(raw) or depth > _DEEPEST:
        raise Malformed("an item is missing, or lists are too deep")
    first = raw[at]
    if first < _TEXT:
        return raw[at : at + 1], at + 1
    start, end = _extent(raw, at, _TEXT if first < _LIST else _LIST)
    if first < _LIST:
        # One spelling for each value: a second one would give a transaction a second hash.
        if end - start == 1 and raw[start] < _TEXT:
            raise Malformed("a byte that stands for itself has a length")
        return raw[start:end], end
    items: list[Item] = []
    while start < end:
        item, start = _item(raw[:end], start, depth + 1)
        items.append(item)
    return items, end


def _extent(raw: bytes, at: int, base: int) -> tuple[int, int]:
    """Return where the content of an item begins and ends whose first byte counts from `base`."""
    length, start = raw[at] - base, at + 1
    if length > _SHORT:
        start += length - _SHORT
        length_bytes = raw[at + 1 : start]
        length = int.from_bytes(length_bytes, "big")
        # A length with leading zeros, or one that fits into the first byte, is a second
        # spelling.
        if length_bytes[:1] in {b"", b"\0"} or length <= _SHORT:
            raise Malformed("a length is not in its shortest form")
    if start + length > len(raw):
        raise Malformed("an item is cut off")
    return start, start + length
