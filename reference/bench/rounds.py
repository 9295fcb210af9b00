"""Contenders measured in turn, round by round, by the CPU time of the process.

A neighbour on the machine slows whoever runs at that moment. So every contender of a job runs in every round, CPU time
is counted instead of the clock's, and what is reported is the ratio inside a round: its median over the rounds, with
the quartiles as its spread.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Role: TypeAlias = Literal["ours", "floor", "peer"]
Report: TypeAlias = dict[str, Any]

_FIRST_COUNT = 1
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


def each(job: Callable[[], object]) -> Callable[[Any], Awaitable[None]]:
    """Return the `run` of a job that is a plain call."""

    async def run(given: Sequence[object]) -> None:
        for _ in given:
            job()

    return run


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
        """Find how many jobs fill a round; what this runs warms up and is thrown away."""
        while True:
            spent = await self._round() * self.count / MICRO
            if spent >= seconds / 4:
                self.count = max(1, round(self.count * seconds / spent))
                return
            self.count *= 4

    async def measure(self) -> None:
        """Add a round."""
        self.rounds.append(await self._round())

    async def _round(self) -> float:
        given = await self.contender.prepare(self.count)
        started = time.process_time()
        await self.contender.run(given)
        return (time.process_time() - started) / self.count * MICRO


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as fast as another: the median of the rounds, and its quartiles."""

    median: float
    low: float
    high: float


def ratio(ours: Sequence[float], other: Sequence[float]) -> Ratio:
    """Return how many times as fast we are as another contender, from costs of the same rounds.

    Raises:
        ValueError: There is no round, or not the same number of both.
    """
    quotients = sorted(theirs / mine for mine, theirs in zip(ours, other, strict=True))
    if not quotients:
        raise ValueError("nothing was measured")
    if len(quotients) == 1:
        return Ratio(quotients[0], quotients[0], quotients[0])
    low, median, high = statistics.quantiles(quotients, n=4, method="inclusive")
    return Ratio(median, low, high)


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
    running = [Measured(one) for one in contenders]
    for one in running:
        await one.calibrate(seconds)
    for _ in range(rounds):
        for one in running:
            await one.measure()
    ours = running[0].rounds
    return {"job": job, "contenders": [_told(one, ours) for one in running]}


def _told(one: Measured, ours: Sequence[float]) -> Report:
    told = {
        "name": one.contender.name,
        "role": one.contender.role,
        "count": one.count,
        "rounds": [round(cost, 3) for cost in one.rounds],
    }
    if one.contender.role == "ours":
        return told
    found = ratio(ours, one.rounds)
    return told | {"ratio": round(found.median, 4), "low": round(found.low, 4), "high": round(found.high, 4)}
