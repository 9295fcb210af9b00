"""Whether bytes are JSON as RFC 8259 has it, to the letter."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any


class JsonTextFault(ValueError):
    """The bytes are no such JSON; the text says why."""


def strict_json(body: bytes) -> Any:
    """Return the value of a JSON text: UTF-8 without a byte order mark, no NaN or Infinity, no duplicate member.

    Raises:
        JsonTextFault: It is none.
    """
    value = json_text(body)
    faults = literal_faults(body)
    if faults:
        raise JsonTextFault("; ".join(faults))
    return value


def json_text(body: bytes) -> Any:
    """Return the value of bytes that parse as JSON in UTF-8, tolerating NaN, Infinity and duplicate members.

    Raises:
        JsonTextFault: They do not parse.
    """
    if body.startswith(b"\xef\xbb\xbf"):
        raise JsonTextFault("it begins with a byte order mark (RFC 8259 section 8.1)")
    try:
        return json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as fault:
        raise JsonTextFault(f"it does not parse as JSON: {fault}") from fault


def literal_faults(body: bytes) -> list[str]:
    """Return what a parsing JSON text holds outside RFC 8259, one line each: literals of JavaScript, names twice."""
    found: list[str] = []

    def constant(name: str) -> None:
        found.append(f"the literal {name}")

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        often = Counter(name for name, _ in pairs)
        found.extend(f"the member {name!r} twice" for name, count in sorted(often.items()) if count > 1)
        return dict(pairs)

    try:
        json.loads(body.decode("utf-8"), parse_constant=constant, object_pairs_hook=members)
    except (ValueError, RecursionError):
        return []
    return found


def is_json_type(content_type: str | None) -> bool:
    """Return whether a Content-Type is JSON: `application/json`, or a suffix `+json`."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
