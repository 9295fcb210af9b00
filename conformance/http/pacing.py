"""The pace of each operation: the limit of the profile, and what the target's 429 answers show."""

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
# A target may count in steps, and requests take differently long to arrive: 5 % of reserve keep below the limit.
_MARGIN: Final = 1.05
# Seconds between two calls at most. If a target allows fewer, the client waits for each Retry-After.
_LONGEST_INTERVAL: Final = 5.0
_CALLS_REMEMBERED: Final = 1200
_LIVE_SEGMENT = re.compile(r"[^/]{16,}|[0-9]+")


# A target may limit one operation and not another, so each operation has a pace in addition to the run's.
@dataclass(slots=True)
class _Operation:
    interval: float = 0.0
    next_turn: float = 0.0
    answer_times: deque[float] = field(default_factory=lambda: deque(maxlen=_CALLS_REMEMBERED))


class Pacer:
    """The turns of the operations of one target."""

    def __init__(self, limits: Mapping[str, float] | None = None, now: Callable[[], float] = time.monotonic) -> None:
        """Take the known limits: calls a minute by `METHOD /path`."""
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
        """Record that a call of an operation was answered with another status than 429."""
        self._find_operation(method, url).answer_times.append(self._now())

    def slow_down(self, method: str, url: str, seconds: float) -> None:
        """Record that a call was answered 429, and that the next one may come in so many seconds."""
        operation, now = self._find_operation(method, url), self._now()
        operation.next_turn = max(operation.next_turn, now + seconds)
        # The new pace is what the target allowed within the last minute, over the time until the next turn. It never
        # becomes quicker again: probing for more would only provoke further 429 answers, which decide nothing.
        recent = [moment for moment in operation.answer_times if moment > now - _MINUTE]
        seconds_a_call = (now + seconds - recent[0]) / len(recent) if recent else seconds
        operation.interval = max(operation.interval, min(seconds_a_call * _MARGIN, _LONGEST_INTERVAL))

    def limit(self, method: str, url: str, calls_a_minute: float) -> None:
        """Record how many calls a minute of an operation are accepted."""
        operation = self._find_operation(method, url)
        operation.interval = max(operation.interval, _MINUTE / calls_a_minute * _MARGIN)

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
        # Tokens and numbers in a path do not make another operation.
        path = "/".join("*" if _LIVE_SEGMENT.fullmatch(one) else one for one in parts.path.split("/"))
        key = (method, parts.netloc, path)
        if key not in self._operations:
            limit = self._limits.get(f"{method} {path}")
            self._operations[key] = _Operation(_MINUTE / limit * _MARGIN if limit else 0.0)
        return self._operations[key]
