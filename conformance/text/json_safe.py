"""Values that any JSON reader takes: what a target sends can hold what JSON text in UTF-8 cannot."""

from __future__ import annotations

from typing import Any


def json_safe(value: Any) -> Any:
    """Return a JSON value that any reader can take: no lone surrogates, no NaN, no integers beyond 64 bits.

    What JSON has no word for becomes its text.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, dict):
        return {json_safe(str(name)): json_safe(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(item) for item in value]
    return json_safe(str(value))
