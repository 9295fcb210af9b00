"""One run of the suite against the chameleon: a correct server in the look of a seed, where nothing may fail.

The lane of a run turns with the seed, so that a few seeds in a row try all of them; every lane is offered in each.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.events import Event, EventLog
from conformance.ledger import Requirement, load
from conformance.own_stack import own_stack, surface_options
from conformance.runner import Plan, Run, select_checks
from conformance.target import LANES
from conformance.verdict import Verdict

SOUND = frozenset({Verdict.PASS, Verdict.DOCUMENTED, Verdict.NOT_APPLICABLE})


@dataclass(frozen=True, slots=True)
class Trial:
    """What one seed came to.

    Attributes:
        seed: The seed.
        lane: The lane that was paid on.
        drawn: The value of each point, by the point's id.
        told: Keys of the target profile that the look bound.
        differences: One line for each row that is not sound, none when the suite is right.
        rows: How many rows were judged.
        seconds: How long it took, the stack's start among it.
        events: The run's log.
    """

    seed: int
    lane: str
    drawn: Mapping[str, str]
    told: Sequence[str]
    differences: Sequence[str]
    rows: int
    seconds: float
    events: Sequence[Event] = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return the trial without its log."""
        names = ("seed", "lane", "rows", "seconds", "differences", "drawn", "told")
        return {name: getattr(self, name) for name in names}


def lane_of(seed: int) -> str:
    """Return the lane that a seed's run pays on."""
    return LANES[seed % len(LANES)]


async def trial(seed: int, rows: Sequence[Requirement] | None = None, *, lanes: Sequence[str] = LANES) -> Trial:
    """Bring up a stack in the look of a seed and run the suite against it.

    Args:
        seed: The look, and the seed of the run.
        rows: The rows to judge; all without it.
        lanes: The lanes that the stack offers.

    Raises:
        StackFault: The stack did not come up.
    """
    started = time.perf_counter()
    chosen = tuple(load().select([])) if rows is None else tuple(rows)
    lane = lane_of(seed) if lane_of(seed) in lanes else lanes[0]
    offered = [word for one in lanes for word in ("--lane", one)]
    log = EventLog()
    async with own_stack(["--chameleon", str(seed), *offered, *surface_options(chosen)]) as stack:
        looks = [json.loads(path.read_bytes()) for path in sorted(stack.profile_path.parent.glob("chameleon_*.json"))]
        checks = select_checks(chosen, stack.profile, (lane,))
        plan = Plan(chosen, checks, seed=seed, workers=stack.profile.pace.workers, lanes=(lane,))
        await Run(plan, stack.profile, log).execute()
    undecided = {row: reason for look in looks for row, reason in look["undecided"].items()}
    # A row whose checks are all of another lane is another seed's.
    judged = {row for one in checks for row in one.rows}
    found = [row for row in log.of("row") if row["id"] in judged or row["verdict"] not in {"inconclusive"}]
    return Trial(
        seed,
        lane,
        looks[0]["drawn"],
        sorted(looks[0]["bindings"]),
        unsound(found, undecided),
        len(found),
        round(time.perf_counter() - started, 1),
        log.events,
    )


def unsound(rows: Iterable[Event], undecided: Mapping[str, str]) -> list[str]:
    """Return one line for each row that a correct server must not get.

    Args:
        rows: The run's `row` events.
        undecided: Rows that the look makes undecidable, which may be inconclusive.
    """
    lines = []
    for row in rows:
        verdict = Verdict(row["verdict"])
        excused = verdict is Verdict.INCONCLUSIVE and row["id"] in undecided
        if verdict not in SOUND and not excused:
            lines.append(f"{row['id']}: {verdict.value}: {row['reason']}")
    return lines
