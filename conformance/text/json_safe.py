"""JSON values that every reader accepts, made from values that a target sent."""

from __future__ import annotations

from typing import Any


def json_safe(value: Any) -> Any:
    """Return a JSON value that any reader accepts: no lone surrogates, no NaN, no integers beyond 64 bits.

    A value of a type that JSON lacks becomes its text.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    # Before `int`, since a bool is an int in Python.
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    if isinstance(value, float):
        # Only a finite number minus itself is zero; infinity minus infinity and NaN are NaN.
        return value if value - value == 0 else str(value)
    if isinstance(value, dict):
        return {json_safe(str(name)): json_safe(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(item) for item in value]
    return json_safe(str(value))
