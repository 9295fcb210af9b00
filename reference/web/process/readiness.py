"""Readiness of this process: what must hold before a load balancer sends calls to it.

Liveness says only that the process answers. A process that is alive and not ready is not restarted; it gets no calls.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from reference.web.process.shutdown import SHUTDOWN, Shutdown

ANSWER_SECONDS = 1.0
"""How long a condition may take; then it does not hold."""
_KEPT_SECONDS = 1.0

Condition = Callable[[], Awaitable[object]]


class Readiness:
    """The conditions of one process; each is asked at most once a second, however often probes come."""

    def __init__(self, shutdown: Shutdown = SHUTDOWN, *, seconds: float = ANSWER_SECONDS) -> None:
        """Begin with no condition but that the process is not ending."""
        self._shutdown = shutdown
        self._seconds = seconds
        self._conditions: list[tuple[str, Condition]] = []
        self._asked_at = float("-inf")
        self._fault: str | None = None
        self._asking: asyncio.Task[str | None] | None = None

    @contextmanager
    def require(self, name: str, condition: Condition) -> Iterator[None]:
        """Require a condition until the block is left. It holds if it returns in time without an exception."""
        # A list, because several services of one process may require a condition of the same name.
        entry = name, condition
        self._conditions.append(entry)
        try:
            yield
        finally:
            self._conditions.remove(entry)

    async def find_fault(self) -> str | None:
        """Return the name of a condition that does not hold, `shutting_down`, or None if the process is ready."""
        if self._shutdown.is_draining:
            return "shutting_down"
        if time.monotonic() - self._asked_at < _KEPT_SECONDS:
            return self._fault
        # Probes that come together share one question.
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask())
        return await asyncio.shield(self._asking)

    async def _ask(self) -> str | None:
        fault = None
        for name, condition in list(self._conditions):
            # `wait` and not a time-out: a driver may not stop at once when it is cancelled.
            task = asyncio.ensure_future(condition())
            await asyncio.wait({task}, timeout=self._seconds)
            if not task.done():
                task.cancel()
            if not task.done() or task.cancelled() or task.exception() is not None:
                fault = name
                break
        self._fault, self._asked_at, self._asking = fault, time.monotonic(), None
        return fault


READINESS = Readiness()
"""The readiness of this process."""
