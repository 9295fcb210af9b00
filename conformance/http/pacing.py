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
_CALLS_REMEMBERED: Final = 1200
_LIVE_SEGMENT = re.compile(r"[^/]{16,}|[0-9]+")


@dataclass(slots=True)
class _Operation:
    interval: float = 0.0
    next_turn: float = 0.0
    answer_times: deque[float] = field(default_factory=lambda: deque(maxlen=_CALLS_REMEMBERED))


class Pacer:
    """The turns of the operations of one target, in the run's own time."""

    def __init__(self, limits: Mapping[str, float] | None = None, now: Callable[[], float] = time.monotonic) -> None:
        """Take what is known of limits: calls a minute by `METHOD /path`."""
        self._limits = dict(limits or {})
        self._now = now
        self._operations: dict[tuple[str, str, str], _Operation] = {}

    def take_turn(self, method: str, url: str) -> float:
        """Take the next turn of an operation, and return the seconds until it comes."""
        operation, now = self._find_operation(method, url), self._now()
        turn = max(now, operation.next_turn)
        operation.next_turn = turn + operation.interval
        return turn - now

    async def wait_for_turn(self, method: str, url: str) -> None:
        """Wait for the next turn of an operation."""
        seconds = self.take_turn(method, url)
        if seconds > 0:
            await asyncio.sleep(seconds)

    def record_answer(self, method: str, url: str) -> None:
        """Say that a call of an operation was answered by something else than 429."""
        self._find_operation(method, url).answer_times.append(self._now())

    def slow_down(self, method: str, url: str, seconds: float) -> None:
        """Say that a call was answered 429, and that the next may come in so many seconds.

        What was let through within the last minute, over the time from the first of it to the next turn, is the pace
        from now on. It never becomes quicker again.
        """
        operation, now = self._find_operation(method, url), self._now()
        operation.next_turn = max(operation.next_turn, now + seconds)
        recent = [moment for moment in operation.answer_times if moment > now - _MINUTE]
        seconds_a_call = (now + seconds - recent[0]) / len(recent) if recent else seconds
        operation.interval = max(operation.interval, min(seconds_a_call * _MARGIN, _LONGEST_INTERVAL))

    def list_limits(self) -> dict[str, int]:
        """Return the calls a minute of every operation that was slowed, by `METHOD /path`."""
        intervals = {key: operation.interval for key, operation in self._operations.items() if operation.interval > 0}
        limits: dict[str, int] = {}
        for (method, _, path), interval in sorted(intervals.items()):
            name, limit = f"{method} {path}", max(1, round(_MINUTE * _MARGIN / interval))
            limits[name] = min(limit, limits.get(name, limit))
        return limits

    def _find_operation(self, method: str, url: str) -> _Operation:
        parts = urlsplit(url)
        # Tokens and numbers in a path are not operations of their own.
        path = "/".join("*" if _LIVE_SEGMENT.fullmatch(one) else one for one in parts.path.split("/"))
        key = (method, parts.netloc, path)
        if key not in self._operations:
            limit = self._limits.get(f"{method} {path}")
            self._operations[key] = _Operation(_MINUTE / limit * _MARGIN if limit else 0.0)
        return self._operations[key]
