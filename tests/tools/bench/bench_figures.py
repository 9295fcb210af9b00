"""Measured jobs for tests of the bench."""

from __future__ import annotations

from tools.bench.ratios import Contender, Job
from tools.bench.record import Figures, Machine


def job(name: str, ours: list[float], **other_costs: list[float]) -> Job:
    """Return a job of ours beside floors by name."""
    contenders = [Contender("weldproof", "ours", tuple(ours))]
    contenders += [Contender(other, "floor", tuple(costs)) for other, costs in other_costs.items()]
    return Job(name, tuple(contenders))


def figures(*jobs: Job) -> Figures:
    """Return the figures of a run on some machine."""
    return Figures("2026-11-21", Machine("Some processor", 2, "Linux 6"), {"quart": "0.22.0"}, jobs, {"base": 9000.0})
