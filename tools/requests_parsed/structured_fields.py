"""Structured fields by the letter of RFC 8941: dictionaries, with inner lists of strings, as RFC 9421 uses them."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import Any, Final

_KEY: Final = re.compile(r"[a-z*][a-z0-9_.*-]*")
_NUMBER: Final = re.compile(r"-?(\d{1,12}\.\d{1,3}|\d{1,15})(?![\d.])")
_STRING: Final = re.compile(r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"')
_TOKEN: Final = re.compile(r"[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*")
_BYTES: Final = re.compile(r":([A-Za-z0-9+/=]*):")


class Malformed(ValueError):
    """The text is not what the grammar says."""


@dataclass(frozen=True, slots=True)
class Item:
    """A bare value, or a tuple of items, with its parameters and the text that it stood in."""

    value: Any
    parameters: dict[str, Any] = field(default_factory=dict)
    text: str = ""


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def take(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise Malformed(f"at {self.at}: {self.text[self.at : self.at + 20]!r}")
        self.at = match.end()
        return match

    def skip(self, letters: str) -> None:
        while self.text[self.at : self.at + 1] and self.text[self.at] in letters:
            self.at += 1

    def comes(self, letter: str) -> bool:
        if self.text[self.at : self.at + 1] != letter:
            return False
        self.at += 1
        return True

    def bare(self) -> Any:
        letter = self.text[self.at : self.at + 1]
        if letter == '"':
            return re.sub(r"\\(.)", r"\1", self.take(_STRING)[1])
        if letter == ":":
            text = self.take(_BYTES)[1]
            try:
                # A parser may take base64 without padding (RFC 8941, 4.2.7).
                return base64.b64decode(
                    text + "=" * (-len(text.rstrip("=")) % 4 if "=" not in text else 0), validate=True
                )
            except ValueError as fault:
                raise Malformed(text) from fault
        if letter == "?":
            return self.take(re.compile(r"\?[01]"))[0] == "?1"
        if letter and letter in "-0123456789":
            number = self.take(_NUMBER)[0]
            return float(number) if "." in number else int(number)
        return self.take(_TOKEN)[0].encode()

    def parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {}
        while self.comes(";"):
            self.skip(" ")
            name = self.take(_KEY)[0]
            parameters.pop(name, None)
            parameters[name] = self.bare() if self.comes("=") else True
        return parameters

    def item(self) -> Item:
        start = self.at
        value: Any = self.inner() if self.comes("(") else self.bare()
        parameters = self.parameters()
        return Item(value, parameters, self.text[start : self.at])

    def inner(self) -> tuple[Item, ...]:
        items = list[Item]()
        while True:
            self.skip(" ")
            if self.comes(")"):
                return tuple(items)
            items.append(self.item())
            if self.text[self.at : self.at + 1] not in (" ", ")"):
                raise Malformed("no space between items")


def dictionary(text: str) -> dict[str, Item]:
    """Return the members of a dictionary; of two with one name the last counts.

    Raises:
        Malformed: It is not a dictionary.
    """
    if not text.isascii():
        raise Malformed("not ASCII")
    reader, members = _Reader(text.strip(" ")), dict[str, Item]()
    while reader.at < len(reader.text):
        name = reader.take(_KEY)[0]
        members.pop(name, None)
        members[name] = reader.item() if reader.comes("=") else Item(True, reader.parameters())
        reader.skip(" \t")
        if reader.at == len(reader.text):
            return members
        if not reader.comes(","):
            raise Malformed("no comma between members")
        reader.skip(" \t")
        if reader.at == len(reader.text):
            raise Malformed("a comma at the end")
    return members
