"""Placeholders of what an operator binds: one that nothing fills is a fault of the profile, not of the target."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import AfterValidator

# `${NAME}` is the shell's.
_PLACEHOLDER = re.compile(r"(?<!\$)\{([A-Za-z][A-Za-z0-9_]*)\}")


def placeholders(*known: str) -> AfterValidator:
    """Return the validator of a text, or of a template of texts, in which these names are filled in.

    Another name in braces is a `ValueError` that gives the nearest of those known.
    """

    def checked(value: Any) -> Any:
        for name in _named(value):
            if name not in known:
                near = difflib.get_close_matches(name, known, 1, 0.4)
                meant = f"; did you mean {{{near[0]}}}?" if near else ""
                listed = ", ".join(f"{{{one}}}" for one in known)
                raise ValueError(f"unknown placeholder {{{name}}}{meant} Known: {listed}")
        return value

    return AfterValidator(checked)


def _named(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from (match[1] for match in _PLACEHOLDER.finditer(value))
    elif isinstance(value, Mapping):
        for name, member in value.items():
            yield from _named(name)
            yield from _named(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from _named(member)
