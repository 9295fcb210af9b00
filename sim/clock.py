"""The time that a simulated chain stamps its blocks with: system time plus an offset that only grows."""

from __future__ import annotations

import time
from collections.abc import Callable


class BlockClock:
    """Tells unix seconds. The offset is set by the control verbs `advance` and `block_time_offset`."""

    def __init__(self, system: Callable[[], float] = time.time) -> None:
        self._system = system
        self.offset = 0.0

    def now(self) -> int:
        """Return whole unix seconds."""
        return int(self._system() + self.offset)

    def set_offset(self, seconds: float) -> None:
        """Set the offset.

        Raises:
            ValueError: It is smaller than the one before.
        """
        if seconds < self.offset:
            raise ValueError(f"the offset is {self.offset:g} s already and never shrinks")
        self.offset = seconds
