"""Structured field values (RFC 8941): http-sfv's readers of bare items, walked strictly.

RFC 9421 builds on RFC 8941: the Dates and Display Strings of RFC 9651, which http-sfv reads too, are refused (P-AG-09).
Base64 without padding or with spare bits is read, as section 4.2.7 asks, unless a caller wants its one spelling.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from http_sfv.item import parse_bare_item, ser_bare_item
from http_sfv.types import Token
from http_sfv.util import discard_http_ows, discard_ows, parse_key

__all__ = [
    "BareItem",
    "InnerList",
    "Item",
    "Malformed",
    "Member",
    "Parameters",
    "Token",
    "read_dictionary",
    "read_item",
    "read_list",
    "write",
    "write_bare",
    "write_dictionary",
    "write_list",
    "write_parameters",
]

BareItem = int | Decimal | str | bytes | bool
Parameters = tuple[tuple[str, BareItem], ...]

# RFC 9421 builds on RFC 8941. The library also reads the newer types of RFC 9651 (P-AG-09).
_NOT_IN_RFC_8941: Final = {b"@": "a Date", b"%": "a Display String"}
# http-sfv raises ValueError for most faults. Others leave it for inputs that it did not expect, such as a text that
# ends inside a number.
_PARSER_FAULTS: Final = (ValueError, IndexError, KeyError, OverflowError, ArithmeticError)
_DEPTH_OF_TEXT: Final = 60
_BYTE_SEQUENCE: Final = re.compile(rb":([A-Za-z0-9+/]*)(={0,2}):")


class Malformed(ValueError):
    """A text that is not the structured field it should be; the sentence says where it breaks."""


@dataclass(frozen=True, slots=True)
class Item:
    """A bare value with its parameters, in their order."""

    value: BareItem
    parameters: Parameters = ()

    def parameter(self, name: str) -> BareItem | None:
        """Return a parameter's value, None when it is not there."""
        return dict(self.parameters).get(name)


@dataclass(frozen=True, slots=True)
class InnerList:
    """Items in parentheses with the parameters of the whole, in their order."""

    items: tuple[Item, ...]
    parameters: Parameters = ()


Member = Item | InnerList


def read_dictionary(text: str, *, unique: bool = False, canonical: Collection[str] = ()) -> dict[str, Member]:
    """Read a Dictionary; an empty text is one without members.

    Args:
        text: The field's value, its lines joined.
        unique: Refuse a repeated key or parameter; if false, the last one wins, as RFC 8941 says.
        canonical: Keys under which base64 must be padded and without spare bits.

    Raises:
        Malformed: It is not a Dictionary.
    """
    return _Reader(text, unique=unique, canonical=canonical).dictionary()


def read_list(text: str) -> list[Member]:
    """Read a List.

    Raises:
        Malformed: It is not a List.
    """
    return _Reader(text, unique=False).list()


def read_item(text: str, *, unique: bool = False) -> Item:
    """Read an Item.

    Raises:
        Malformed: It is not an Item.
    """
    return _Reader(text, unique=unique).whole_item()


def write(member: Member) -> str:
    """Serialise an Item or Inner List with its parameters (RFC 8941, 4.1.1.1 and 4.1.3).

    Raises:
        Malformed: A value or name has no serialisation.
    """
    if isinstance(member, Item):
        return write_bare(member.value) + write_parameters(member.parameters)
    return f"({' '.join(write(item) for item in member.items)}){write_parameters(member.parameters)}"


def write_bare(value: BareItem) -> str:
    """Serialise a bare item.

    Raises:
        Malformed: It has no serialisation.
    """
    try:
        return str(ser_bare_item(value))
    except _PARSER_FAULTS as fault:
        raise Malformed(f"{value!r} cannot be written in a structured field: {fault}") from fault


def write_parameters(parameters: Parameters) -> str:
    """Serialise parameters; a true one is its name alone."""
    return "".join(f";{name}" if value is True else f";{name}={write_bare(value)}" for name, value in parameters)


def write_dictionary(members: Mapping[str, Member]) -> str:
    """Serialise a Dictionary; a true member is its key and parameters alone."""
    return ", ".join(_write_pair(key, member) for key, member in members.items())


def write_list(members: Iterable[Member]) -> str:
    """Serialise a List."""
    return ", ".join(write(member) for member in members)


def _write_pair(key: str, member: Member) -> str:
    if isinstance(member, Item) and member.value is True:
        return key + write_parameters(member.parameters)
    return f"{key}={write(member)}"


