"""The order of a run: which checks run side by side, and which wait until nobody is left whom they would disturb.

Ordinary checks come first, in an order of the seed's but for the longest, which begin before all others. Once they are
done, what disturbs a chain or a surface runs, one check a chain node and one a surface at a time, then what starts a
service again, and then what moves the clock. Meanwhile the workers go on with what none
of that touches: checks of checkouts, while nodes of the rail are disturbed at which no checkout is paid; checks of
surfaces behind which no chain is, while chains are disturbed; and to the end those that judge programs of their own.
They are fewer meanwhile: what can only run one after the other is what everybody waits for in the end. Where that is
not much, the longest of these begin with the first. Last comes what disturbs a chain while it moves the clock, by
itself.

Limits that a service of its own has are tried one after the other from the beginning, beside all the rest.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from conformance.engine import clock
from conformance.engine.check import Check
from conformance.engine.exclusive import Exclusive
from conformance.engine.session import Session
from conformance.ledger.typical import typical_seconds
from conformance.target import Profile

# Their answers come from no chain.
_WITHOUT_CHAIN: Final = frozenset({"agent", "control_plane"})
# Their payments are those of checkouts.
_MOVING_THE_CLOCK = (Exclusive.CLOCK, Exclusive.CHAIN_AND_CLOCK)
_OF_CHECKOUTS: Final = frozenset({"gateway", "webhooks"})
# What takes so many seconds elsewhere begins before the rest of its kind, so that nobody has to wait for it in the end,
# and what takes so many, and longer than what disturbs a chain, as if it were of every kind.
_LONG_SECONDS: Final = 3.0
_LONGEST_SECONDS: Final = 10.0
# What takes so many seconds of those that could come second begins with the first: many wait for the last of them.
_FIRST_SECONDS: Final = 5.0


def company(one: Check, profile: Profile) -> str:
    """Return with what a check runs.

    It is `together`, what it runs one after the other with (`chain …` or `surface …`), or `alone`.
    """
    if one.exclusive is Exclusive.NOTHING or (one.exclusive is Exclusive.LIMITS and "gateway" in profile.limited):
        return "together"
    if one.exclusive is Exclusive.CHAIN:
        apart = one.lane is not None and one.surface in _OF_CHECKOUTS and profile.checkout_node_apart(one.lane)
        return f"chain {one.lane or ''}{' of checkouts' if apart else ''}"
    return f"surface {one.surface}" if one.exclusive is Exclusive.SURFACE else "alone"


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
        self._finish_if_empty()

    def has_one_of(self, seconds: float) -> bool:
        """Return whether the next check takes so many seconds."""
        return bool(self.waiting) and _length(self.waiting[-1]) >= seconds

    def ended(self) -> None:
        """Count one as over."""
        self.left -= 1
        self._finish_if_empty()

    def _finish_if_empty(self) -> None:
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
        self._lanes_apart = frozenset(filter(session.profile.checkout_node_apart, session.profile.claims.lanes))
        order = random.Random(session.seed)  # noqa: S311 - an order, not a secret
        self._queues = [_Queue(sorted(order.sample(one, len(one)), key=_length)) for one in self._ordinary()]
        limits = (one for one in reversed(checks) if one.exclusive is Exclusive.LIMITS)
        self._limits = _Queue([*limits] if self._limits_apart else [])
        disturbing = [checks for checks in self._by(Exclusive.CHAIN) if session.profile.controls(checks[0].lane or "")]
        self._longest = max([_LONGEST_SECONDS, *map(_seconds, disturbing)])
        self._in_turns = 0
        self._room = asyncio.Condition()

    async def execute(self) -> None:
        """Run every check."""
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self._workers):
                    group.create_task(self._worker(number))
                group.create_task(self._alone())
                group.create_task(self._limits_beside())
        except BaseExceptionGroup as faults:
            first: BaseException = faults
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            raise first from None

    def _ordinary(self) -> Iterable[list[Check]]:
        """Yield the checks that disturb nobody, in four parts.

        Nodes of the rail alone disturb the first only, the nodes of checkouts the second as well, no chain the third,
        and nothing the fourth.
        """
        parts: list[list[Check]] = [[], [], [], []]
        for one in self._checks:
            if one.exclusive is Exclusive.NOTHING:
                parts[self._part(one)].append(one)
        return parts

    def _part(self, one: Check) -> int:
        if one.self_contained:
            return 3
        if one.surface in _WITHOUT_CHAIN:
            return 2
        at_other_nodes = bool(self._lanes_apart) and one.surface in _OF_CHECKOUTS and not one.pays_rail
        return int(at_other_nodes and _length(one) < _FIRST_SECONDS)

    async def _worker(self, number: int) -> None:
        if 0 < number < len(self._queues) and self._queues[number].has_one_of(self._longest):
            await self._next(self._queues[number])
        for queue in self._queues:
            while queue.waiting:
                async with self._room:
                    await self._room.wait_for(lambda: number == 0 or number < self._workers - self._in_turns)
                if queue.waiting:
                    await self._next(queue)

    async def _next(self, queue: _Queue) -> None:
        try:
            await self._run(queue.waiting.pop())
        finally:
            queue.ended()

    async def _alone(self) -> None:
        """Run the checks that disturb others, each kind once nobody is left whom it would disturb."""
        general, of_checkouts, without_chain, _ = self._queues
        chains = self._by(Exclusive.CHAIN)
        await general.done.wait()
        async with asyncio.TaskGroup() as group:
            for checks in filter(self._of_the_rail_alone, chains):
                group.create_task(self._in_turn(checks))
            await of_checkouts.done.wait()
            await self._limits.done.wait()
            for checks in itertools.filterfalse(self._of_the_rail_alone, chains):
                group.create_task(self._in_turn(checks))
            await without_chain.done.wait()
            for checks in self._by(Exclusive.SURFACE):
                group.create_task(self._in_turn(checks))
        if not self._limits_apart:
            await self._in_turn(one for one in self._checks if one.exclusive is Exclusive.LIMITS)
        await self._starting_again()
        # After the clock has moved, a payment on a lane whose block times stay behind would be too old.
        behind = await self._staying_behind()
        await self._in_turn(
            one for one in self._checks if one.exclusive is Exclusive.CHAIN_AND_CLOCK and one.lane in behind
        )
        await self._moving_the_clock(behind)
        await self._in_turn(
            one for one in self._checks if one.exclusive is Exclusive.CHAIN_AND_CLOCK and one.lane not in behind
        )

    async def _limits_beside(self) -> None:
        """Try the limits of a service of its own: each check of them has it for itself, and nobody else is limited."""
        while self._limits.waiting:
            await self._next(self._limits)

    async def _starting_again(self) -> None:
        """Run the checks that start a service again, all side by side: each service is started once for all of its own.

        A further restart would cut off the deliveries that a check which moves the clock waits for.
        """
        again = [one for one in self._checks if one.exclusive is Exclusive.RESTART]
        gateways = [one for one in again if one.surface in _OF_CHECKOUTS]
        async with asyncio.TaskGroup() as group:
            group.create_task(self._in_turn(one for one in again if one not in gateways))
            for one in gateways:
                group.create_task(self._meeting_others(one))

    async def _meeting_others(self, one: Check) -> None:
        with self._session.restarting.taking_part():
            await self._in_turn([one])

    def _of_the_rail_alone(self, disturbing: Sequence[Check]) -> bool:
        """Return whether no checkout is paid at the node that these disturb."""
        return disturbing[0].lane in self._lanes_apart and disturbing[0].surface not in _OF_CHECKOUTS

    def _by(self, kind: Exclusive) -> list[list[Check]]:
        found: dict[str, list[Check]] = {}
        for one in self._checks:
            if one.exclusive is kind:
                found.setdefault(company(one, self._session.profile), []).append(one)
        return list(found.values())

    async def _in_turn(self, checks: Iterable[Check]) -> None:
        """Run checks one after the other, in the place of a worker but the last."""
        self._in_turns += 1
        try:
            for one in checks:
                await self._run(one)
        finally:
            self._in_turns -= 1
            async with self._room:
                self._room.notify_all()

    async def _staying_behind(self) -> frozenset[str]:
        """Return the lanes whose block times stay behind the clock."""
        lanes = {one.lane for one in self._checks if one.exclusive in _MOVING_THE_CLOCK and one.lane is not None}
        return frozenset([lane for lane in sorted(lanes) if await clock.stays_behind(self._session, lane)])

    async def _moving_the_clock(self, behind: frozenset[str]) -> None:
        """Run the checks that move the clock side by side, the longest first.

        Those of lanes whose block times will stay behind it come before the others. Events come after them: what is
        delivered again was so by then, and nobody waits for it.
        """
        moving = [one for one in self._checks if one.exclusive is Exclusive.CLOCK]

        def place(one: Check) -> tuple[bool, bool]:
            return one.lane not in behind, one.surface == "webhooks"

        moving.sort(key=lambda one: (place(one), -typical_seconds().get(one.id, 0.0)))
        for _, checks in itertools.groupby(moving, place):
            waiting = list(checks)
            async with asyncio.TaskGroup() as group:
                # They wait most of the time, and each round of theirs takes as long as the slowest.
                for _ in range(2 * self._workers):
                    group.create_task(self._waiting_together(waiting))

    async def _waiting_together(self, waiting: list[Check]) -> None:
        # From one check to the next, too: the time must not move for others while the next one begins.
        with self._session.waiting.taking_part():
            while waiting:
                await self._run(waiting.pop(0))


def _seconds(checks: Iterable[Check]) -> float:
    """Return what checks take that run one after the other."""
    return sum(typical_seconds().get(one.id, 0.0) for one in checks)


def _length(one: Check) -> float:
    """Return the seconds that tell long checks from each other; short ones are all alike."""
    return max(_LONG_SECONDS, typical_seconds().get(one.id, 0.0))
