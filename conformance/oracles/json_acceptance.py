"""JSON as the profile reads it: which texts it takes (P-CV-02), and which values have no canonical form (P-CV-20)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

# P-CV-02 limits the depth, so that a reader without recursion limits and one with them accept
# the same texts.
DEEPEST = 32
_SAFE_INTEGER = 2**53 - 1
_LONGEST_INTEGER = 400
_TOO_LARGE = 10**_LONGEST_INTEGER


def parse_json(data: bytes, *, duplicates: bool) -> Any:
    """Return the value of a JSON text as P-CV-02 has it: UTF-8 without BOM, no NaN, at most 32 levels.

    Args:
        data: The text.
        duplicates: Whether an object may name a member twice; the last one counts.

    Raises:
        ValueError: It is not such a text.
    """
    hook = dict if duplicates else unique_members
    try:
        value = json.loads(
            data.decode("utf-8"), object_pairs_hook=hook, parse_constant=refuse_constant, parse_int=_integer
        )
    except RecursionError as fault:
        raise ValueError("nested too deep") from fault
    if _depth(value) > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    return value


def unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object; for `object_pairs_hook`.

    Raises:
        ValueError: One is named twice.
    """
    # Parsers disagree about which of two members with one name counts. So a signed text must
    # not have two.
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate members")
    return members


def refuse_constant(name: str) -> Any:
    """Refuse NaN and Infinity; for `parse_constant`.

    Raises:
        ValueError: Always.
    """
    raise ValueError(f"{name} is not JSON")


def by_value(literal: str) -> int | float:
    """Return a number with a fraction or an exponent by its value, as JSON has it; for `parse_float`.

    Whether a whole number is written 5, 5.0 or 5e0 is left open (RFC 8259 section 6): each is the integer 5 here, as
    JSON Schema has it. One that is not exact in binary64 stays what it was.
    """
    value = float(literal)
    return int(value) if value.is_integer() and abs(value) <= _SAFE_INTEGER else value


def _integer(literal: str) -> int:
    """Return an integer; all that are too long for binary64 are alike, and Python refuses to read some of them."""
    # Python refuses to convert very long decimal texts. Their exact value does not matter,
    # because they are all outside of binary64.
    return int(literal) if len(literal) <= _LONGEST_INTEGER else -_TOO_LARGE if literal.startswith("-") else _TOO_LARGE


def _children(value: Any) -> Sequence[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ()


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [one for one in level if isinstance(one, dict | list)]:
        depth += 1
        level = [child for one in level for child in _children(one)]
    return depth


def has_large_integer(value: Any) -> bool:
    """Return whether a value holds an integer beyond 2^53 - 1, so that it has no canonical form (P-CV-20)."""
    if isinstance(value, int):
        return not -_SAFE_INTEGER <= value <= _SAFE_INTEGER
    return any(has_large_integer(one) for one in _children(value))
