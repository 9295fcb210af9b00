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
_CHAINLESS_SURFACES: Final = frozenset({"agent", "control_plane"})
# Their payments are those of checkouts.
_CLOCK_MOVERS = (Exclusive.CLOCK, Exclusive.CHAIN_AND_CLOCK)
_CHECKOUT_SURFACES: Final = frozenset({"gateway", "webhooks"})
# What takes so many seconds elsewhere begins before the rest of its kind, so that nobody has to wait for it in the end,
# and what takes so many, and longer than what disturbs a chain, as if it were of every kind.
_LONG_SECONDS: Final = 3.0
_LONGEST_SECONDS: Final = 10.0
# What takes so many seconds of those that could come second begins with the first: many wait for the last of them.
_FIRST_SECONDS: Final = 5.0


def name_group(check: Check, profile: Profile) -> str:
    """Return with what a check runs.

    It is `together`, what it runs one after the other with (`chain …` or `surface …`), or `alone`.
    """
    if check.exclusive is Exclusive.NOTHING or (check.exclusive is Exclusive.LIMITS and "gateway" in profile.limited):
        return "together"
    if check.exclusive is Exclusive.CHAIN:
        has_own_node = (
            check.lane is not None and check.surface in _CHECKOUT_SURFACES and profile.checkout_node_apart(check.lane)
        )
        return f"chain {check.lane or ''}{' of checkouts' if has_own_node else ''}"
    return f"surface {check.surface}" if check.exclusive is Exclusive.SURFACE else "alone"


@dataclass(slots=True)
class _Queue:
    """Checks that run side by side in any order.

    Attributes:
        waiting: Those that did not begin, the next one last.
        done: Set once none is left.
    """

    pending_checks: list[Check]
    unfinished_count: int = 0
    all_done: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.unfinished_count = len(self.pending_checks)
        self._finish_if_empty()

    def is_next_longer(self, seconds: float) -> bool:
        """Return whether the next check takes so many seconds."""
        return bool(self.pending_checks) and _estimate_seconds(self.pending_checks[-1]) >= seconds

    def count_finished(self) -> None:
        """Count one as over."""
        self.unfinished_count -= 1
        self._finish_if_empty()

    def _finish_if_empty(self) -> None:
        if not self.unfinished_count:
            self.all_done.set()


