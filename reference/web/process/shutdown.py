"""Shutdown of this process: it drains, then waits are cut short, and every call is answered.

At SIGTERM or SIGINT a process first drains: it is not ready any more, serves calls as before, and each answer ends its
connection, so that load balancers and clients with open connections choose another process. Then it takes no new
connections, and waits for a chain or another worker end at once (`pause`, `wake`). A call may still wait for something
else, such as a slow node. `ANSWER_SECONDS` later, which is before the server's own grace period is over, every such
call is interrupted, and the envelope answers it 503 (P-CV-22). Without that the server would cancel it and send a bare
500.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

ANSWER_SECONDS = 2.0
"""How long a call may go on after the signal."""


class CutShort(Exception):
    """The process ends before the call was answered."""


class Shutdown:
    """The waits and calls that a signal to end this process cuts short; the signal is never taken back."""

    def __init__(self, *, answer_seconds: float = ANSWER_SECONDS) -> None:
        """Begin with no signal.

        Args:
            answer_seconds: How long a call may go on after the signal.
        """
        self.is_draining = False
        self.is_signalled = False
        self.is_over = False
        self._answer_seconds = answer_seconds
        self._woken = set[asyncio.Event]()
        self._calls = set[Interruptible]()

    def drain(self) -> None:
        """Begin to drain: answers end their connections from now on."""
        self.is_draining = True

    def begin(self) -> None:
        """Begin the end: wake what waits, and interrupt the calls that are not answered after a while."""
        if self.is_signalled:
            return
        self.is_draining = self.is_signalled = True
        for event in self._woken:
            event.set()
        # Before the server's own grace period ends, which cancels calls and sends a bare 500 (P-CV-22).
        asyncio.get_running_loop().call_later(self._answer_seconds, self._interrupt)

    def _interrupt(self) -> None:
        self.is_over = True
        for call in list(self._calls):
            call.interrupt()

    def add(self, call: Interruptible) -> None:
        """Interrupt a call when the time is over.

        Raises:
            CutShort: The time is over.
        """
        if self.is_over:
            raise CutShort
        self._calls.add(call)

    def forget(self, call: Interruptible) -> None:
        """Do not interrupt a call any more."""
        self._calls.discard(call)

    @contextmanager
    def wake(self, event: asyncio.Event) -> Iterator[None]:
        """Set an event when the signal to end the process arrives."""
        self._woken.add(event)
        try:
            yield
        finally:
            self._woken.discard(event)

    async def pause(self, seconds: float) -> None:
        """Wait for so many seconds, or until the signal to end the process arrives."""
        if self.is_signalled:
            # Still yields once: a loop that only pauses must not block the others during shutdown.
            await asyncio.sleep(0)
            return
        event = asyncio.Event()
        with self.wake(event), suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()


class Interruptible:
    """A block of the current task that raises `CutShort` when it is not left in time after the signal."""

    __slots__ = ("_cancelling", "_is_interrupted", "_shutdown", "_task")

    def __init__(self, shutdown: Shutdown) -> None:
        """Take what interrupts the block; enter it in the task that runs it."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a call is interrupted through its task, and no task is running")
        self._shutdown = shutdown
        self._task = task
        self._cancelling = task.cancelling()
        self._is_interrupted = False

    def interrupt(self) -> None:
        """Interrupt the task where it waits."""
        self._is_interrupted = True
        self._task.cancel()

    def __enter__(self) -> None:
        """Begin.

        Raises:
            CutShort: The time for calls is over.
        """
        self._shutdown.add(self)

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End.

        Raises:
            CutShort: The task was interrupted, by this or, once the process ends, by the server.
        """
        self._shutdown.forget(self)
        if self._is_interrupted:
            self._task.uncancel()
        # At the end of its grace period the server also cancels the task; its client gets an answer, too.
        if kind is asyncio.CancelledError and self._shutdown.is_signalled:
            raise CutShort from fault


SHUTDOWN = Shutdown()
"""The shutdown of this process."""
