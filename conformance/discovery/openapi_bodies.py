"""Request bodies that an OpenAPI document suggests: its examples, and one of the required members."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.discovery.openapi_paths import resolve_reference

_MAX_DEPTH = 4


def properties(document: Mapping[str, Any], path: str, method: str = "post") -> Mapping[str, Any]:
    """Return the members that an OpenAPI document describes for the body of an operation."""
    members = _schema(document, path, method).get("properties")
    return members if isinstance(members, dict) else {}


def body_schema(document: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """Return the schema of the body of POST `path`, or an empty one if the document has none."""
    return _schema(document, path, "post")


def members(document: Mapping[str, Any], schema: Any, depth: int = _MAX_DEPTH) -> Mapping[str, Mapping[str, Any]]:
    """Return the members of an object's schema and of its alternatives and parts, each with its schema."""
    schema = resolve_reference(document, schema)
    by_name: dict[str, Mapping[str, Any]] = {}
    for name in ("allOf", "anyOf", "oneOf") if depth else ():
        for part in schema[name] if isinstance(schema.get(name), list) else ():
            by_name |= members(document, part, depth - 1)
    own_members = schema.get("properties")
    return by_name | {
        name: resolve_reference(document, one)
        for name, one in (own_members if isinstance(own_members, dict) else {}).items()
    }


def bodies(document: Mapping[str, Any], path: str) -> Iterator[dict[str, Any]]:
    """Yield bodies that may be accepted at POST `path`: the document's examples, then one of the required members.

    A free text contains the placeholder `{unique}`, so that a caller can fill in a new value each time.
    """
    yield from (one for one in examples(document, path) if isinstance(one, dict))
    required_body = build_required_body(document, path)
    if required_body is not None:
        yield required_body


def examples(document: Mapping[str, Any], path: str, method: str = "post") -> Iterator[Any]:
    """Yield the bodies that the document gives as examples of an operation's request."""
    media = _media(document, path, method)
    schema = _schema(document, path, method)
    named_examples = media.get("examples")
    for holder in (media, schema):
        if "example" in holder:
            yield holder["example"]
    for entry in named_examples.values() if isinstance(named_examples, dict) else ():
        value = resolve_reference(document, entry)
        if "value" in value:
            yield value["value"]
    yield from schema["examples"] if isinstance(schema.get("examples"), list) else ()


def build_required_body(document: Mapping[str, Any], path: str, method: str = "post") -> dict[str, Any] | None:
    """Return a body of only the required members, or None if the document requires none."""
    schema = _schema(document, path, method)
    required_names, members = schema.get("required"), schema.get("properties")
    if not (isinstance(required_names, list) and required_names):
        return None
    schemas = members if isinstance(members, dict) else {}
    return {str(name): _sample(document, schemas.get(name, {})) for name in required_names}


def takes_no_body(document: Mapping[str, Any], path: str, method: str = "post") -> bool:
    """Return whether the document describes the operation without a request body."""
    item = resolve_reference(document, _member(document.get("paths"), path))
    operation = item.get(method)
    return isinstance(operation, dict) and "requestBody" not in operation


def _sample(document: Mapping[str, Any], schema: Any) -> Any:
    schema = resolve_reference(document, schema)
    # The author's own values come first, because they are the most likely to be accepted.
    for name in ("example", "default", "const"):
        if name in schema:
            return schema[name]
    for name in ("enum", "examples"):
        if isinstance(schema.get(name), list) and schema[name]:
            return schema[name][0]
    for name in ("allOf", "anyOf", "oneOf"):
        if isinstance(schema.get(name), list) and schema[name]:
            return _sample(document, schema[name][0])
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    # Zero is often refused, so the smallest sample is 1.
    least = schema.get("minimum", 1)
    samples = {"integer": max(int(least), 1), "number": max(least, 1), "boolean": True, "array": [], "object": {}}
    return samples.get(str(kind), "weldproof-{unique}")


def _media(document: Mapping[str, Any], path: str, method: str) -> Mapping[str, Any]:
    value: Any = document.get("paths")
    for name in (path, method, "requestBody", "content", "application/json"):
        value = resolve_reference(document, _member(value, name))
    return value if isinstance(value, dict) else {}


def _schema(document: Mapping[str, Any], path: str, method: str) -> Mapping[str, Any]:
    return resolve_reference(document, _media(document, path, method).get("schema"))


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None