class Schedule:
    """Runs the checks of a plan in their order.

    Args:
        checks: What is to run.
        session: What they share.
        workers: Ordinary checks at the same time.
        run: Runs one check to its end.
    """

    def __init__(
        self, checks: Sequence[Check], session: Session, workers: int, run_check: Callable[[Check], Awaitable[None]]
    ) -> None:
        self._checks, self._session, self._workers, self._run_check = checks, session, max(1, workers), run_check
        self._has_separate_limits = "gateway" in session.profile.limited
        self._separate_lanes = frozenset(filter(session.profile.checkout_node_apart, session.profile.claims.lanes))
        seeded_random = random.Random(session.seed)  # noqa: S311 - an order, not a secret
        self._queues = [
            _Queue(sorted(seeded_random.sample(check, len(check)), key=_estimate_seconds))
            for check in self._split_ordinary()
        ]
        limits = (check for check in reversed(checks) if check.exclusive is Exclusive.LIMITS)
        self._limits = _Queue([*limits] if self._has_separate_limits else [])
        chain_groups = [
            checks for checks in self._group_by(Exclusive.CHAIN) if session.profile.controls(checks[0].lane or "")
        ]
        self._longest_seconds = max([_LONGEST_SECONDS, *map(_sum_seconds, chain_groups)])
        self._busy_turns = 0
        self._capacity = asyncio.Condition()

    async def execute(self) -> None:
        """Run every check."""
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self._workers):
                    group.create_task(self._work(number))
                group.create_task(self._run_disturbing())
                group.create_task(self._run_separate_limits())
        except BaseExceptionGroup as faults:
            first: BaseException = faults
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            raise first from None

    def _split_ordinary(self) -> Iterable[list[Check]]:
        """Yield the checks that disturb nobody, in four parts.

        Nodes of the rail alone disturb the first only, the nodes of checkouts the second as well, no chain the third,
        and nothing the fourth.
        """
        parts: list[list[Check]] = [[], [], [], []]
        for check in self._checks:
            if check.exclusive is Exclusive.NOTHING:
                parts[self._choose_part(check)].append(check)
        return parts

    def _choose_part(self, check: Check) -> int:
        if check.self_contained:
            return 3
        if check.surface in _CHAINLESS_SURFACES:
            return 2
        at_other_nodes = bool(self._separate_lanes) and check.surface in _CHECKOUT_SURFACES and not check.pays_rail
        return int(at_other_nodes and _estimate_seconds(check) < _FIRST_SECONDS)

    async def _work(self, number: int) -> None:
        if 0 < number < len(self._queues) and self._queues[number].is_next_longer(self._longest_seconds):
            await self._run_next(self._queues[number])
        for queue in self._queues:
            while queue.pending_checks:
                async with self._capacity:
                    await self._capacity.wait_for(lambda: number == 0 or number < self._workers - self._busy_turns)
                if queue.pending_checks:
                    await self._run_next(queue)

    async def _run_next(self, queue: _Queue) -> None:
        try:
            await self._run_check(queue.pending_checks.pop())
        finally:
            queue.count_finished()

    async def _run_disturbing(self) -> None:
        """Run the checks that disturb others, each kind once nobody is left whom it would disturb."""
        general, of_checkouts, without_chain, _ = self._queues
        chains = self._group_by(Exclusive.CHAIN)
        await general.all_done.wait()
        async with asyncio.TaskGroup() as group:
            for checks in filter(self._spares_checkouts, chains):
                group.create_task(self._run_in_turn(checks))
            await of_checkouts.all_done.wait()
            await self._limits.all_done.wait()
            for checks in itertools.filterfalse(self._spares_checkouts, chains):
                group.create_task(self._run_in_turn(checks))
            await without_chain.all_done.wait()
            for checks in self._group_by(Exclusive.SURFACE):
                group.create_task(self._run_in_turn(checks))
        if not self._has_separate_limits:
            await self._run_in_turn(check for check in self._checks if check.exclusive is Exclusive.LIMITS)
        await self._run_restarts()
        # After the clock has moved, a payment on a lane whose block times stay behind would be too old.
        lagging_lanes = await self._find_lagging_lanes()
        await self._run_in_turn(
            check
            for check in self._checks
            if check.exclusive is Exclusive.CHAIN_AND_CLOCK and check.lane in lagging_lanes
        )
        await self._run_clock_movers(lagging_lanes)
        await self._run_in_turn(
            check
            for check in self._checks
            if check.exclusive is Exclusive.CHAIN_AND_CLOCK and check.lane not in lagging_lanes
        )

    async def _run_separate_limits(self) -> None:
        """Try the limits of a service of its own: each check of them has it for itself, and nobody else is limited."""
        while self._limits.pending_checks:
            await self._run_next(self._limits)

    async def _run_restarts(self) -> None:
        """Run the checks that start a service again, all side by side: each service is started once for all of its own.

        A further restart would cut off the deliveries that a check which moves the clock waits for.
        """
        restart_checks = [check for check in self._checks if check.exclusive is Exclusive.RESTART]
        checkout_checks = [check for check in restart_checks if check.surface in _CHECKOUT_SURFACES]
        async with asyncio.TaskGroup() as group:
            group.create_task(self._run_in_turn(check for check in restart_checks if check not in checkout_checks))
            for check in checkout_checks:
                group.create_task(self._run_restart_together(check))

    async def _run_restart_together(self, check: Check) -> None:
        with self._session.restart_barrier.take_part():
            await self._run_in_turn([check])

    def _spares_checkouts(self, checks: Sequence[Check]) -> bool:
        """Return whether no checkout is paid at the node that these disturb."""
        return checks[0].lane in self._separate_lanes and checks[0].surface not in _CHECKOUT_SURFACES

    def _group_by(self, kind: Exclusive) -> list[list[Check]]:
        groups: dict[str, list[Check]] = {}
        for check in self._checks:
            if check.exclusive is kind:
                groups.setdefault(name_group(check, self._session.profile), []).append(check)
        return list(groups.values())

    async def _run_in_turn(self, checks: Iterable[Check]) -> None:
        """Run checks one after the other, in the place of a worker but the last."""
        self._busy_turns += 1
        try:
            for check in checks:
                await self._run_check(check)
        finally:
            self._busy_turns -= 1
            async with self._capacity:
                self._capacity.notify_all()

    async def _find_lagging_lanes(self) -> frozenset[str]:
        """Return the lanes whose block times stay behind the clock."""
        lanes = {check.lane for check in self._checks if check.exclusive in _CLOCK_MOVERS and check.lane is not None}
        return frozenset([lane for lane in sorted(lanes) if await clock.stays_behind(self._session, lane)])

    async def _run_clock_movers(self, lagging_lanes: frozenset[str]) -> None:
        """Run the checks that move the clock side by side, the longest first.

        Those of lanes whose block times will stay behind it come before the others. Events come after them: what is
        delivered again was so by then, and nobody waits for it.
        """
        clock_checks = [check for check in self._checks if check.exclusive is Exclusive.CLOCK]

        def place(check: Check) -> tuple[bool, bool]:
            return check.lane not in lagging_lanes, check.surface == "webhooks"

        clock_checks.sort(key=lambda check: (place(check), -typical_seconds().get(check.id, 0.0)))
        for _, checks in itertools.groupby(clock_checks, place):
            pending_checks = list(checks)
            async with asyncio.TaskGroup() as group:
                # They wait most of the time, and each round of theirs takes as long as the slowest.
                for _ in range(2 * self._workers):
                    group.create_task(self._run_until_empty(pending_checks))

    async def _run_until_empty(self, pending_checks: list[Check]) -> None:
        # From one check to the next, too: the time must not move for others while the next one begins.
        with self._session.clock_barrier.take_part():
            while pending_checks:
                await self._run_check(pending_checks.pop(0))


def _sum_seconds(checks: Iterable[Check]) -> float:
    """Return what checks take that run one after the other."""
    return sum(typical_seconds().get(check.id, 0.0) for check in checks)


def _estimate_seconds(check: Check) -> float:
    """Return the seconds that tell long checks from each other; short ones are all alike."""
    return max(_LONG_SECONDS, typical_seconds().get(check.id, 0.0))
