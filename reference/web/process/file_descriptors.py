"""File descriptors of this process: a server without free ones accepts no calls, and does not report it by itself."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

from reference.web.errors import Refused
from reference.web.logs import get_logger

_EVERY_SECONDS = 1.0
_SAID_AGAIN_SECONDS = 60.0
_LEAST, _MOST = 8, 64
_PLACES = ("/proc/self/fd", "/dev/fd")
_log = get_logger()


@dataclass(frozen=True, slots=True)
class Count:
    """Descriptors that are in use, and the limit."""

    used: int
    limit: int

    @property
    def is_short(self) -> bool:
        """Whether so few are left that health fails: new calls, databases and nodes each need some."""
        return self.limit - self.used < max(_LEAST, min(_MOST, self.limit // 16))


class Watch:
    """Checks the number of descriptors regularly, and logs a shortage from time to time, and its end."""

    def __init__(self, count: Callable[[], Count], monotonic: Callable[[], float] = time.monotonic) -> None:
        """Take the function that counts, and a clock."""
        self._count = count
        self._monotonic = monotonic
        self._said_at: float | None = None
        self.is_short = False

    def look(self) -> None:
        """Count, and log what changed."""
        count = self._count()
        now = self._monotonic()
        if count.is_short and (self._said_at is None or now - self._said_at >= _SAID_AGAIN_SECONDS):
            self._said_at = now
            _log.error("descriptors_short", used=count.used, limit=count.limit)
        elif self.is_short and not count.is_short:
            self._said_at = None
            _log.warning("descriptors_enough", used=count.used, limit=count.limit)
        self.is_short = count.is_short

    async def watch(self) -> None:
        """Check, for ever."""
        while True:
            self.look()
            await asyncio.sleep(_EVERY_SECONDS)


def count_descriptors() -> Count:
    """Count this process's descriptors."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    for place in _PLACES:
        try:
            with os.scandir(place) as entries:
                return Count(sum(1 for _ in entries), limit)
        except FileNotFoundError:
            continue
        # Counting needs a descriptor itself; without a free one it fails, so all are in use.
        except OSError:
            return Count(limit, limit)
    return Count(0, limit)


WATCH = Watch(count_descriptors)


def refuse_health() -> None:
    """Refuse to call this process ready while descriptors are short.

    Raises:
        Refused: 503.
    """
    if WATCH.is_short:
        raise Refused(503, "descriptors_short", "this process runs out of descriptors", {"Retry-After": "5"})
