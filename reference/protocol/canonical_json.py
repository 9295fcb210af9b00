"""JSON as the profile reads and hashes it: strict in, RFC 8785 out (P-CV-02, P-CV-07, P-CV-20)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import orjson
import rfc8785

JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None

MAX_DEPTH = 32
MAX_INTEGER = 2**53 - 1


class NotJson(ValueError):
    """The bytes are not JSON by P-CV-02; the text says why."""


class NotCanonical(ValueError):
    """The value has no canonical form by RFC 8785; the text says why."""


def parse(data: bytes, *, max_depth: int = MAX_DEPTH) -> JsonValue:
    """Return the JSON value that `data` holds.

    Args:
        data: UTF-8 without a byte order mark.
        max_depth: Levels of nesting that are still read.

    Raises:
        NotJson: A byte order mark, bad UTF-8, no JSON, duplicate member names, NaN or Infinity, or too much nesting.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        raise NotJson("a byte order mark is not part of JSON")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise NotJson("not UTF-8") from fault
    if _deeper_than(text, max_depth):
        raise NotJson(f"nested deeper than {max_depth} levels")
    try:
        value: JsonValue = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer)
    except NotJson:
        raise
    except (ValueError, RecursionError) as fault:
        raise NotJson("not JSON") from fault
    return value


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotJson("duplicate member names")
    return members


def _constant(name: str) -> JsonValue:
    raise NotJson(f"{name} is not JSON")


def _integer(text: str) -> int | float:
    # An integer of thousands of digits is refused later as not canonical; reading it as a float keeps that cheap.
    return int(text) if len(text) <= 32 else float(text)


def _deeper_than(text: str, levels: int) -> bool:
    depth = 0
    in_string = escaped = False
    for character in text:
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            if depth > levels:
                return True
        elif character in "]}":
            depth -= 1
    return False


def canonicalise(value: JsonValue | Mapping[str, Any]) -> bytes:
    """Return the RFC 8785 form of `value`.

    Raises:
        NotCanonical: An integer beyond ±(2^53 - 1), a number outside binary64, or a lone surrogate (P-CV-20).
    """
    if _plain(value):
        # Sorted orjson is RFC 8785 for ASCII member names, no floats and safe integers.
        try:
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except orjson.JSONEncodeError as fault:
            raise NotCanonical("a string with a lone surrogate has no UTF-8 form") from fault
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as fault:
        raise NotCanonical("a number or string that RFC 8785 has no form for") from fault


def _plain(value: object) -> bool:
    if isinstance(value, str):
        return True
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, int):
        return -MAX_INTEGER <= value <= MAX_INTEGER
    if isinstance(value, list):
        return all(map(_plain, value))
    if isinstance(value, dict):
        return all(isinstance(name, str) and name.isascii() and _plain(member) for name, member in value.items())
    return False
