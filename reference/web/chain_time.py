"""Chains as witnesses of the time: their newest blocks confirm the clock at a start and while it is in doubt.

A block is not younger than now, and a chain that works makes a new block every few seconds. So a newest block of about
the wall's time confirms the wall. A newest block of another time contradicts it if the chain makes further blocks while
it is watched; a chain that makes none gives no evidence. Without evidence, a wall that keeps pace with the monotonic
clock for long enough is believed.

The last known time is stored in the database. A service that has records and was down for longer than a restart takes
lets nothing expire before its time is believed, because "too old" could be an error of the wall (decision 0043).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum, auto
from typing import Protocol

from reference.web.clock import STEADY_SECONDS, WpClock, boot_time

# Half of the age by which a payment may precede its challenge (60 s): with a wall confirmed like this, payments are in
# time.
AGREES_SECONDS = 30
# A restart takes less than this. After a longer time the wall must be confirmed.
AWAY_SECONDS = 120
# On each supported network, a chain that makes no block in this time has stopped.
STILL_SECONDS = 10.0
_KEEP_SECONDS = 10.0
MARK = "clock"


class TimeMarks(Protocol):
    """Storage of the time over restarts."""

    async def get(self, name: str) -> str | None:
        """Return a mark."""

    async def replace(self, name: str, value: str) -> None:
        """Keep a mark."""


# Returns position and unix seconds of a chain's newest block, None if they are unknown.
Newest = Callable[[], Awaitable[tuple[int, int] | None]]


class Evidence(Enum):
    """Evidence of chains about the wall; an earlier member outweighs the later ones."""

    RIGHT = auto()
    WRONG = auto()
    NOT_YET = auto()
    NOTHING = auto()


class ChainTime:
    """Asks the chains of a service while its clock is not believed."""

    def __init__(
        self,
        clock: WpClock,
        chains: Callable[[], Mapping[str, Newest]],
        marks: TimeMarks,
        *,
        strict: bool = False,
        monotonic: Callable[[], float] = boot_time,
    ) -> None:
        """Take the witnesses.

        Args:
            clock: The clock that they confirm.
            chains: Returns the readers of newest blocks, by network.
            marks: Storage of the time.
            strict: Whether to wait without end for chains that give no evidence, if there are any.
            monotonic: Clock for the interval in which the time is stored.
        """
        self._clock = clock
        self._chains = chains
        self._marks = marks
        self._strict = strict
        self._monotonic = monotonic
        self._first: dict[str, tuple[int, float]] = {}
        self._patience = STILL_SECONDS
        self._own_time = False
        self._kept_at: float | None = None
        clock.require_witnesses()

    async def begin(self) -> None:
        """Decide, before the service starts, whether its wall can be believed.

        Raises:
            DatabaseUnavailable: The last stored time cannot be read.
        """
        last_time = await self._marks.get(MARK)
        away = 0 if last_time is None else self._clock.wall()[0] - int(last_time)
        evidence = await self._ask()
        if evidence is Evidence.RIGHT:
            return
        # A service with records was away for long: too old could be an error of the wall, so nothing expires until it
        # is confirmed.
        if abs(away) > AWAY_SECONDS:
            self._patience = STEADY_SECONDS
            reason = (
                "the machine's clock is at {:+.0f} s of when the service was last running, and no chain confirms that"
            )
            self._clock.question(reason.format(away))
        # Nothing is stored that could expire, but a chain contradicts the wall: quotes of a wrong time could not be
        # paid.
        elif self._first:
            self._own_time = not self._strict
            self._clock.question("no chain's newest block is of about the time of the machine's clock")

    async def tend(self) -> None:
        """Ask the chains while the clock is in doubt; if it is not, store the time.

        Raises:
            DatabaseUnavailable: It cannot be stored.
        """
        if self._clock.doubt is None:
            self._first.clear()
            self._patience, self._own_time = STEADY_SECONDS, False
            await self._keep()
            return
        evidence = await self._ask()
        if evidence is Evidence.RIGHT or self._clock.steady_for >= self._patience_with(evidence):
            self._clock.confirm()

    def _patience_with(self, evidence: Evidence) -> float:
        """Return for how long the wall must be steady. A chain for tests may have a time of its own at a start."""
        if evidence is Evidence.NOT_YET:
            return math.inf
        if evidence is Evidence.WRONG:
            return STEADY_SECONDS if self._own_time else math.inf
        return math.inf if self._strict and self._chains() else self._patience

    async def _ask(self) -> Evidence:
        """Ask every chain for its newest block; one that confirms the wall outweighs others, which may lag behind.

        A chain that was asked only once cannot be said to have stopped, however long ago the doubt began.
        """
        answers = set(await asyncio.gather(*(self._ask_one(key, ask) for key, ask in self._chains().items())))
        return next((one for one in Evidence if one in answers), Evidence.NOTHING)

    async def _ask_one(self, key: str, ask: Newest) -> Evidence:
        """Compare the wall with a chain's newest block when the answer arrives; a slow answer is outdated."""
        asked_at = self._monotonic()
        newest = await ask()
        # A slow answer describes an old moment, which says nothing about the wall of now.
        if newest is None or self._monotonic() - asked_at > STILL_SECONDS:
            return Evidence.NOTHING
        position, at = newest
        if any(abs(wall - at) <= AGREES_SECONDS for wall in self._clock.wall()):
            return Evidence.RIGHT
        # The first reading of this doubt: only a chain that moves on from it can contradict the wall.
        first, seen_at = self._first.setdefault(key, (position, asked_at))
        if position > first:
            return Evidence.WRONG
        return Evidence.NOTHING if self._monotonic() - seen_at >= STILL_SECONDS else Evidence.NOT_YET

    async def _keep(self) -> None:
        now = self._monotonic()
        if self._kept_at is None or now - self._kept_at >= _KEEP_SECONDS:
            await self._marks.replace(MARK, str(int(self._clock.wall()[0])))
            self._kept_at = now
