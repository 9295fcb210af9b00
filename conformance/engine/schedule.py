"""The order of a run: which checks run at the same time, and which wait until no running check can be disturbed."""

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
from conformance.ledger.typical_seconds import typical_seconds
from conformance.target import Profile

# Theory of the scheduler
#
# A check that disturbs a chain, a surface or the clock makes every other check of that chain, surface or clock judge a
# target in a state that no client caused. So such a check may only run when no check that it could disturb is running.
# The scheduler has two parts that run at the same time:
#
# 1. Workers take ordinary checks from four queues. The queues are ordered by what can disturb them: queue 0 by a node
#    of the rail, queue 1 by a node of the checkouts, queue 2 by a surface or the clock, queue 3 by nothing, because its
#    checks judge programs that they start themselves. Checks of payers are in a fifth queue, with workers that take
#    no other checks: they wait for the payer most of the time, and call no surface. Nodes of the rail disturb them,
#    unless payers have separate nodes. With these they begin when queue 0 is empty, and fill the phases.
# 2. The disturbing checks go through phases. Each phase begins when the queues that it would disturb are empty:
#    - queue 0 empty: checks that disturb rail nodes at which no checkout is paid;
#    - queue 1 and the limits empty: checks that disturb any other node;
#    - queue 2 empty: checks that disturb a surface, one check for each surface at a time;
#    - then limits, restarts, the clock, and last the checks that disturb a chain and the clock together. On lanes whose
#      block times stay behind the clock, these come before it.
#
# The phases decide how long a run takes, since nothing else may replace them. So a disturbing check takes the place of
# one worker while it runs, and the machine is not slowed down by checks for which no phase is waiting.
#
# The order inside a queue comes from the seed, so that checks which depend on their order are found. The longest checks
# are the exception: they begin first, because a long check that begins last leaves all other workers idle.

# The answers of these surfaces do not depend on a chain.
_CHAINLESS_SURFACES: Final = frozenset({"agent", "control_plane"})
_CLOCK_MOVERS = (Exclusive.CLOCK, Exclusive.CHAIN_AND_CLOCK)
# The payments of these surfaces are checkouts; they can be made at another node than the rail's.
_CHECKOUT_SURFACES: Final = frozenset({"gateway", "webhooks"})
# A check of at least this length begins before the shorter checks of its queue.
_LONG_SECONDS: Final = 3.0
# A check of at least this length, which is also longer than all checks that disturb a chain, begins with the run.
_LONGEST_SECONDS: Final = 10.0
# A check of this length goes to queue 0 although it belongs to queue 1: several phases wait for the end of queue 1.
_FIRST_SECONDS: Final = 5.0
# Checks of payers that run in addition to the workers' checks. One worker means one check at a time.
_PAYER_WORKERS: Final = 2


def name_group(check: Check, profile: Profile) -> str:
    """Return the group of a check: `together`, `alone`, or the chain or surface whose checks run one at a time."""
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
    """Checks that can run at the same time, in any order.

    Attributes:
        pending_checks: The checks that have not begun, the next one last.
        all_done: Set when every check has ended.
    """

    pending_checks: list[Check]
    unfinished_count: int = 0
    all_done: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.unfinished_count = len(self.pending_checks)
        self._finish_if_empty()

    def is_next_longer(self, seconds: float) -> bool:
        """Return whether the next check takes at least so many seconds."""
        return bool(self.pending_checks) and _estimate_seconds(self.pending_checks[-1]) >= seconds

    def count_finished(self) -> None:
        """Count one check as ended."""
        self.unfinished_count -= 1
        self._finish_if_empty()

    def _finish_if_empty(self) -> None:
        if not self.unfinished_count:
            self.all_done.set()


