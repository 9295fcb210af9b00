"""Rounds of what is done again and again: all that is due wakes the process once, and shares what it writes."""

from __future__ import annotations

import asyncio


class Rounds:
    """Rounds that begin equally far apart, from the moment at which they are made."""

    def __init__(self, seconds: float) -> None:
        """Take how far apart; a loop must run."""
        self._seconds = seconds
        self._began = asyncio.get_running_loop().time()

    async def next(self) -> None:
        """Wait for the next round, or for the one after it where that is nearer than half of the distance."""
        now = asyncio.get_running_loop().time()
        place = round((now - self._began) / self._seconds) + 1
        await asyncio.sleep(self._began + place * self._seconds - now)
