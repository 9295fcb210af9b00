"""That this process was told to end: what waits for a chain or another worker answers so, and holds up no restart."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Ending:
    """Waits that a signal to end cuts short; once told, it stays so."""

    def __init__(self) -> None:
        """Begin with nothing told."""
        self.is_told = False
        self._woken = set[asyncio.Event]()

    def tell(self) -> None:
        """Say that the process is to end, and wake who waits."""
        self.is_told = True
        for event in self._woken:
            event.set()

    @contextmanager
    def waking(self, event: asyncio.Event) -> Iterator[None]:
        """Set an event when the process is told to end."""
        self._woken.add(event)
        try:
            yield
        finally:
            self._woken.discard(event)

    async def pause(self, seconds: float) -> None:
        """Wait for so many seconds, or until the process is told to end."""
        if self.is_told:
            await asyncio.sleep(0)
            return
        event = asyncio.Event()
        with self.waking(event), suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()


ENDING = Ending()
"""Of this process."""
