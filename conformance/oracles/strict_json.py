"""Whether bytes are JSON as RFC 8259 has it, to the letter."""

from __future__ import annotations

import json
import re
from collections import Counter
from enum import StrEnum
from math import isfinite
from typing import Any, Final

from conformance.oracles.json_acceptance import by_value

_EXACT: Final = 2**53 - 1
_EXACT_DIGITS: Final = 17  # a sign and sixteen digits; what is longer is outside without being read
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class JsonTextFault(ValueError):
    """The bytes are no such JSON; the text says why."""


def strict_json(body: bytes) -> Any:
    """Return the value of a JSON text: UTF-8 without a byte order mark, no NaN or Infinity, no duplicate member.

    Raises:
        JsonTextFault: It is not such a text.
    """
    value = json_text(body)
    faults = literal_faults(body)
    if faults:
        raise JsonTextFault("; ".join(faults))
    return value


def json_text(body: bytes) -> Any:
    """Return the value of bytes that parse as JSON in UTF-8, tolerating NaN, Infinity and duplicate members.

    A whole number is an integer however it is written.

    Raises:
        JsonTextFault: They do not parse.
    """
    # RFC 8259, 8.1 forbids adding a byte order mark. Many parsers skip it, so the fault would
    # stay unseen.
    if body.startswith(b"\xef\xbb\xbf"):
        raise JsonTextFault("it begins with a byte order mark (RFC 8259 section 8.1)")
    try:
        return json.loads(body.decode("utf-8"), parse_float=by_value)
    except (ValueError, RecursionError) as fault:
        raise JsonTextFault(f"it does not parse as JSON: {fault}") from fault


def literal_faults(body: bytes) -> list[str]:
    """Return what a parsing JSON text holds outside RFC 8259, one line each: literals of JavaScript, names twice."""
    faults: list[str] = []

    def constant(name: str) -> None:
        faults.append(f"the literal {name}")

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        often = Counter(name for name, _ in pairs)
        faults.extend(f"the member {name!r} twice" for name, count in sorted(often.items()) if count > 1)
        return dict(pairs)

    try:
        # Python accepts NaN, Infinity and repeated names. The hooks record them instead.
        json.loads(body.decode("utf-8"), parse_constant=constant, object_pairs_hook=members)
    except (ValueError, RecursionError):
        return []
    return faults


class _Members(list[tuple[str, Any]]):
    """The members of a JSON object, in the order of its text."""


def values_of(body: bytes, name: str) -> list[Any]:
    """Return each value that the object of a JSON text gives a member; none where the text is no object."""
    try:
        value = json.loads(body, object_pairs_hook=_Members)
    except (ValueError, RecursionError):
        return []
    return [one for told, one in value if told == name] if isinstance(value, _Members) else []


def is_json_type(content_type: str | None) -> bool:
    """Return whether a Content-Type is JSON: `application/json`, or a suffix `+json`."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


class IJsonKind(StrEnum):
    """What keeps bytes from being the I-JSON that RFC 8785 takes the canonical form of."""

    ENCODING = "encoding"
    NOT_JSON = "not_json"
    DUPLICATE_MEMBERS = "duplicate_members"
    STRING = "string"
    NUMBER = "number"


class IJsonFault(JsonTextFault):
    """The bytes are no I-JSON; `kind` says in which way."""

    def __init__(self, kind: IJsonKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def i_json(body: bytes) -> Any:
    """Return the value of an I-JSON text (RFC 7493) as RFC 8785 section 3.1 wants it.

    A number with more digits than binary64 holds is the nearest one, as everywhere; only an integer written as such
    must be exact (P-CV-20).

    Raises:
        IJsonFault: It is not an I-JSON text.
    """
    faults: list[IJsonFault] = []
    try:
        value = json.loads(
            _utf8(body),
            parse_int=lambda digits: _integer(digits, faults),
            parse_float=lambda digits: _binary64(digits, faults),
            parse_constant=lambda name: faults.append(IJsonFault(IJsonKind.NUMBER, f"the literal {name}")),
            object_pairs_hook=lambda pairs: _members(pairs, faults),
        )
    except IJsonFault:
        raise
    except (ValueError, RecursionError) as fault:
        raise IJsonFault(IJsonKind.NOT_JSON, f"it does not parse as JSON: {fault}") from fault
    if faults:
        raise faults[0]
    _demand_unicode(value)
    return value


def _utf8(body: bytes) -> str:
    if body.startswith(b"\xef\xbb\xbf"):
        raise IJsonFault(IJsonKind.ENCODING, "it begins with a byte order mark (RFC 8259 section 8.1)")
    # No JSON text begins with two ASCII characters of which one is NUL: that is UTF-16 or UTF-32.
    if b"\x00" in body[:2]:
        raise IJsonFault(IJsonKind.ENCODING, "it is not UTF-8: a code unit has more than one byte")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise IJsonFault(IJsonKind.ENCODING, f"it is not UTF-8: {fault}") from fault


def _integer(digits: str, faults: list[IJsonFault]) -> int:
    # Digits are counted first, because the conversion of a very long text is slow.
    if len(digits) > _EXACT_DIGITS or abs(int(digits)) > _EXACT:
        faults.append(IJsonFault(IJsonKind.NUMBER, f"the integer {digits[:40]} is outside what binary64 tells apart"))
        return 0
    return int(digits)


def _binary64(digits: str, faults: list[IJsonFault]) -> float:
    value = float(digits)
    if not isfinite(value):
        faults.append(IJsonFault(IJsonKind.NUMBER, f"the number {digits[:40]} is outside binary64"))
    return value


def _members(pairs: list[tuple[str, Any]], faults: list[IJsonFault]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        faults.append(IJsonFault(IJsonKind.DUPLICATE_MEMBERS, "two members of an object have one name"))
    return members


def _demand_unicode(value: Any) -> None:
    # A loop instead of a recursion, because the text may be nested as deep as the parser
    # allows.
    values = [value]
    while values:
        value_part = values.pop()
        if isinstance(value_part, str) and _SURROGATE.search(value_part):
            raise IJsonFault(IJsonKind.STRING, "a string has half of a surrogate pair, which is no character")
        if isinstance(value_part, dict):
            values += [*value_part, *value_part.values()]
        elif isinstance(value_part, list):
            values += value_part
