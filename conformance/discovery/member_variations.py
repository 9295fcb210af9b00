"""Variations of a known request body: each differs from it in one member, by the operation's schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final, TypeGuard

from conformance.discovery.openapi_bodies import properties
from conformance.discovery.openapi_paths import resolve_reference

_MAX_BODIES: Final = 24
_MAX_DEPTH: Final = 4
# Arbitrary values that no service gives a meaning. They are the same in every run, so that requests repeat.
_TEXT: Final = "weldproof"
_NUMBER: Final = 7
_NO_DEFAULT: Final = object()
_COMBINATIONS: Final = ("anyOf", "oneOf", "allOf")


def vary_body(document: Mapping[str, Any], path: str, method: str, body: Any) -> tuple[Any, ...] | None:
    """Return bodies that differ from `body` in one member, or None if the document describes no members.

    One kind adds an optional member. The other kind changes a number, a truth value, or a member inside an object or an
    array. The operation may refuse any of them.
    """
    members = properties(document, path, method)
    if not members or not isinstance(body, dict):
        return None
    extended_bodies = (
        {**body, name: value}
        for name, schema in members.items()
        if name not in body
        for value in islice(_other_values(document, schema), 1)
    )
    changed_bodies = (
        {**body, name: value}
        for name, member in body.items()
        # Changed texts are the work of `rail.variations`, which needs no schema.
        if not isinstance(member, str)
        for value in _change_value(document, member, members.get(name), _MAX_DEPTH)
    )
    return tuple(islice(chain(extended_bodies, changed_bodies), _MAX_BODIES))


def _change_value(document: Mapping[str, Any], original: Any, schema: Any, depth: int) -> Iterator[Any]:
    """Yield values like `original`, each with one change."""
    described_schema = resolve_reference(document, schema)
    if isinstance(original, dict) and original and depth:
        members = described_schema.get("properties")
        for name, value in original.items():
            member_schema = members.get(name) if isinstance(members, dict) else None
            yield from ({**original, name: one} for one in _change_value(document, value, member_schema, depth - 1))
    elif isinstance(original, list) and original and depth:
        # One changed item shows the same as all of them.
        for value in islice(_change_value(document, original[0], described_schema.get("items"), depth - 1), 1):
            yield [value, *original[1:]]
    elif isinstance(original, bool):
        yield not original
    elif isinstance(original, int | float):
        most = described_schema.get("maximum")
        # The changed number must stay in the range of the schema: outside it the request would only be
        # refused.
        yield original - 1 if _is_number(most) and original + 1 > most else original + 1
    elif isinstance(original, str):
        yield original + "A"
    else:
        yield from islice(_other_values(document, schema, original), 1)


def _other_values(
    document: Mapping[str, Any], schema: Any, default: Any = _NO_DEFAULT, depth: int = _MAX_DEPTH
) -> Iterator[Any]:
    """Yield values that a schema accepts and that differ from the member's default."""
    described_schema = resolve_reference(document, schema)
    # A missing member may mean its default. A body with the default filled in would then be the same request,
    # and a rail that treats both alike is right.
    default = described_schema.get("default", default)
    if not depth or "const" in described_schema:
        return
    alternatives = [
        alternative
        for name in _COMBINATIONS
        for alternative in described_schema.get(name) or ()
        if isinstance(alternative, dict)
    ]
    if alternatives:
        for alternative in alternatives:
            yield from _other_values(document, alternative, default, depth - 1)
        return
    enumeration = described_schema.get("enum")
    if isinstance(enumeration, list):
        # Without a stated default, any value of the enumeration may be the default, so none is certainly different.
        candidates = enumeration if default is not _NO_DEFAULT else []
    else:
        candidates = list(_candidates(document, described_schema, default, depth))
    yield from (alternative for alternative in candidates if alternative is not None and alternative != default)


def _candidates(document: Mapping[str, Any], schema: Mapping[str, Any], default: Any, depth: int) -> Iterator[Any]:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((member_schema for member_schema in kind if member_schema != "null"), None)
    # The author's examples are more likely to be accepted than generated values.
    if "example" in schema:
        yield schema["example"]
    yield from schema["examples"] if isinstance(schema.get("examples"), list) else ()
    if kind == "boolean" and isinstance(default, bool):
        yield not default
    elif kind in {"integer", "number"}:
        low, high = schema.get("minimum"), schema.get("maximum")
        values = (_NUMBER, low + 1 if _is_number(low) else None, low, high)
        yield from (
            member_schema
            for member_schema in values
            if _is_number(member_schema)
            and not (_is_number(low) and member_schema < low)
            and not (_is_number(high) and member_schema > high)
        )
    elif kind == "string" and "pattern" not in schema:
        least, most = schema.get("minLength"), schema.get("maxLength")
        yield _TEXT.ljust(least if isinstance(least, int) else 0, "x")[: most if isinstance(most, int) else None]
    elif kind == "array":
        yield from (
            [member_schema]
            for member_schema in islice(_other_values(document, schema.get("items"), depth=depth - 1), 1)
        )
    elif kind == "object":
        members = schema.get("properties")
        for name, member_schema in members.items() if isinstance(members, dict) else ():
            yield from ({name: value} for value in islice(_other_values(document, member_schema, depth=depth - 1), 1))
        more = schema.get("additionalProperties")
        yield from ({_TEXT: value} for value in islice(_other_values(document, more, depth=depth - 1), 1))


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
