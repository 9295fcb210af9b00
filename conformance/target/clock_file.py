"""The clock file (`[clock] offset_file`), whose seconds the target adds to its clock: reading and advancing it."""

from __future__ import annotations

import os
from pathlib import Path

from conformance.outcome import Inconclusive


def offset_of(path: Path) -> float:
    """Return the seconds that a clock file adds; 0 for a missing file.

    Raises:
        Inconclusive: It cannot be read.
    """
    try:
        return float(path.read_text("ascii").strip() or "0")
    except FileNotFoundError:
        return 0.0
    except (OSError, ValueError) as fault:
        raise Inconclusive(f"cannot read the clock file {path}: {fault}") from fault


def advance(path: Path, seconds: float) -> float:
    """Advance a clock file by `seconds` in one step, and return its new offset.

    Raises:
        Inconclusive: It cannot be read or written.
    """
    return advance_to(path, offset_of(path) + seconds)


def advance_to(path: Path, offset: float) -> float:
    """Set a clock file to `offset` seconds unless it already adds more, and return its offset.

    Raises:
        Inconclusive: It cannot be read or written.
    """
    present = offset_of(path)
    # Time never goes back: another check may have advanced the same file further.
    if present >= offset:
        return present
    draft = path.with_name(path.name + ".draft")
    try:
        # A new file that replaces the old one: a program that reads meanwhile gets either offset,
        # never a part.
        draft.write_text(f"{offset:.3f}\n", "ascii")
        os.replace(draft, path)  # noqa: PTH105 - atomic, so a reader never sees half a number
    except OSError as fault:
        raise Inconclusive(f"cannot write the clock file {path}: {fault.strerror}") from fault
    return offset
