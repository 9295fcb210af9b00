"""The pace of each operation: what the profile says of its limit, and what the target's 429 taught.

A target may limit one operation and not another, so each has a pace of its own beside the run's. It starts at what
the profile gives, and where a call is answered 429 it falls to what the target let through until then.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

_MINUTE: Final = 60.0
# A target may count in steps, and the way to it is not always equally long.
_MARGIN: Final = 1.05
# Seconds between two calls at most: whoever lets fewer through is waited for as its Retry-After says.
_LONGEST_INTERVAL: Final = 5.0
_REMEMBERED: Final = 1200
_LIVE_SEGMENT = re.compile(r"[^/]{16,}|[0-9]+")


@dataclass(slots=True)
class _Operation:
    interval: float = 0.0
    next: float = 0.0
    served: deque[float] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))


class Pacer:
    """The turns of the operations of one target, in the run's own time."""

    def __init__(self, limits: Mapping[str, float] | None = None, now: Callable[[], float] = time.monotonic) -> None:
        """Take what is known of limits: calls a minute by `METHOD /path`."""
        self._limits = dict(limits or {})
        self._now = now
        self._operations: dict[tuple[str, str, str], _Operation] = {}

    def wait(self, method: str, url: str) -> float:
        """Take the next turn of an operation, and return the seconds until it comes."""
        one, now = self._of(method, url), self._now()
        turn = max(now, one.next)
        one.next = turn + one.interval
        return turn - now

    async def turn(self, method: str, url: str) -> None:
        """Wait for the next turn of an operation."""
        seconds = self.wait(method, url)
        if seconds > 0:
            await asyncio.sleep(seconds)

    def served(self, method: str, url: str) -> None:
        """Say that a call of an operation was answered by something else than 429."""
        self._of(method, url).served.append(self._now())

    def throttled(self, method: str, url: str, seconds: float) -> None:
        """Say that a call was answered 429, and that the next may come in so many seconds.

        What was let through within the last minute, over the time from the first of it to the next turn, is the pace
        from now on. It never becomes quicker again.
        """
        one, now = self._of(method, url), self._now()
        one.next = max(one.next, now + seconds)
        recent = [moment for moment in one.served if moment > now - _MINUTE]
        allowed = (now + seconds - recent[0]) / len(recent) if recent else seconds
        one.interval = max(one.interval, min(allowed * _MARGIN, _LONGEST_INTERVAL))

    def learnt(self) -> dict[str, int]:
        """Return the calls a minute of every operation that was slowed, by `METHOD /path`."""
        slowed = {key: one.interval for key, one in self._operations.items() if one.interval > 0}
        found: dict[str, int] = {}
        for (method, _, path), interval in sorted(slowed.items()):
            name, limit = f"{method} {path}", max(1, round(_MINUTE * _MARGIN / interval))
            found[name] = min(limit, found.get(name, limit))
        return found

    def _of(self, method: str, url: str) -> _Operation:
        parts = urlsplit(url)
        # Tokens and numbers in a path are not operations of their own.
        path = "/".join("*" if _LIVE_SEGMENT.fullmatch(one) else one for one in parts.path.split("/"))
        key = (method, parts.netloc, path)
        if key not in self._operations:
            limit = self._limits.get(f"{method} {path}")
            self._operations[key] = _Operation(_MINUTE / limit * _MARGIN if limit else 0.0)
        return self._operations[key]
