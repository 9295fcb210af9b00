"""The order of a run: which checks run side by side, and which wait until nobody is left whom they would disturb.

Ordinary checks come first, in an order of the seed's. Once they are done, what disturbs a chain or a surface runs, one
check a chain and one a surface at a time, and then what moves the clock. Meanwhile the workers go on with what none of
that touches: checks of surfaces behind which no chain is, while chains are disturbed, and to the end those that judge
programs of their own.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from conformance import clock
from conformance.check import Check
from conformance.session import Session

# Their answers come from no chain.
_WITHOUT_CHAIN: Final = frozenset({"agent", "control_plane"})


@dataclass(slots=True)
class _Queue:
    """Checks that run side by side in any order.

    Attributes:
        waiting: Those that did not begin, the next one last.
        done: Set once none is left.
    """

    waiting: list[Check]
    left: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.left = len(self.waiting)
        self._told()

    def ended(self) -> None:
        """Count one as over."""
        self.left -= 1
        self._told()

    def _told(self) -> None:
        if not self.left:
            self.done.set()


class Schedule:
    """Runs the checks of a plan in their order.

    Args:
        checks: What is to run.
        session: What they share.
        workers: Ordinary checks at the same time.
        run: Runs one check to its end.
    """

    def __init__(
        self, checks: Sequence[Check], session: Session, workers: int, run: Callable[[Check], Awaitable[None]]
    ) -> None:
        self._checks, self._session, self._workers, self._run = checks, session, max(1, workers), run
        self._limits_apart = "gateway" in session.profile.limited
        order = random.Random(session.seed)  # noqa: S311 - an order, not a secret
        self._queues = [_Queue(order.sample(one, len(one))) for one in self._ordinary()]

    async def execute(self) -> None:
        """Run every check."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._workers):
                    group.create_task(self._worker())
                group.create_task(self._alone())
        except BaseExceptionGroup as faults:
            first: BaseException = faults
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            raise first from None

    def _ordinary(self) -> Iterable[list[Check]]:
        """Yield the checks that disturb nobody: in general, those that no chain disturbs, and those nothing does."""
        rest = [one for one in self._checks if not one.exclusive or (one.exclusive == "limits" and self._limits_apart)]
        own = [one for one in rest if one.self_contained]
        without_chain = [one for one in rest if one.surface in _WITHOUT_CHAIN and not one.self_contained]
        yield [one for one in rest if one not in own and one not in without_chain]
        yield without_chain
        yield own

    async def _worker(self) -> None:
        for queue in self._queues:
            while queue.waiting:
                try:
                    await self._run(queue.waiting.pop())
                finally:
                    queue.ended()

    async def _alone(self) -> None:
        """Run the checks that disturb others, each kind once nobody is left whom it would disturb."""
        general, without_chain, _ = self._queues
        await general.done.wait()
        async with asyncio.TaskGroup() as group:
            for checks in self._by("chain", lambda one: one.lane):
                group.create_task(self._in_turn(checks))
            await without_chain.done.wait()
            for checks in self._by("surface", lambda one: one.surface):
                group.create_task(self._in_turn(checks))
        if not self._limits_apart:
            await self._in_turn(one for one in self._checks if one.exclusive == "limits")
        await self._moving_the_clock()

    def _by(self, kind: str, what: Callable[[Check], str | None]) -> list[list[Check]]:
        found: dict[str | None, list[Check]] = {}
        for one in self._checks:
            if one.exclusive == kind:
                found.setdefault(what(one), []).append(one)
        return list(found.values())

    async def _in_turn(self, checks: Iterable[Check]) -> None:
        for one in checks:
            await self._run(one)

    async def _moving_the_clock(self) -> None:
        """Run the checks that move the clock, those of a surface side by side.

        First come those of lanes whose block times will stay behind it.
        """
        moving = [one for one in self._checks if one.exclusive is True]
        lanes = {one.lane for one in moving if one.lane is not None}
        behind = {lane for lane in sorted(lanes) if await clock.stays_behind(self._session, lane)}

        def company(one: Check) -> tuple[bool, str]:
            return one.lane not in behind, one.surface

        for _, checks in itertools.groupby(sorted(moving, key=company), company):
            waiting = list(checks)
            async with asyncio.TaskGroup() as group:
                for _ in range(self._workers):
                    group.create_task(self._waiting_together(waiting))

    async def _waiting_together(self, waiting: list[Check]) -> None:
        while waiting:
            with self._session.waiting.taking_part():
                await self._run(waiting.pop(0))
