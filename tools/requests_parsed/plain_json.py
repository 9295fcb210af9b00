"""JSON by the standard library with strict hooks, and what of a text is not as RFC 8259 and I-JSON (RFC 7493) say."""

from __future__ import annotations

import json
from typing import Any, NoReturn

_DEEP = 200


def read(data: bytes) -> tuple[Any, set[str]]:
    """Return the value, or None, and the faults of the text."""
    faults: set[str] = set()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None, {"JSON is not UTF-8"}
    if text.startswith("\ufeff"):
        faults.add("JSON after a byte order mark")
        text = text[1:]

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            faults.add("JSON member twice")
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=members, parse_constant=_constant, parse_int=_integer(faults))
    except RecursionError:
        return None, {"JSON too deep"}
    except ValueError:
        return None, {"not JSON"}
    if _depth(value) > _DEEP:
        faults.add("JSON too deep")
    if any(0xD800 <= ord(one) <= 0xDFFF for one in _texts(value)):
        faults.add("JSON with half a surrogate pair")
    return value, faults


def _constant(name: str) -> NoReturn:
    raise ValueError(name)


def _integer(faults: set[str]) -> Any:
    def read_integer(digits: str) -> int | float:
        if len(digits) > 400:
            faults.add("JSON number too long")
            return float("inf")
        return int(digits)

    return read_integer


def _texts(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level:
        depth += 1
        level = [
            inner
            for inner_value in level
            if isinstance(inner_value, dict | list)
            for inner in (inner_value.values() if isinstance(inner_value, dict) else inner_value)
        ]
    return depth
