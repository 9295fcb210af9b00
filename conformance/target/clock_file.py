"""The file that adds seconds to the target's test clock (`[clock] offset_file`): read, and moved on."""

from __future__ import annotations

import math
import os
from pathlib import Path

from conformance.outcome import Inconclusive


def offset_of(path: Path) -> float:
    """Return the seconds that a clock file adds; a file that is not there adds none.

    Raises:
        Inconclusive: It cannot be read.
    """
    try:
        return float(path.read_text("ascii").strip() or "0")
    except FileNotFoundError:
        return 0.0
    except (OSError, ValueError) as fault:
        raise Inconclusive(f"cannot read the clock file {path}: {fault}") from fault


def moved_at(path: Path) -> float:
    """Return the machine's time at which a clock file was last written, in unix seconds; -inf where there is none."""
    try:
        return path.stat().st_mtime
    except OSError:
        return -math.inf


def advance(path: Path, seconds: float) -> float:
    """Move a clock file on by `seconds` in one step and return what it adds now.

    Raises:
        Inconclusive: It cannot be read or written.
    """
    return advance_to(path, offset_of(path) + seconds)


def advance_to(path: Path, offset: float) -> float:
    """Have a clock file add `offset` seconds, if it does not add more, and return what it adds now.

    Raises:
        Inconclusive: It cannot be read or written.
    """
    present = offset_of(path)
    if present >= offset:
        return present
    draft = path.with_name(path.name + ".draft")
    try:
        draft.write_text(f"{offset:.3f}\n", "ascii")
        os.replace(draft, path)  # noqa: PTH105 - atomic, so a reader never sees half a number
    except OSError as fault:
        raise Inconclusive(f"cannot write the clock file {path}: {fault.strerror}") from fault
    return offset