class _Reader:
    """A cursor over the bytes of one field value."""

    def __init__(self, text: str, *, unique: bool, canonical: Collection[str] = ()) -> None:
        try:
            self._data = text.encode("ascii")
        except UnicodeEncodeError as fault:
            raise Malformed(f"character {fault.start + 1} is not ASCII") from fault
        self._at = 0
        self._unique = unique
        self._canonical_keys = canonical
        # Set for each member of a dictionary: whether the byte sequences in it must have their one spelling.
        self._canonical = False

    def dictionary(self) -> dict[str, Member]:
        members: dict[str, Member] = {}
        self._skip_spaces()
        while self._at < len(self._data):
            key = self._key()
            # RFC 8941 lets the last of several members win. For a signature that is dangerous:
            # two verifiers could read different ones.
            if self._unique and key in members:
                raise Malformed(f"{key!r} occurs twice")
            self._canonical = key in self._canonical_keys
            # RFC 8941, 3.2: "Members whose value is Boolean [...] true MUST omit that value when serialized."
            members[key] = self._member() if self._take(b"=") else Item(True, self._parameters())
            if not self._next_member():
                break
        return members

    def list(self) -> list[Member]:
        members: list[Member] = []
        self._skip_spaces()
        while self._at < len(self._data):
            members.append(self._member())
            if not self._next_member():
                break
        return members

    def whole_item(self) -> Item:
        self._skip_spaces()
        item = self._item()
        self._skip_spaces()
        if self._at < len(self._data):
            raise self._fault("text after the value")
        return item

    def _next_member(self) -> bool:
        """Move past a comma; return whether one was there."""
        self._at += discard_http_ows(self._data[self._at :])
        if self._at == len(self._data):
            return False
        if not self._take(b","):
            raise self._fault("a comma is missing")
        self._at += discard_http_ows(self._data[self._at :])
        if self._at == len(self._data):
            raise self._fault("nothing follows the last comma")
        return True

    def _member(self) -> Member:
        return self._inner_list() if self._data[self._at : self._at + 1] == b"(" else self._item()

    def _inner_list(self) -> InnerList:
        self._at += 1
        items: list[Item] = []
        while True:
            self._skip_spaces()
            if self._take(b")"):
                return InnerList(tuple(items), self._parameters())
            items.append(self._item())
            # RFC 8941, 4.2.1.2 demands a space between two items of an inner list.
            if self._data[self._at : self._at + 1] not in {b" ", b")"}:
                raise self._fault("a list in parentheses is not closed, or its items are not apart by spaces")

    def _item(self) -> Item:
        return Item(self._bare(), self._parameters())

    def _bare(self) -> BareItem:
        start = self._at
        first = self._data[start : start + 1]
        if first in _NOT_IN_RFC_8941:
            raise self._fault(f"{_NOT_IN_RFC_8941[first]} is no value of RFC 8941")
        if first == b":":
            return self._byte_sequence()
        try:
            used, value = parse_bare_item(self._data[start:])
        except _PARSER_FAULTS as fault:
            raise self._fault(str(fault) or "no value") from fault
        self._at += used
        text = self._data[start : self._at]
        # The library accepts "1.", and RFC 8941, 4.2.4 demands a digit after the point.
        if isinstance(value, Decimal) and text.endswith(b"."):
            raise self._fault("a Decimal ends in its point")
        # The library has other types for values of later standards.
        if not isinstance(value, int | Decimal | str):
            raise self._fault("no value of RFC 8941")
        return value

    def _byte_sequence(self) -> bytes:
        """Read base64 between colons; http-sfv's reader refuses what has no padding and takes what follows it."""
        match = _BYTE_SEQUENCE.match(self._data, self._at)
        letters = match[1] if match is not None else b""
        if match is None or len(letters) % 4 == 1 or (match[2] and len(match[2]) != -len(letters) % 4):
            raise self._fault("no byte sequence: base64 between colons")
        raw = base64.b64decode(letters + b"=" * (-len(letters) % 4))
        if self._canonical and base64.b64encode(raw) != letters + match[2]:
            raise self._fault("base64 that is not in its one canonical spelling")
        self._at = match.end()
        return raw

    def _parameters(self) -> Parameters:
        parameters: dict[str, BareItem] = {}
        while self._take(b";"):
            self._skip_spaces()
            name = self._key()
            if self._unique and name in parameters:
                raise Malformed(f"parameter {name!r} occurs twice")
            parameters[name] = self._bare() if self._take(b"=") else True
        return tuple(parameters.items())

    def _key(self) -> str:
        try:
            used, key = parse_key(self._data[self._at :])
        except _PARSER_FAULTS as fault:
            raise self._fault("a key begins with a lower-case letter or *") from fault
        self._at += used
        return str(key)

    def _take(self, mark: bytes) -> bool:
        if self._data[self._at : self._at + 1] != mark:
            return False
        self._at += 1
        return True

    def _skip_spaces(self) -> None:
        self._at += discard_ows(self._data[self._at :])

    def _fault(self, reason: str) -> Malformed:
        remainder = self._data[self._at : self._at + _DEPTH_OF_TEXT].decode("ascii")
        place = f"at {remainder!r}" if remainder else "at the end"
        return Malformed(f"{reason}, character {self._at + 1}, {place}")
