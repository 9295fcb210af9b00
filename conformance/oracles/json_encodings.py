"""Encodings of JSON that are mistaken for RFC 8785: each differs from it only where a text, name or number is unusual.

A hash that fits one of them shows what a signer does instead; `hash_recipes` has the canonical form itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from conformance.oracles.hash_recipes import jcs_bytes

Encoder = Callable[[Any], bytes]

# The characters that Go's encoder escapes for embedding in HTML.
_HTML: Final = re.compile("[&<>\u2028\u2029]")
# .NET escapes more characters, and everything outside of ASCII.
_DOTNET: Final = re.compile("\\\\.|[&<>'+`\u007f-\U0010ffff]")
_NOT_ASCII: Final = re.compile("[^\x00-\x7f]")
_SHORT: Final = {r"\b": r"\u0008", r"\f": r"\u000c"}


def _plain_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _escape_matches(unsafe: re.Pattern[str]) -> Callable[[str], str]:
    """Return an encoder of texts that also escapes what a pattern matches, as UTF-16 code units."""

    def escape(match: re.Match[str]) -> str:
        return json.dumps(match.group()).strip('"') if match.group() > "\x7f" else f"\\u{ord(match.group()):04x}"

    return lambda text: f'"{unsafe.sub(escape, _plain_text(text)[1:-1])}"'


def _as_dotnet(text: str) -> str:
    """Escape a text as System.Text.Json does: digits in upper case, and the quote by its number."""

    def escape(match: re.Match[str]) -> str:
        if match.group().startswith("\\"):
            return r"\u0022" if match.group() == r"\"" else match.group()
        units = match.group().encode("utf-16-be", "surrogatepass").hex().upper()
        return "".join(rf"\u{units[place : place + 4]}" for place in range(0, len(units), 4))

    # The plain form has escapes already, such as a backslash and n. The pattern takes those as
    # a unit, so that they are not escaped twice.
    return f'"{_DOTNET.sub(escape, _plain_text(text)[1:-1])}"'


def _with_slashes(text: str) -> str:
    return json.dumps(text).replace("/", r"\/")


def _without_short_escapes(text: str) -> str:
    return re.sub(r"\\.", lambda found: _SHORT.get(found.group(), found.group()), _plain_text(text))


def _by_code_units(names: Iterable[str]) -> list[str]:
    # RFC 8785, 3.2.3 sorts names by UTF-16 code units. Code points order characters beyond the
    # basic plane differently.
    return sorted(names, key=lambda name: name.encode("utf-16-be", "surrogatepass"))


def _number(value: float) -> str:
    return jcs_bytes(value).decode()


def encoder(
    *,
    text: Callable[[str], str] = _plain_text,
    order: Callable[[Iterable[str]], Iterable[str]] = _by_code_units,
    number: Callable[[float], str] = _number,
) -> Encoder:
    """Return an encoder that is RFC 8785 but for the parts that are given.

    Args:
        text: Writes a text, and the name of a member.
        order: Sorts the names of an object's members.
        number: Writes a number.
    """

    def write(value: Any) -> str:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, Mapping):
            return "{" + ",".join(f"{text(name)}:{write(value[name])}" for name in order(value)) + "}"
        if isinstance(value, list | tuple):
            return "[" + ",".join(map(write, value)) + "]"
        if value is None or isinstance(value, bool):
            return json.dumps(value)
        return number(value)

    return lambda value: write(value).encode("utf-8", "surrogatepass")


# By what each does that RFC 8785 does not.
# Each entry changes one habit of RFC 8785. The last two combine the habits of a whole encoder.
OTHER_ENCODINGS: Final[Mapping[str, Encoder]] = {
    "escapes &, < and > as Go's json.Marshal does": encoder(text=_escape_matches(_HTML)),
    "escapes what is not ASCII as Python's json.dumps does": encoder(text=_escape_matches(_NOT_ASCII)),
    "escapes / as PHP's json_encode does": encoder(text=_with_slashes),
    "escapes what System.Text.Json escapes": encoder(text=_as_dotnet),
    r"writes \b and \f as \u0008 and \u000c": encoder(text=_without_short_escapes),
    "sorts members by code points": encoder(order=sorted),
    "writes numbers as Python's repr does": encoder(number=repr),
    "is Python's json.dumps with sort_keys": encoder(text=json.dumps, order=sorted, number=repr),
    "is Go's json.Marshal": encoder(text=_escape_matches(_HTML), order=sorted),
}


def _in_escapes(text: str) -> str:
    """Write every UTF-16 code unit of a text as an escape."""
    units = text.encode("utf-16-be", "surrogatepass").hex()
    return '"' + "".join(rf"\u{units[place : place + 4]}" for place in range(0, len(units), 4)) + '"'


def _with_a_zero(value: float) -> str:
    """Write a number that has a fraction with one more zero at its end."""
    text = _number(value)
    return f"{text}0" if "." in text and "e" not in text else text


def same_value_spellings(value: Mapping[str, Any]) -> dict[str, bytes]:
    """Return encodings of one JSON object that differ in their bytes alone, by what is different in each.

    All of them have the same RFC 8785 form. Clients differ in these habits: libraries put spaces, sort members, escape
    texts and write numbers in their own way.
    """
    return {
        "line breaks and spaces": json.dumps(value, indent=2, separators=(" , ", " : ")).encode(),
        "members in reverse order": encoder(order=lambda names: reversed([*names]))(value),
        "texts in escapes": encoder(text=_in_escapes, order=list)(value),
        "a zero at the end of a fraction": encoder(order=list, number=_with_a_zero)(value),
    }


# A usual recipe by itself, of which a verifier who has the bytes that were sent can make the same.
AS_SENT: Final = encoder(order=list)
