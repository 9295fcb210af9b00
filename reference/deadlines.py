"""Deadlines of equal length that share one timer; a timer for each costs four times as much.

All deadlines of a `Deadlines` have the same length, so they end in the order in which they started. So one timer, set
for the oldest that is left, is enough.
"""

from __future__ import annotations

import asyncio
from types import TracebackType


class Deadlines:
    """Gives each caller the same number of seconds, by monotonic time."""

    def __init__(self, seconds: float) -> None:
        """Take the number of seconds."""
        self._seconds = seconds
        self._open: dict[Deadline, None] = {}  # in the order of their ends
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> Deadline:
        """Return a deadline that runs from now on; enter it at once, in the task that it is to end."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a deadline ends a task, and no task is running")
        loop = task.get_loop()
        deadline = Deadline(self, task, loop.time() + self._seconds)
        self._open[deadline] = None
        if self._timer is None:
            self._timer = loop.call_at(deadline.ends, self._look, loop)
        return deadline

    def forget(self, deadline: Deadline) -> None:
        """Let a deadline be; one that has passed is left as it is."""
        self._open.pop(deadline, None)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """End whose time is over, and wait for the next one."""
        self._timer = None
        while self._open:
            oldest = next(iter(self._open))
            if oldest.ends > loop.time():
                self._timer = loop.call_at(oldest.ends, self._look, loop)
                return
            del self._open[oldest]
            oldest.interrupt()


class Deadline:
    """A block that its task leaves with `TimeoutError` when its time is over."""

    __slots__ = ("_cancelling", "_deadlines", "_is_over", "_task", "ends")

    def __init__(self, deadlines: Deadlines, task: asyncio.Task[object], ends: float) -> None:
        self._deadlines = deadlines
        self._task = task
        self._cancelling = task.cancelling()
        self._is_over = False
        self.ends = ends

    def interrupt(self) -> None:
        """Interrupt the task where it waits."""
        self._is_over = True
        self._task.cancel()

    def __enter__(self) -> None:
        """Begin; the time has been running since the deadline was made."""

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End.

        Raises:
            TimeoutError: The time was over. A cancellation by other code is passed on instead.
        """
        self._deadlines.forget(self)
        # asyncio counts cancellations. Only if none but this one is left was the time-out the reason (as in
        # asyncio.timeout).
        if self._is_over and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from fault
