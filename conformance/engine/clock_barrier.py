"""A barrier for checks that move the target's clock, or restart a service, at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar

# Theory of the barrier
#
# Time is shared: if one check moves the clock by ten minutes, it passes for every check. Each participant is either
# busy or waiting for a moment. The barrier opens only when the busy count is 0, and then for the earliest moment
# only: a participant that waits for a later moment would otherwise miss what happens in between, such as an expiry.
# Participants that were let through are busy again before they run, so the barrier cannot open twice for one moment.
# Restarts use the same barrier with one moment for all: the service restarts once, when no check is in the middle of
# a payment.

# A context variable, since a participant's tasks inherit it: a task that a check starts does not count a second time.
_TAKES_PART: ContextVar[frozenset[int]] = ContextVar("takes part", default=frozenset())


class ClockBarrier:
    """A barrier that opens for the earliest moment when every participant waits.

    Attributes:
        _busy_count: Participants that are doing something, so that time must not pass.
        _turns: Waiting participants, with the moment that each of them waits for.
    """

    def __init__(self) -> None:
        """Begin without participants."""
        self._busy_count = 0
        self._turns: dict[asyncio.Future[None], float] = {}

    @contextmanager
    def take_part(self) -> Iterator[None]:
        """Stop the time while the caller is inside and does not wait."""
        self._busy_count += 1
        token = _TAKES_PART.set(_TAKES_PART.get() | {id(self)})
        try:
            yield
        finally:
            _TAKES_PART.reset(token)
            self._busy_count -= 1
            self._release_earliest()

    @asynccontextmanager
    async def wait_until(self, moment: float) -> AsyncIterator[None]:
        """Wait until all participants wait, and none of them for an earlier moment.

        Participants that wait for the same moment continue together. A caller that does not take part does so while
        it waits and inside the context.
        """
        with nullcontext() if id(self) in _TAKES_PART.get() else self.take_part():
            await self._wait_for_turn(moment)
            yield

    async def _wait_for_turn(self, moment: float) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._turns[turn] = moment
        self._busy_count -= 1
        self._release_earliest()
        try:
            await turn
        finally:
            if self._turns.pop(turn, None) is not None:
                # The waiting participant was cancelled. It is busy with its clean-up until `take_part` ends.
                self._busy_count += 1

    def _release_earliest(self) -> None:
        if self._busy_count or not self._turns:
            return
        earliest = min(self._turns.values())
        for turn in [turn for turn, moment in self._turns.items() if moment <= earliest]:
            del self._turns[turn]
            # Counted here and not when the task runs again: another participant could open the barrier before that.
            self._busy_count += 1
            if not turn.done():
                turn.set_result(None)
