"""Idle processes: whether a payer waits for something, such as a lock of another run, or is only slow."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

# A process that works uses time of the processor within this many seconds, or waits for the processor or a disk.
_IDLE_SECONDS: Final = 0.5
# States of `/proc/PID/stat`: running or ready to run, and waiting for a disk.
_BUSY_STATES: Final = frozenset("RD")
# Places after the name of the program, which may contain spaces: the state, and the ticks of user and system.
_STATE: Final = 0
_TICKS: Final = slice(11, 13)


class IdleWatch:
    """Looks at all processes of some sessions again and again.

    Attributes:
        sessions: Ids of the sessions.
    """

    def __init__(self, sessions: Sequence[int]) -> None:
        self.sessions = frozenset(sessions)
        self._ticks: int | None = None
        self._since = 0.0

    def is_idle(self) -> bool:
        """Return whether no process has worked for half a second. Ended processes are idle."""
        is_busy, ticks = False, 0
        for path in Path("/proc").glob("[0-9]*"):
            # A process may end meanwhile.
            with contextlib.suppress(OSError, ValueError):
                if os.getsid(int(path.name)) in self.sessions:
                    fields = (path / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
                    is_busy |= fields[_STATE] in _BUSY_STATES
                    ticks += sum(map(int, fields[_TICKS]))
        now = time.monotonic()
        if is_busy or ticks != self._ticks:
            self._ticks, self._since = ticks, now
        return now - self._since >= _IDLE_SECONDS
