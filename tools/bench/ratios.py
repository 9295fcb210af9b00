"""Ratios and their spread, as pure functions of measured rounds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

MARGIN = 0.15
PROCESSES = 3


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as fast as another: the median of the rounds' ratios, and their quartiles."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to do a job, measured.

    Attributes:
        name: Its name; unique in its job.
        role: `ours`, `floor` or `peer`.
        rounds: CPU microseconds a job, by round.
    """

    name: str
    role: str
    rounds: tuple[float, ...]

    @property
    def cost(self) -> float:
        """Median CPU microseconds a job."""
        return statistics.median(self.rounds)

    @property
    def per_second(self) -> float:
        """Jobs a second and core."""
        return 1_000_000 / self.cost


@dataclass(frozen=True, slots=True)
class Job:
    """One job with its contenders, all measured in the same rounds; the first is ours."""

    name: str
    contenders: tuple[Contender, ...]

    @classmethod
    def read(cls, members: Mapping[str, Any]) -> Job:
        """Return the job of a JSON object with `job` and `contenders`.

        Raises:
            ValueError: It is not such an object.
        """
        try:
            contenders = tuple(
                Contender(str(member["name"]), str(member["role"]), tuple(float(cost) for cost in member["rounds"]))
                for member in members["contenders"]
            )
            job = cls(str(members["job"]), contenders)
        except (KeyError, TypeError) as fault:
            raise ValueError("that is no measured job") from fault
        if not contenders or any(not one.rounds or min(one.rounds) <= 0 for one in contenders):
            raise ValueError(f"{job.name}: a contender was not measured")
        return job

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object that `read` takes."""
        contenders = [{"name": one.name, "role": one.role, "rounds": list(one.rounds)} for one in self.contenders]
        return {"job": self.name, "contenders": contenders}

    def of_ours(self) -> list[Contender]:
        """Return what is ours."""
        return [one for one in self.contenders if one.role == "ours"]

    def of_others(self) -> list[Contender]:
        """Return the floors and the peers."""
        return [one for one in self.contenders if one.role != "ours"]

    def find(self, name: str) -> Contender | None:
        """Return a contender by its name."""
        return next((one for one in self.contenders if one.name == name), None)


def join_parts(parts: Sequence[Job]) -> Job:
    """Return one job with the rounds of several processes that measured it, one after the other.

    Raises:
        ValueError: The list is empty, or the parts are not of the same job with the same contenders.
    """
    if not parts or len({(part.name, *((one.name, one.role) for one in part.contenders)) for part in parts}) != 1:
        raise ValueError("those are not the parts of one job")
    contenders = (
        Contender(group[0].name, group[0].role, tuple(cost for one in group for cost in one.rounds))
        for group in zip(*(part.contenders for part in parts), strict=True)
    )
    return Job(parts[0].name, tuple(contenders))


def shares(rounds: int) -> list[int]:
    """Return how many of a run's rounds each of its processes does: three processes, or as many as there are rounds.

    Where the system puts code, stack and tables is drawn once for a process, and moves what a signature check costs by
    up to a tenth. A run in one process would be one draw.
    """
    processes = min(rounds, PROCESSES)
    return [rounds // processes + (number < rounds % processes) for number in range(processes)]


def ratio(ours: Sequence[float], peer: Sequence[float]) -> Ratio:
    """Return how many times as fast `ours` is as `other`, from costs of the same rounds.

    Raises:
        ValueError: There is no round, or not the same number of both.
    """
    quotients = [theirs / mine for mine, theirs in zip(ours, peer, strict=True)]
    if not quotients:
        raise ValueError("nothing was measured")
    if len(quotients) == 1:
        return Ratio(quotients[0], quotients[0], quotients[0])
    low, median, high = statistics.quantiles(quotients, n=4, method="inclusive")
    return Ratio(median, low, high)


def at_best(ours: Sequence[float], peer: Sequence[float]) -> float:
    """Return how many times as fast `ours` is as `other`, each at its best round.

    What else runs on a machine makes a round dearer and never cheaper, so the cheapest of many rounds is what a busy
    machine and a quiet one agree on best.

    Raises:
        ValueError: There is no round.
    """
    return min(peer) / min(ours)


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Something of ours that became slower beside a floor that did not change.

    Attributes:
        job: The job.
        ours: Which of our contenders.
        beside: The floor.
        before: The recorded ratio, both at their best round.
        now: The ratio now, both at their best round.
        cost: CPU microseconds of our best round, before and now: which of the two sides changed.
    """

    job: str
    ours: str
    beside: str
    before: float
    now: float
    cost: tuple[float, float]

    @property
    def sentence(self) -> str:
        """What became slower, and by how much."""
        percent = round((1 - self.now / self.before) * 100)
        return (
            f"{self.job}: {self.ours} is {self.now:.2f}x of {self.beside}, recorded {self.before:.2f}x: "
            f"{percent} % slower ({self.cost[1]:.1f} us, recorded {self.cost[0]:.1f} us)"
        )


def slowdowns(before: Sequence[Job], now: Sequence[Job]) -> list[Slowdown]:
    """Return the jobs that lost more than 15 % of a ratio to a floor that both runs measured."""
    jobs_before = {job.name: job for job in before}
    return [
        Slowdown(job.name, ours.name, floor.name, old, new, (min(mine.rounds), min(ours.rounds)))
        for job in now
        if job.name in jobs_before
        for ours, floor in product(job.of_ours(), job.of_others())
        if floor.role == "floor"
        for mine, theirs in _find_pair(jobs_before[job.name], ours.name, floor.name)
        for old in (at_best(mine.rounds, theirs.rounds),)
        for new in (at_best(ours.rounds, floor.rounds),)
        if new < old * (1 - MARGIN)
    ]


def _find_pair(before: Job, ours: str, floor: str) -> list[tuple[Contender, Contender]]:
    """Return the two as they were recorded, or nothing where one was not."""
    mine, theirs = before.find(ours), before.find(floor)
    return [] if mine is None or theirs is None else [(mine, theirs)]
