"""Contenders measured in turn, round by round, by the CPU time of the process.

Another process on the machine slows the contender that runs at that moment. So every contender of a job runs in every
round, CPU time is counted instead of the clock's, and the report contains the ratio inside a round: its median over the
rounds, with the quartiles as its spread.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Role: TypeAlias = Literal["ours", "floor", "peer"]
Report: TypeAlias = dict[str, Any]

_FIRST_COUNT = 1
# 16 times some 450 bytes go once around a page of 4096, and most of the way around it again.
_DEPTHS = 16
MICRO = 1_000_000


async def _numbers(count: int) -> range:
    return range(count)


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to do a job.

    Attributes:
        name: Its name in tables.
        role: `ours`; `floor`: the least that any way costs; `peer`: another way to do all of it.
        run: Does the job once for each thing that `prepare` gave; raises when it was not done right.
        prepare: Makes what so many jobs need, which is not measured; numbers by default.
    """

    name: str
    role: Role
    run: Callable[[Any], Awaitable[None]]
    prepare: Callable[[int], Awaitable[Any]] = _numbers


def repeat_job(job: Callable[[], object]) -> Callable[[Any], Awaitable[None]]:
    """Return the `run` of a job that is a plain call."""

    def work(part: Sequence[object]) -> None:
        for _ in part:
            job()

    return at_each_depth(work)


def at_each_depth(work: Callable[[Any], None]) -> Callable[[Any], Awaitable[None]]:
    """Return the `run` that does a part of the work at each of 16 depths of the stack.

    Where the stack begins is drawn for each process. At one in eight to one in four of its places within a page, as
    measured, dalek's check of a signature costs a tenth more, others' checks do not: a process would be slow or fast
    for its whole life, by luck.
    """

    async def run(parts: Sequence[object]) -> None:
        for depth in range(_DEPTHS):
            part = parts[depth::_DEPTHS]
            if part:
                _deeper(depth, work, part)

    return run


def _deeper(levels: int, work: Callable[[Any], None], part: Sequence[object]) -> None:
    """Do work with the stack some levels further down: `map` is C, so that each is a frame of C, of some 450 bytes."""
    if levels:
        next(map(_deeper, (levels - 1,), (work,), (part,)))
    else:
        work(part)


@dataclass(slots=True)
class Measured:
    """A contender with what its rounds cost.

    Attributes:
        contender: Who.
        count: Jobs a round.
        rounds: CPU microseconds a job, by round.
    """

    contender: Contender
    count: int = _FIRST_COUNT
    rounds: list[float] = field(default_factory=list)

    async def calibrate(self, seconds: float) -> None:
        """Find how many jobs fill a round; what this runs warms up and is thrown away.

        The cheapest of three rounds counts. A first call may wait for what an app does when it starts, and rounds of
        two or three calls, set by that one, make each call three times as dear.
        """
        while True:
            round_seconds = min([await self._round() for _ in range(3)]) * self.count / MICRO
            if round_seconds >= seconds / 4:
                self.count = max(1, round(self.count * seconds / round_seconds))
                return
            self.count *= 4

    async def measure(self) -> None:
        """Add a round."""
        self.rounds.append(await self._round())

    async def _round(self) -> float:
        parts = await self.contender.prepare(self.count)
        gc.collect()  # what others left behind is not this one's
        before = time.process_time()
        await self.contender.run(parts)
        return (time.process_time() - before) / self.count * MICRO


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as fast as another: the median of the rounds, and its quartiles."""

    median: float
    low: float
    high: float


def ratio(ours: Sequence[float], peer: Sequence[float]) -> Ratio:
    """Return how many times as fast we are as another contender, from costs of the same rounds.

    Raises:
        ValueError: There is no round, or not the same number of both.
    """
    quotients = sorted(theirs / mine for mine, theirs in zip(ours, peer, strict=True))
    if not quotients:
        raise ValueError("nothing was measured")
    if len(quotients) == 1:
        return Ratio(quotients[0], quotients[0], quotients[0])
    low, median, high = statistics.quantiles(quotients, n=4, method="inclusive")
    return Ratio(median, low, high)


@contextmanager
def _collecting_as_served() -> Iterator[None]:
    """Exclude existing objects from garbage collection, as a running service does, so that no contender pays for it."""
    # What the caller has excluded stays excluded. A test process excludes everything that it imported, and each later
    # collection would read all of it.
    were_frozen = gc.get_freeze_count() > 0
    gc.freeze()
    try:
        yield
    finally:
        if not were_frozen:
            gc.unfreeze()


async def measure(job: str, contenders: Sequence[Contender], *, rounds: int, seconds: float) -> Report:
    """Measure the contenders of one job in turn.

    Args:
        job: Its name.
        contenders: Ours first.
        rounds: How many rounds count.
        seconds: CPU seconds that each contender works in a round.

    Returns:
        `job`, and `contenders`: of each its `name`, `role`, `count` and `rounds` (CPU microseconds a job); all but ours
        also `ratio`, `low` and `high`: how many times as fast as it we are.
    """
    contestants = [Measured(one) for one in contenders]
    for contestant in contestants:
        await contestant.calibrate(seconds)
    with _collecting_as_served():
        for _ in range(rounds):
            for contestant in contestants:
                await contestant.measure()
    ours = contestants[0].rounds
    return {"job": job, "contenders": [_report(one, ours) for one in contestants]}


def _report(contestant: Measured, ours: Sequence[float]) -> Report:
    report = {
        "name": contestant.contender.name,
        "role": contestant.contender.role,
        "count": contestant.count,
        "rounds": [round(cost, 3) for cost in contestant.rounds],
    }
    if contestant.contender.role == "ours":
        return report
    quotient = ratio(ours, contestant.rounds)
    return report | {"ratio": round(quotient.median, 4), "low": round(quotient.low, 4), "high": round(quotient.high, 4)}