class Schedule:
    """Runs the checks of a plan in their order.

    Args:
        checks: The checks to run.
        session: What the checks share.
        workers: How many ordinary checks run at the same time.
        run_check: Runs one check to its end.
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
        payer_checks = [check for check in checks if check.exclusive is Exclusive.NOTHING and check.surface == "payer"]
        self._payers = _Queue(sorted(seeded_random.sample(payer_checks, len(payer_checks)), key=_estimate_seconds))
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
                for _ in range(min(_PAYER_WORKERS, self._workers - 1)):
                    group.create_task(self._run_payers())
                group.create_task(self._run_disturbing())
                group.create_task(self._run_until_ended(self._limits))
        except BaseExceptionGroup as faults:
            # The caller distinguishes interrupts and faults of the suite, so it gets the first fault and not the
            # nested groups.
            first: BaseException = faults
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            raise first from None

    def _split_ordinary(self) -> Iterable[list[Check]]:
        """Return the checks that disturb nothing as four queues, ordered by what can disturb them."""
        parts: list[list[Check]] = [[], [], [], []]
        for check in self._checks:
            if check.exclusive is Exclusive.NOTHING and check.surface != "payer":
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
        # Workers 1 to 3 begin with the first check of "their" queue if it is longer than the phases that will follow.
        if 0 < number < len(self._queues) and self._queues[number].is_next_longer(self._longest_seconds):
            await self._run_next(self._queues[number])
        general, *others = self._queues
        # Phases wait for payers on the nodes of the rail as they wait for the first queue.
        are_payers_apart = self._session.profile.has_separate_payer_nodes
        queues = [general, *others, self._payers] if are_payers_apart else [general, self._payers, *others]
        for queue in queues:
            while queue.pending_checks:
                async with self._capacity:
                    # Worker 0 never waits: otherwise the phases could wait for queues that no worker empties.
                    await self._capacity.wait_for(lambda: number == 0 or number < self._workers - self._busy_turns)
                # Another worker may have taken the last check while this one waited for its place.
                if queue.pending_checks:
                    await self._run_next(queue)

    async def _run_next(self, queue: _Queue) -> None:
        try:
            await self._run_check(queue.pending_checks.pop())
        finally:
            queue.count_finished()

    async def _run_disturbing(self) -> None:
        """Run the checks that disturb others, each kind after the last check that it would disturb."""
        # The fourth queue is not awaited: nothing that is done to the target reaches its checks.
        general, of_checkouts, without_chain, _ = self._queues
        chains = self._group_by(Exclusive.CHAIN)
        await general.all_done.wait()
        if not self._session.profile.has_separate_payer_nodes:
            await self._payers.all_done.wait()
        async with asyncio.TaskGroup() as group:
            for checks in filter(self._spares_checkouts, chains):
                group.create_task(self._run_in_turn(checks))
            await of_checkouts.all_done.wait()
            # The separate service for limits is a gateway: its payments need the nodes of the checkouts undisturbed.
            await self._limits.all_done.wait()
            for checks in itertools.filterfalse(self._spares_checkouts, chains):
                group.create_task(self._run_in_turn(checks))
            await without_chain.all_done.wait()
            for checks in self._group_by(Exclusive.SURFACE):
                group.create_task(self._run_in_turn(checks))
        if not self._has_separate_limits:
            await self._run_in_turn(check for check in self._checks if check.exclusive is Exclusive.LIMITS)
        # Restarts come before the clock moves, which real nodes do not follow: later payments there would be too old. A
        # later restart would also cut off the deliveries that a check which moves the clock waits for.
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

    async def _run_payers(self) -> None:
        """Run checks of payers, in addition to those of the workers."""
        if self._session.profile.has_separate_payer_nodes:
            # No phase waits for these checks, and most phases leave the processors idle.
            await self._queues[0].all_done.wait()
        await self._run_until_ended(self._payers)

    async def _run_until_ended(self, queue: _Queue) -> None:
        """Run the checks of a queue one after the other, in addition to those of the workers."""
        while queue.pending_checks:
            await self._run_next(queue)

    async def _run_restarts(self) -> None:
        """Run the checks that restart a service at the same time: each service restarts once for all its checks."""
        restart_checks = [check for check in self._checks if check.exclusive is Exclusive.RESTART]
        checkout_checks = [check for check in restart_checks if check.surface in _CHECKOUT_SURFACES]
        async with asyncio.TaskGroup() as group:
            # The gateway sends the webhooks, too: checks of both surfaces meet at the barrier and restart it once.
            group.create_task(self._run_in_turn(check for check in restart_checks if check not in checkout_checks))
            for check in checkout_checks:
                group.create_task(self._run_restart_together(check))

    async def _run_restart_together(self, check: Check) -> None:
        with self._session.restart_barrier.take_part():
            await self._run_in_turn([check])

    def _spares_checkouts(self, checks: Sequence[Check]) -> bool:
        """Return whether these checks disturb a node at which no checkout is paid."""
        return checks[0].lane in self._separate_lanes and checks[0].surface not in _CHECKOUT_SURFACES

    def _group_by(self, kind: Exclusive) -> list[list[Check]]:
        groups: dict[str, list[Check]] = {}
        for check in self._checks:
            if check.exclusive is kind:
                groups.setdefault(name_group(check, self._session.profile), []).append(check)
        return list(groups.values())

    async def _run_in_turn(self, checks: Iterable[Check]) -> None:
        """Run checks one after the other, in the place of one worker."""
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
        """Run the checks that move the clock at the same time, the longest first."""
        clock_checks = [check for check in self._checks if check.exclusive is Exclusive.CLOCK]

        # Lanes whose block times stay behind come first, while their newest block is near the clock. Redeliveries come
        # last: by then earlier moves of the clock have caused them. The check of the whole schedule counts the pauses
        # themselves, so it begins before the clock was moved.
        def place(check: Check) -> tuple[bool, bool]:
            return check.lane not in lagging_lanes, "WH-DELIV-05" in check.rows

        clock_checks.sort(key=lambda check: (place(check), -typical_seconds().get(check.id, 0.0)))
        for _, checks in itertools.groupby(clock_checks, place):
            pending_checks = list(checks)
            async with asyncio.TaskGroup() as group:
                # These checks wait most of the time. Each round ends with its slowest check, so more workers need
                # fewer rounds.
                for _ in range(2 * self._workers):
                    group.create_task(self._run_until_empty(pending_checks))

    async def _run_until_empty(self, pending_checks: list[Check]) -> None:
        # The worker takes part between two checks as well: the time must not move for others while its next check
        # begins.
        with self._session.clock_barrier.take_part():
            while pending_checks:
                await self._run_check(pending_checks.pop(0))


def _sum_seconds(checks: Iterable[Check]) -> float:
    """Return the seconds of checks that run one after the other."""
    return sum(typical_seconds().get(check.id, 0.0) for check in checks)


def _estimate_seconds(check: Check) -> float:
    """Return the usual seconds of a long check; all short checks count as equal, so that the seed orders them."""
    return max(_LONG_SECONDS, typical_seconds().get(check.id, 0.0))
