"""Periodic rounds: all duties of a process begin together, so it wakes once and its writes share a commit.

Duties that no payer waits for are part of a few rounds only, so that an idle worker asks the database little.
"""

from __future__ import annotations

import asyncio
from typing import Final

CLEAN_SECONDS: Final = 60
LAPSE_SECONDS: Final = 10
LOOK_SECONDS: Final = 5


class Rounds:
    """Rounds that begin at fixed intervals, counted from the creation of this object."""

    def __init__(self, seconds: float) -> None:
        """Take the interval; an event loop must be running."""
        self._seconds = seconds
        self._began = asyncio.get_running_loop().time()

    async def next(self) -> None:
        """Wait for the next round, or for the one after it if the next is less than half an interval away."""
        now = asyncio.get_running_loop().time()
        # Rounding keeps a duty that ended late in step with the others. Otherwise it would drift, and each duty would
        # wake the process on its own.
        place = round((now - self._began) / self._seconds) + 1
        await asyncio.sleep(self._began + place * self._seconds - now)


class Interval:
    """The times at which a duty of a round is due: each `seconds` of the service's clock, and after a jump back."""

    def __init__(self, seconds: int) -> None:
        """Take the interval; the duty is due in the first round."""
        self._seconds = seconds
        self._last: int | None = None

    def is_over(self, now: int) -> bool:
        """Return whether the duty is due at a unix second. If so, the next interval begins."""
        if self._last is not None and self._last <= now < self._last + self._seconds:
            return False
        self._last = now
        return True
