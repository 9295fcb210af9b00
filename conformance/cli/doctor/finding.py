"""A finding of `weldproof doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of one program, package, port or destination.

    Attributes:
        name: Name of the part.
        state: `ok`, `missing` (required, not found), `absent` (optional, not found) or `in use` (a port).
        found: What was found, such as a version.
        disables: What does not work without it; empty for `ok`.
        remedy: What to do; empty for `ok`.
    """

    name: str
    state: Literal["ok", "missing", "absent", "in use"]
    found: str
    disables: str = ""
    remedy: str = ""
