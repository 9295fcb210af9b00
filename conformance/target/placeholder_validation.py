"""Placeholders in bindings: an unknown one is a fault of the profile, not of the target."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import AfterValidator

# `${NAME}` belongs to the shell, so it is not a placeholder.
_PLACEHOLDER = re.compile(r"(?<!\$)\{([A-Za-z][A-Za-z0-9_]*)\}")


def placeholders(*known_names: str) -> AfterValidator:
    """Return the validator of a text or template that may contain only these placeholders.

    Another name in braces is a `ValueError` that gives the nearest of those known.
    """

    def check_placeholders(value: Any) -> Any:
        for name in _find_placeholders(value):
            if name not in known_names:
                # Silently sending a misspelled placeholder as text would look like a fault of the
                # target.
                near = difflib.get_close_matches(name, known_names, 1, 0.4)
                suggestion = f"; did you mean {{{near[0]}}}?" if near else ""
                name_list = ", ".join(f"{{{one}}}" for one in known_names)
                raise ValueError(f"unknown placeholder {{{name}}}{suggestion} Known: {name_list}")
        return value

    return AfterValidator(check_placeholders)


def _find_placeholders(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from (match[1] for match in _PLACEHOLDER.finditer(value))
    elif isinstance(value, Mapping):
        for name, member in value.items():
            yield from _find_placeholders(name)
            yield from _find_placeholders(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from _find_placeholders(member)
