"""Activity: what this process changed in a database, for its background work that looks for such changes.

Background work of an idle process looks for changes of other processes rarely. A change of its own process wakes it at
once, and it looks often for some seconds, because the change is announced before its transaction commits.
"""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from reference.store.database import Database


class Activity:
    """The changes of this process to one database."""

    def __init__(self) -> None:
        """Begin without a change."""
        self._noted_at = float("-inf")
        # In the order of their calls, so that they wake in that order.
        self._waiting: dict[asyncio.Future[None], None] = {}

    def note(self) -> None:
        """Announce a change that is about to be committed."""
        self._noted_at = asyncio.get_running_loop().time()
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    def is_recent(self, seconds: float) -> bool:
        """Return whether a change was announced within the last seconds."""
        # The loop's clock and not the machine's: a simulated loop runs for days in seconds.
        return asyncio.get_running_loop().time() - self._noted_at < seconds

    async def wait(self, seconds: float) -> None:
        """Wait until a change is announced, or for a time."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[waiting] = None
        try:
            await asyncio.wait({waiting}, timeout=seconds)
        finally:
            self._waiting.pop(waiting, None)
            waiting.cancel()


_ACTIVITIES: WeakKeyDictionary[Database, Activity] = WeakKeyDictionary()


def activity_of(database: Database) -> Activity:
    """Return the activity of this process on a database."""
    return _ACTIVITIES.setdefault(database, Activity())
