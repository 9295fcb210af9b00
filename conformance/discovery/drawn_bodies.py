"""Bodies drawn from an operation's schema: each is another request than the one that is known, by one member.

A member that is left out may mean its default, so that no body is drawn that could be the known one with a default
filled in: then both would be the same request, and a rail that says so is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final, TypeGuard

from conformance.discovery.openapi_bodies import properties
from conformance.discovery.openapi_paths import resolved

_MOST: Final = 24
_DEPTH: Final = 4
_TEXT: Final = "weldproof"
_NUMBER: Final = 7
_MISSING: Final = object()
_CHOICES: Final = ("anyOf", "oneOf", "allOf")


def drawn(document: Mapping[str, Any], path: str, method: str, body: Any) -> tuple[Any, ...] | None:
    """Return bodies that differ from `body` in one member, None where the document describes no members.

    One has an optional member added, the others a number, a truth value, or a member inside an object or an array
    changed. The operation may refuse any of them.
    """
    members = properties(document, path, method)
    if not members or not isinstance(body, dict):
        return None
    added = (
        {**body, name: value}
        for name, schema in members.items()
        if name not in body
        for value in islice(_others(document, schema), 1)
    )
    changed = (
        {**body, name: value}
        for name, given in body.items()
        if not isinstance(given, str)
        for value in _changed(document, given, members.get(name), _DEPTH)
    )
    return tuple(islice(chain(added, changed), _MOST))


def _changed(document: Mapping[str, Any], given: Any, schema: Any, depth: int) -> Iterator[Any]:
    """Yield values like the one that is given, each with one thing changed."""
    described = resolved(document, schema)
    if isinstance(given, dict) and given and depth:
        members = described.get("properties")
        for name, value in given.items():
            known = members.get(name) if isinstance(members, dict) else None
            yield from ({**given, name: one} for one in _changed(document, value, known, depth - 1))
    elif isinstance(given, list) and given and depth:
        for value in islice(_changed(document, given[0], described.get("items"), depth - 1), 1):
            yield [value, *given[1:]]
    elif isinstance(given, bool):
        yield not given
    elif isinstance(given, int | float):
        most = described.get("maximum")
        yield given - 1 if _is_number(most) and given + 1 > most else given + 1
    elif isinstance(given, str):
        yield given + "A"
    else:
        yield from islice(_others(document, schema, given), 1)


def _others(document: Mapping[str, Any], schema: Any, default: Any = _MISSING, depth: int = _DEPTH) -> Iterator[Any]:
    """Yield values that a schema takes and that are surely not what stands for the member's absence."""
    described = resolved(document, schema)
    default = described.get("default", default)
    if not depth or "const" in described:
        return
    alternatives = [one for name in _CHOICES for one in described.get(name) or () if isinstance(one, dict)]
    if alternatives:
        for one in alternatives:
            yield from _others(document, one, default, depth - 1)
        return
    known = described.get("enum")
    if isinstance(known, list):
        # The first of them may be the default that is not told.
        candidates = known if default is not _MISSING else []
    else:
        candidates = list(_candidates(document, described, default, depth))
    yield from (one for one in candidates if one is not None and one != default)


def _candidates(document: Mapping[str, Any], schema: Mapping[str, Any], default: Any, depth: int) -> Iterator[Any]:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), None)
    if "example" in schema:
        yield schema["example"]
    yield from schema["examples"] if isinstance(schema.get("examples"), list) else ()
    if kind == "boolean" and isinstance(default, bool):
        yield not default
    elif kind in {"integer", "number"}:
        low, high = schema.get("minimum"), schema.get("maximum")
        wanted = (_NUMBER, low + 1 if _is_number(low) else None, low, high)
        yield from (
            one
            for one in wanted
            if _is_number(one) and not (_is_number(low) and one < low) and not (_is_number(high) and one > high)
        )
    elif kind == "string" and "pattern" not in schema:
        least, most = schema.get("minLength"), schema.get("maxLength")
        yield _TEXT.ljust(least if isinstance(least, int) else 0, "x")[: most if isinstance(most, int) else None]
    elif kind == "array":
        yield from ([one] for one in islice(_others(document, schema.get("items"), depth=depth - 1), 1))
    elif kind == "object":
        members = schema.get("properties")
        for name, one in members.items() if isinstance(members, dict) else ():
            yield from ({name: value} for value in islice(_others(document, one, depth=depth - 1), 1))
        more = schema.get("additionalProperties")
        yield from ({_TEXT: value} for value in islice(_others(document, more, depth=depth - 1), 1))


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
