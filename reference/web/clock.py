"""The WP clock: system time plus a test offset, and it only moves forward (P-CV-08)."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from pathlib import Path

from reference.web.logs import get_logger

_log = get_logger()
_MOST_BYTES = 4096


class WpClock:
    """Tells the service's time. Everything that expires is judged by it; waits inside a call use monotonic time."""

    def __init__(self, offset_file: Path | None = None, system: Callable[[], float] = time.time) -> None:
        self._offset_file = offset_file
        self._system = system
        self._offset = 0.0
        self._latest = 0.0

    def seconds(self) -> float:
        """Return unix seconds; a reading is never smaller than the one before."""
        self._latest = max(self._latest, self._system() + self._read_offset())
        return self._latest

    def now(self) -> int:
        """Return whole unix seconds."""
        return int(self.seconds())

    def now_ms(self) -> int:
        """Return whole unix milliseconds."""
        return int(self.seconds() * 1000)

    def _read_offset(self) -> float:
        if self._offset_file is None:
            return 0.0
        try:
            wanted = float(_content(self._offset_file).strip() or b"0")
        except (OSError, ValueError):
            return self._offset
        if not math.isfinite(wanted) or wanted < self._offset:
            _log.warning("clock_offset_ignored", wanted=wanted, used=self._offset)
        else:
            self._offset = wanted
        return self._offset


def _content(path: Path) -> bytes:
    """Return the first bytes of a file, which hold any number; it is read for every request, so plainly."""
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(opened, _MOST_BYTES)
    finally:
        os.close(opened)
