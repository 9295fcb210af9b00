"""Strict reading of JSON (P-CV-02), and the canonical form that is hashed and signed (RFC 8785, P-CV-07)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, TypeAlias

import orjson
import rfc8785

JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None
_Container: TypeAlias = list[JsonValue] | dict[str, JsonValue]

# The largest integer that every JSON reader keeps exactly (RFC 7493, P-CV-05). RFC 8785 writes numbers as binary64,
# so larger integers would collide.
MAX_INTEGER = 2**53 - 1
# The limit of P-CV-02. Without it a body of a few kilobytes can exhaust the stack of a recursive reader.
MAX_DEPTH = 32

# The largest binary64 has 309 digits. Integers longer than 400 digits are therefore all "out of range", whatever
# they are.
_LONGEST_INTEGER = 400
_PLAIN = frozenset({str, bool, type(None)})
_NO_FLOAT = _PLAIN | {int}
# JCS for texts of ASCII without floats; an integer beyond ±(2^53 - 1) is refused.
_SORTED_KEYS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
_BEYOND_BINARY64: int = 10**_LONGEST_INTEGER


class NotJson(ValueError):
    """The bytes are not JSON by the rules of P-CV-02."""


class DuplicateMember(NotJson):
    """An object names one member twice."""


class NotCanonical(ValueError):
    """The value parses but has no canonical form (P-CV-20)."""


def parse(data: bytes, *, max_depth: int = MAX_DEPTH, keep_last_duplicate: bool = False) -> JsonValue:
    """Read one JSON text.

    Args:
        data: UTF-8 without BOM.
        max_depth: deepest nesting of arrays and objects accepted; a bare scalar has depth 0.
        keep_last_duplicate: let the last of several members of one name win; only to distinguish a text with
            duplicate members from a text that is not JSON.

    Returns:
        The value. A number with a fraction or an exponent becomes a float, infinite when it is outside binary64; an
        integer keeps its exact value up to 400 digits; a longer one becomes a value beyond binary64.

    Raises:
        DuplicateMember: an object names a member twice.
        NotJson: a BOM, bad UTF-8, NaN or Infinity, too deep, or any other breach of RFC 8259 (P-CV-02).
    """
    # Two readers: orjson is several times faster, the standard library's can refuse duplicates and constants. Most
    # bodies are compact JSON, which the first reader decides alone.
    value = _read_compact(data)
    if value is None:
        value = _read_strictly(data, keep_last_duplicate=keep_last_duplicate)
    # Counting brackets is cheap and gives an upper bound of the depth. Only texts with many brackets are walked.
    if data.count(b"[") + data.count(b"{") > max_depth and _deeper_than(value, max_depth):
        raise NotJson(f"the JSON text nests deeper than {max_depth} levels")
    return value


def parse_canonical(data: bytes) -> JsonValue:
    """Return the value of a text that is its own RFC 8785 form, nested no deeper than `MAX_DEPTH`.

    None if it is not, and if only the slower `parse` and `canonicalise` can decide it.
    """
    try:
        value: JsonValue = orjson.loads(data)
        if not _holds_no_float(value, MAX_DEPTH) or not (data.isascii() or _sorts_plainly(value)):
            return None
        # Equal bytes prove that the fast reader dropped no duplicate member and rounded no integer; and that no name
        # of a text in ASCII has other letters, which only an escape could bring in.
        return value if orjson.dumps(value, option=_SORTED_KEYS) == data else None
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None


class NumberText(str):
    """A JSON number as it is in the text, for callers that must not read it as a binary float (P-MN-02)."""

    __slots__ = ()


def number_text(data: bytes, member: str) -> NumberText | None:
    """Return the literal text of a top-level member that is a number; None when it is not a number.

    Args:
        data: A text that `parse` accepts.
        member: Name of the member.
    """
    # Amounts of money are read from this text as decimals. As binary floats `1.005` would round to 1.00 (P-MN-02).
    value = json.loads(data, parse_int=NumberText, parse_float=NumberText)
    literal = value.get(member) if isinstance(value, dict) else None
    return literal if isinstance(literal, NumberText) else None


def canonicalise(value: JsonValue | Mapping[str, Any]) -> bytes:
    """Return the RFC 8785 form of a value, as UTF-8 bytes.

    Raises:
        NotCanonical: an integer beyond ±(2^53 - 1), a number outside binary64, a lone surrogate, a value that JSON does
            not have, or nesting beyond what the interpreter can follow (P-CV-20).
    """
    return _form_of(value, plain=_sorts_plainly(value))


def _form_of(value: object, *, plain: bool) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS) if plain else rfc8785.dumps(value)  # type: ignore[arg-type]
    except (orjson.JSONEncodeError, rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        raise NotCanonical(
            "the value has no canonical form: keep integers within 2^53 - 1, numbers within binary64, text in Unicode"
        ) from error


def canonical_and_whole(value: JsonValue) -> tuple[bytes, JsonValue]:
    """Return the RFC 8785 form of a value, and the value with whole numbers as integers; see `whole_numbers`.

    Raises:
        NotCanonical: As `canonicalise`.
    """
    plain = _sorts_plainly(value)  # and so holds no float
    return _form_of(value, plain=plain), value if plain else whole_numbers(value)


def whole_numbers(value: Any) -> Any:
    """Return a JSON value in which whole numbers are integers, however they were written (`5.0`, `1e3`).

    The RFC 8785 form and every hash stay the same.
    """
    # `5` and `5.0` are the same number in JSON Schema and in RFC 8785. Clients that speak protobuf, and some
    # languages, write every number as a float. A strict model would refuse their bodies.
    if _holds_no_float(value, MAX_DEPTH):
        return value
    if isinstance(value, Mapping):
        return {name: whole_numbers(member) for name, member in value.items()}
    if isinstance(value, list):
        return [whole_numbers(one) for one in value]
    if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_INTEGER:
        return int(value)
    return value


def _read_compact(data: bytes) -> JsonValue:
    """Return the value when a fast reader's result writes back to the very same bytes, else None.

    Equal bytes prove that the fast reader dropped no duplicate member and rounded no integer.
    """
    try:
        value: JsonValue = orjson.loads(data)
        return value if orjson.dumps(value) == data else None
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None


def _read_strictly(data: bytes, *, keep_last_duplicate: bool) -> JsonValue:
    try:
        value: JsonValue = json.loads(
            data.decode("utf-8"),
            # RFC 8259 leaves duplicate members open. Two readers that keep different ones would see different
            # orders under one hash.
            object_pairs_hook=dict if keep_last_duplicate else _object_without_duplicates,
            parse_constant=_refuse_constant,
            parse_int=_integer,
        )
    except NotJson:
        raise
    except (ValueError, RecursionError) as error:
        raise NotJson("the text is not JSON in UTF-8 without a byte order mark") from error
    return value


def _object_without_duplicates(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise DuplicateMember("an object names one member twice")
    return members


def _refuse_constant(_: str) -> NoReturn:
    raise NotJson("NaN and Infinity are not JSON")


def _integer(literal: str) -> int:
    # Reading a huge literal costs quadratic time and Python refuses it past 4,300 digits; no rule here distinguishes
    # two such numbers.
    if len(literal) <= _LONGEST_INTEGER:
        return int(literal)
    return -_BEYOND_BINARY64 if literal.startswith("-") else _BEYOND_BINARY64


def _deeper_than(value: JsonValue, limit: int) -> bool:
    depth = 0
    level = _containers([value])
    while level and depth <= limit:
        depth += 1
        level = [child for parent in level for child in _containers(_children(parent))]
    return depth > limit


# The depth is measured level by level and not by recursion, because the text may nest deeper than Python's stack.
def _containers(values: Iterable[JsonValue]) -> list[_Container]:
    return [value for value in values if isinstance(value, list | dict)]


def _children(parent: _Container) -> Iterable[JsonValue]:
    return parent.values() if isinstance(parent, dict) else parent


def _holds_no_float(value: JsonValue, depth: int) -> bool:
    """Return whether a value has no number with a fraction or an exponent, and nests no deeper than `depth`."""
    if type(value) is dict:
        children: Iterable[JsonValue] = value.values()
    elif type(value) is list:
        children = value
    else:
        return type(value) in _NO_FLOAT
    if depth > 0 and not _NO_FLOAT.issuperset(map(type, children)):
        for child in children:
            if not _holds_no_float(child, depth - 1):
                return False
    return depth > 0


def _sorts_plainly(value: object) -> bool:
    """Return whether sorted orjson equals RFC 8785: ASCII member names, no floats, safe integers."""
    # Loops and tests by type, not all() and isinstance(): each receipt and each request passes here several times.
    if type(value) is dict:
        for name, member in value.items():
            if type(name) is not str or not name.isascii():
                return False
            if type(member) not in _PLAIN and not _sorts_plainly(member):
                return False
        return True
    if type(value) is list:
        for member in value:  # noqa: SIM110 - half the time of all()
            if type(member) not in _PLAIN and not _sorts_plainly(member):
                return False
        return True
    return type(value) in _PLAIN or (type(value) is int and -MAX_INTEGER <= value <= MAX_INTEGER)
