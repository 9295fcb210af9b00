"""The message's header fields, as a signature covers them (P-AG-02)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import http_sf

_FOLD = re.compile(r"\r?\n(?=[ \t])")


class Fields:
    """Header fields by lower-case name, each with its values in order, trimmed and unfolded."""

    def __init__(self, headers: Mapping[str, str | Sequence[str]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, given in headers.items():
            values = [given] if isinstance(given, str) else given
            self._values.setdefault(name.lower(), []).extend(map(_unfolded, values))
        # A signature may name one field many thousand times, by another key each time: read it once.
        self.combined = cache(self._combined)
        self.structured = cache(self._structured)

    def values(self, name: str) -> tuple[str, ...]:
        """Return the values of a field, in order."""
        return tuple(self._values.get(name, ()))

    def _combined(self, name: str) -> str | None:
        """Return the field's values joined by a comma and a space, or None when it is absent."""
        values = self._values.get(name)
        return ", ".join(values) if values else None

    def _structured(self, name: str, kind: str) -> Any:
        """Return a present field read as a structured field of `kind`, or None when it is not one."""
        try:
            return http_sf.parse((self.combined(name) or "").encode("ascii"), tltype=kind)
        except ValueError:
            return None


def _unfolded(value: str) -> str:
    if "\n" not in value:
        return value.strip(" \t")
    return " ".join(line.strip(" \t") for line in _FOLD.split(value)).strip(" \t")
