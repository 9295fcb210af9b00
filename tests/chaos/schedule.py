"""What happens to the machines of a chaos run, and when: a function of the seed alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# How often each event happens, compared with the others.
WEIGHTS: Final = {
    "kill a worker": 5,
    "stop a worker": 4,
    "cut the connections to PostgreSQL": 3,
    "restart PostgreSQL": 1,
    "let a node lag": 3,
    "take a node away": 3,
}
_LEAST_PAUSE, _MOST_PAUSE = 0.5, 4.0


@dataclass(frozen=True, slots=True)
class Event:
    """One disturbance.

    Attributes:
        second: When it begins, from the start of the run.
        kind: A key of `WEIGHTS`.
        place: Number of the worker or the node.
        size: How strong it is, from 0 to 1: how long a worker is stopped, how far a node lags.
    """

    second: float
    kind: str
    place: int
    size: float


def plan_events(seed: int, seconds: float, *, workers: int, nodes: int) -> Iterator[Event]:
    """Yield the events of a run in their order."""
    rng = random.Random(seed)
    second = rng.uniform(_LEAST_PAUSE, _MOST_PAUSE)
    while second < seconds:
        (kind,) = rng.choices([*WEIGHTS], [*WEIGHTS.values()])
        yield Event(second, kind, rng.randrange(nodes if "node" in kind else workers), rng.random())
        second += rng.uniform(_LEAST_PAUSE, _MOST_PAUSE)
