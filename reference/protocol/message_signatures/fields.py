"""Header fields of a message in the form in which a signature covers them (P-AG-02)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import http_sf

_FOLD = re.compile(r"\r?\n(?=[ \t])")


class Fields:
    """Header fields by lower-case name, each with its values in order, trimmed and unfolded."""

    def __init__(self, headers: Mapping[str, str | Sequence[str]]) -> None:
        # The values as they came are kept for the diagnosis, which tries what a signer would have signed without
        # trimming.
        self._headers = headers
        self._values: dict[str, list[str]] = {}
        for name, header in headers.items():
            values = self._values.setdefault(name.lower(), [])
            for value in (header,) if isinstance(header, str) else header:
                values.append(_unfold(value) if "\n" in value else value.strip(" \t"))
        # A signature may name one field many thousand times, by another key each time: read it once.
        self._structured: dict[tuple[str, str], Any] = {}

    def names(self) -> tuple[str, ...]:
        """Return the lower-case name of each field."""
        return tuple(self._values)

    def values(self, name: str) -> tuple[str, ...]:
        """Return the values of a field, in order."""
        return tuple(self._values.get(name, ()))

    def raw_values(self, name: str) -> list[str]:
        """Return the values of a field, in order, exactly as they came."""
        headers = [value for own, value in self._headers.items() if own.lower() == name]
        return [one for value in headers for one in ((value,) if isinstance(value, str) else value)]

    def spellings(self) -> dict[str, str]:
        """Return the spelling of each field's name in the message, by the name in lower case."""
        return {own.lower(): own for own in self._headers}

    def combine(self, name: str) -> str | None:
        """Return the field's values joined by a comma and a space, or None when it is absent."""
        values = self._values.get(name)
        if not values:
            return None
        return values[0] if len(values) == 1 else ", ".join(values)

    def parse_structured(self, name: str, kind: str) -> Any:
        """Return a present field read as a structured field of `kind`, or None when it is not one."""
        place = (name, kind)
        if place not in self._structured:
            self._structured[place] = _parse(self.combine(name) or "", kind)
        return self._structured[place]


def _parse(text: str, kind: str) -> Any:
    try:
        return http_sf.parse(text.encode("ascii"), tltype=kind)
    except ValueError:
        return None


def _unfold(value: str) -> str:
    # An obsolete line fold becomes one space (RFC 9421 2.1). A fold that stayed in the value would add a line to
    # the base.
    return " ".join(line.strip(" \t") for line in _FOLD.split(value)).strip(" \t")
