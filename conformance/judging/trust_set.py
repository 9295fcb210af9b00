"""Which keys a trust set holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from conformance.surfaces.control_plane import documents

_GONE = frozenset({"revoked", "inactive", "disabled", "retired", "removed", "suspended"})


def trusted_keys(document: Any, keys: Iterable[str]) -> set[str]:
    """Return those of some keys that a document tells of as trusted, wherever they stand in it."""
    live = without_gone(document)
    return {key for key in keys if documents.tells_of(live, key)}


def without_gone(value: Any) -> Any:
    """Return a document without the objects that say of themselves that they are no longer trusted."""
    if isinstance(value, list):
        return [without_gone(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {} if is_gone(value) else {name: without_gone(member) for name, member in value.items()}


def is_gone(record: Mapping[str, Any]) -> bool:
    """Return whether a record says of a key that it is withdrawn."""
    return any(text.lower() in _GONE for text in record.values() if isinstance(text, str))
