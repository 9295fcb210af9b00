"""Periodic rounds: all duties of a process begin together, so it wakes once and its writes share a commit."""

from __future__ import annotations

import asyncio


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
