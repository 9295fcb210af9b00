"""One thing that `weldproof doctor` looked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for.

    Attributes:
        name: What it is.
        state: `ok`, `missing` (required and not there) or `absent` (optional and not there).
        found: What was found, such as a version.
        disables: What does not work without it; empty when it is there.
        remedy: What to do; empty when it is there.
    """

    name: str
    state: Literal["ok", "missing", "absent"]
    found: str
    disables: str = ""
    remedy: str = ""
