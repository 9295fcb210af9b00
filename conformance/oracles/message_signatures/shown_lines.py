"""The lines of a signature base that an explanation shows, compared with those of RFC 9421, section 2.5."""

from __future__ import annotations

import re
from typing import Final

# A component identifier with its parameters, the colon, and the value.
_LINE: Final = re.compile(r'("(?:[^"\\]|\\.)*"(?:;[a-z*][a-z0-9_.*-]*(?:="(?:[^"\\]|\\.)*"|=[^;:"]*)?)*): ?(.*)')


def has_wrong_line(shown: str, expected: str) -> bool:
    """Return whether a shown base has a line for a component of the expected base, and another value in it.

    A line that is absent or has no value does not count: an agent may not know the component. If no line is absent,
    every other difference counts, such as another order.
    """
    shown_values, expected_values = _values_of(shown), _values_of(expected)
    known = {name: value for name, value in shown_values.items() if value}
    if any(known.get(name, value) != value for name, value in expected_values.items()):
        return True
    return shown != expected and expected_values.keys() <= known.keys()


def _values_of(base: str) -> dict[str, str]:
    """Return the value of each line by its component identifier."""
    matches = (_LINE.fullmatch(line) for line in base.split("\n"))
    return {one[1]: one[2] for one in matches if one is not None}
