"""The trusted keys of a document, without those that it marks as revoked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from conformance.surfaces.control_plane import documents

# Words for a revoked state. The interface names no member for it, so any text of a record is compared.
_GONE = frozenset({"revoked", "inactive", "disabled", "retired", "removed", "suspended"})


def trusted_keys(document: Any, keys: Iterable[str]) -> set[str]:
    """Return those of some keys that a document contains as trusted, at any place."""
    live = without_gone(document)
    return {key for key in keys if documents.mentions(live, key)}


def without_gone(value: Any) -> Any:
    """Return a document without the objects that are marked as no longer trusted."""
    if isinstance(value, list):
        return [without_gone(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {} if is_gone(value) else {name: without_gone(member) for name, member in value.items()}


def is_gone(record: Mapping[str, Any]) -> bool:
    """Return whether a record says that its key is revoked."""
    return any(text.lower() in _GONE for text in record.values() if isinstance(text, str))
