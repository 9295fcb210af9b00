"""Comparison of claims' JSON values: equality, types, and the spellings of hashes."""

from __future__ import annotations

import json
import re
from typing import Any, Final

ABSENT: Final = object()
# The usual spellings of a digest. Two receipts with one value in two spellings are unequal to a verifier that compares
# texts, so the spelling is named before the value.
_SHAPES: Final = (
    ("sha256: and 64 hex digits", re.compile(r"sha256:[0-9a-f]{64}")),
    ("64 hex digits", re.compile(r"(0x)?[0-9a-fA-F]{64}")),
    ("128 hex digits", re.compile(r"(sha512:|0x)?[0-9a-fA-F]{128}")),
    ("base64", re.compile(r"[A-Za-z0-9+/_-]{43}=?")),
)


def equal(left_value: Any, right_value: Any) -> bool:
    """Return whether two values are the same JSON value; `ABSENT` equals no value."""
    if left_value is ABSENT or right_value is ABSENT:
        return False
    return text_of(left_value) == text_of(right_value)


def text_of(value: Any) -> str:
    """Return a JSON value as text, with sorted members, and whole numbers without a fraction."""
    # JSON does not distinguish 1 and 1.0, but Python's parser does.
    if isinstance(value, float) and value == _whole(value):
        value = int(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def types_differ(left_value: Any, right_value: Any) -> str | None:
    """Return a sentence about two different JSON types; None for the same type."""
    left_type, right_type = _type(left_value), _type(right_value)
    if left_type == right_type:
        return None
    return f"The types differ, {left_type} and {right_type}: a reader of one cannot read the other."


def _type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a whole number" if value == _whole(value) else "a number with a fraction"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "an object"


def _whole(value: float) -> float:
    """Return the integer part of a number; NaN for infinity and NaN, so that no comparison holds."""
    return int(value) if value - value == 0 else float("nan")


def shapes_differ(left_value: Any, right_value: Any) -> str | None:
    """Return a sentence about two spellings of hash references; None for the same spelling."""
    left_shape, right_shape = _shape(left_value), _shape(right_value)
    if left_shape == right_shape:
        return None
    return f"The hashes are written in two ways, {left_shape} and {right_shape}; a hash reference is {_SHAPES[0][0]}."


def _shape(value: Any) -> str:
    text = value if isinstance(value, str) else ""
    return next((name for name, form in _SHAPES if form.fullmatch(text)), "no hash")
