"""Selftest against the chameleon, a correct server whose open points vary with a seed: no row may fail."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.engine.runner import Plan, Run, select_checks
from conformance.ledger import Requirement, load
from conformance.log.events import Event, EventLog
from conformance.outcome import SOUND, Verdict
from conformance.processes.own_stack import list_surface_options, start_own_stack
from conformance.selftest.observations import OBSERVERS, observe_run
from conformance.target import LANES

# This many consecutive seeds show every point in at least two values.
ENOUGH = 8
# Seconds of generated requests in one trial; there are many trials.
FUZZ_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of one seed.

    Attributes:
        seed: The seed.
        lane: The lane that was paid on.
        drawn: The value of each point, by the point's id.
        told: The keys of the target profile that the variant sets.
        differences: One line for each row that a correct server must not get; empty if the suite is right.
        rows: How many rows were judged.
        passed: The rows that passed.
        seconds: Its duration, with the start of the stack.
        values: The values of each point that the run's log shows.
    """

    seed: int
    lane: str
    drawn: Mapping[str, str]
    told: Sequence[str]
    differences: Sequence[str]
    rows: int
    passed: Sequence[str]
    seconds: float
    values: Mapping[str, Sequence[str]] = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return the trial as JSON members."""
        names = ("seed", "lane", "rows", "passed", "seconds", "differences", "drawn", "told", "values")
        return {name: getattr(self, name) for name in names}


def choose_lane(seed: int) -> str:
    """Return the lane on which a seed's run pays."""
    # The lane changes with the seed, so that a few consecutive seeds pay on all lanes.
    return LANES[seed % len(LANES)]


async def run_trial(
    seed: int,
    rows: Sequence[Requirement] | None = None,
    *,
    lanes: Sequence[str] = LANES,
    logs: Path | None = None,
) -> Trial:
    """Start a stack in the variant of a seed and run the suite against it.

    Args:
        seed: The seed of the variant and of the run.
        rows: The rows to judge; all without it.
        lanes: The lanes that the stack offers.
        logs: Folder for the run's event log, `SEED.ndjson.gz`.

    Raises:
        StackFault: The stack did not start.
        CancelledError: The run was interrupted.
    """
    start = time.perf_counter()
    selection = tuple(load().select([])) if rows is None else tuple(rows)
    lane = choose_lane(seed) if choose_lane(seed) in lanes else lanes[0]
    lane_options = [word for check in lanes for word in ("--lane", check)]
    log = EventLog(None if logs is None else logs / f"{seed}.ndjson.gz")
    async with start_own_stack(["--chameleon", str(seed), *lane_options, *list_surface_options(selection)]) as stack:
        looks = [json.loads(path.read_bytes()) for path in sorted(stack.profile_path.parent.glob("variant_*.json"))]
        budgets = stack.profile.budgets.model_copy(update={"fuzz": FUZZ_SECONDS})
        profile = stack.profile.model_copy(update={"budgets": budgets})
        checks = select_checks(selection, profile, (lane,))
        plan = Plan(selection, checks, seed=seed, workers=profile.pace.workers, lanes=(lane,))
        try:
            await Run(plan, profile, log).execute_whole()
        finally:
            # Also after an interrupt: the log so far explains what happened.
            log.close()
    # The variant itself lists the rows that it makes undecidable; any other inconclusive row is a fault of the suite.
    undecided_rows = {row: reason for look in looks for row, reason in look["undecided"].items()}
    # A row whose checks are all of another lane belongs to the trial of another seed.
    judged_ids = {row for check in checks for row in check.rows}
    row_events = [
        row for row in log.of("row") if row["id"] in judged_ids or row["verdict"] != Verdict.INCONCLUSIVE.value
    ]
    return Trial(
        seed,
        lane,
        looks[0]["drawn"],
        sorted(looks[0]["bindings"]),
        list_unsound_rows(row_events, undecided_rows),
        len(row_events),
        sorted(row["id"] for row in row_events if row["verdict"] == Verdict.PASS.value),
        round(time.perf_counter() - start, 1),
        observe_run(log.events),
    )


def list_unsound_rows(rows: Iterable[Event], undecided: Mapping[str, str]) -> list[str]:
    """Return one line for each row that a correct server must not get.

    Args:
        rows: The run's `row` events.
        undecided: Rows that the variant makes undecidable: these may be inconclusive.
    """
    lines = []
    for row in rows:
        verdict = Verdict(row["verdict"])
        is_excused = verdict is Verdict.INCONCLUSIVE and row["id"] in undecided
        if verdict not in SOUND and not is_excused:
            lines.append(f"{row['id']}: {verdict.value}: {row['reason']}")
    return lines


@dataclass(frozen=True, slots=True)
class Sighting:
    """The values of one point in several runs.

    Attributes:
        point: The point's id.
        by_seed: The values that each run showed, by its seed.
    """

    point: str
    by_seed: Mapping[int, Sequence[str]]

    @property
    def values(self) -> list[str]:
        """Every value that was seen."""
        return sorted({value for values in self.by_seed.values() for value in values})

    @property
    def has_varied(self) -> bool:
        """Whether two runs showed different values."""
        return len({tuple(values) for values in self.by_seed.values() if values}) > 1

    def as_json(self) -> dict[str, Any]:
        """Return the sighting as JSON members."""
        by_seed = {str(seed): list(values) for seed, values in self.by_seed.items()}
        return {"varied": self.has_varied, "values": self.values, "by_seed": by_seed}


def collect_sightings(trials: Sequence[Trial]) -> list[Sighting]:
    """Return what trials showed of each point."""
    return [Sighting(point, {one.seed: one.values.get(point, ()) for one in trials}) for point in OBSERVERS]
