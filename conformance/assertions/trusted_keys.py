"""The trusted keys of a document, without those that it marks as revoked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from conformance.surfaces.control_plane import document_reader

# Words for a revoked state. The interface names no member for it, so any text of a record is compared.
_REVOKED_WORDS = frozenset({"revoked", "inactive", "disabled", "retired", "removed", "suspended"})


def find_trusted_keys(document: Any, keys: Iterable[str]) -> set[str]:
    """Return those of some keys that a document contains as trusted, at any place."""
    live_document = drop_revoked(document)
    return {key for key in keys if document_reader.mentions(live_document, key)}


def drop_revoked(value: Any) -> Any:
    """Return a document without the objects that are marked as no longer trusted."""
    if isinstance(value, list):
        return [drop_revoked(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {} if is_revoked(value) else {name: drop_revoked(member) for name, member in value.items()}


def is_revoked(record: Mapping[str, Any]) -> bool:
    """Return whether a record says that its key is revoked."""
    return any(text.lower() in _REVOKED_WORDS for text in record.values() if isinstance(text, str))
