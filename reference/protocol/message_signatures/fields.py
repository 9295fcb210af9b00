"""The message's header fields, as a signature covers them (P-AG-02)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_FOLD = re.compile(r"[ \t]*\r?\n[ \t]+")


class Fields:
    """Header fields by lower-case name, each with its values in order, trimmed and unfolded."""

    def __init__(self, headers: Mapping[str, str | Sequence[str]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, given in headers.items():
            values = [given] if isinstance(given, str) else list(given)
            self._values.setdefault(name.lower(), []).extend(_FOLD.sub(" ", value).strip(" \t") for value in values)

    def __contains__(self, name: str) -> bool:
        return bool(self._values.get(name))

    def values(self, name: str) -> tuple[str, ...]:
        """Return the values of a field, in order."""
        return tuple(self._values.get(name, ()))

    def combined(self, name: str) -> str | None:
        """Return the field's values joined by a comma and a space, or None when it is absent."""
        values = self._values.get(name)
        return ", ".join(values) if values else None
