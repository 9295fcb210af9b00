"""Where checks meet that let the target's time pass side by side, or have a service started again.

Time passes once for all who wait for it, and a service is started again once, when nobody is in the middle.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar

_TAKES_PART: ContextVar[frozenset[int]] = ContextVar("takes part", default=frozenset())


class ClockBarrier:
    """The checks that take part, and the time that each of them waits for."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._busy_count = 0
        self._turns: dict[asyncio.Future[None], float] = {}

    @contextmanager
    def take_part(self) -> Iterator[None]:
        """Hold up the time while the caller is inside and waits for none."""
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
        """Wait until everybody who takes part is waiting as well, and nobody for an earlier moment.

        Who waits for the same one goes on at the same time. Who waits without taking part does so meanwhile.
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
                self._busy_count += 1  # it broke off before its turn

    def _release_earliest(self) -> None:
        if self._busy_count or not self._turns:
            return
        earliest = min(self._turns.values())
        for turn in [turn for turn, moment in self._turns.items() if moment <= earliest]:
            del self._turns[turn]
            self._busy_count += 1
            if not turn.done():
                turn.set_result(None)
