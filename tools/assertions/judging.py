"""A run of the suite against the clean reference in which some places judge the opposite of what they see."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.engine.check import Case
from conformance.engine.runner import Plan, Run, select_checks
from conformance.ledger import load
from conformance.log.events import EventLog
from conformance.outcome import Verdict
from conformance.processes.own_stack import list_surface_options, start_own_stack
from conformance.selftest.chameleon import FUZZ_SECONDS
from conformance.target import LANES
from tools.assertions.places import Place

_ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class Judged:
    """What a run did at each place.

    Attributes:
        checks: The checks that came by each place, by the place's id.
        rows: The rows that each negated place judged, by check.
        verdicts: The verdict of each row, as the run ended.
    """

    checks: dict[str, set[str]] = field(default_factory=dict)
    rows: dict[str, set[str]] = field(default_factory=dict)
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)

    def green(self, place: str) -> set[str]:
        """Return the rows of the run that a negated place judged and that are sound all the same."""
        red = {Verdict.FAIL, Verdict.WARN}
        return {row for row in self.rows.get(place, ()) if self.verdicts.get(row, Verdict.FAIL) not in red}


async def judge_checks(
    places: Mapping[str, Place],
    seed: int,
    *,
    negated_places: Collection[str] = (),
    only: Collection[str] = (),
    rows: str = "",
) -> Judged:
    """Run checks against our own stack, with each lane, and return what they did.

    Args:
        places: Every place, by its id.
        seed: Seed of the run.
        negated_places: Ids of the places that judge the opposite.
        only: Ids of the checks that are run; all without any.
        rows: Prefixes of the rows whose checks are run, with spaces between; all without any.

    Raises:
        StackFault: The stack did not come up.
    """
    selected_rows = tuple(load().select(rows.split()))
    options = [word for lane in LANES for word in ("--lane", lane)]
    log = EventLog()
    async with start_own_stack([*options, *list_surface_options(selected_rows)]) as stack:
        budgets = stack.profile.budgets.model_copy(update={"fuzz": FUZZ_SECONDS})
        profile = stack.profile.model_copy(update={"budgets": budgets})
        checks = tuple(check for check in select_checks(selected_rows, profile) if not only or check.id in only)
        with _watch_judges(places, negated_places) as found:
            await Run(
                Plan(selected_rows, checks, seed=seed, workers=profile.pace.workers), profile, log
            ).execute_whole()
    found.verdicts = {event["id"]: Verdict(event["verdict"]) for event in log.of("row")}
    return found


@contextmanager
def _watch_judges(places: Mapping[str, Place], negated_places: Collection[str]) -> Iterator[Judged]:
    """Note who judges where, and turn some judgements round, until this is left."""
    by_line = {
        (str(_ROOT / place.file), line): place.id
        for place in places.values()
        for line in range(place.first, place.last + 1)
    }
    judgements, expect = Judged(), Case.expect

    def expect_and_note(self: Case, row_id: str, holds: bool, *words: Any, **options: Any) -> bool:
        caller = sys._getframe(1)  # noqa: SLF001 - whose judgement it is stands nowhere else
        place = by_line.get((caller.f_code.co_filename, caller.f_lineno))
        if place is None:
            return expect(self, row_id, holds, *words, **options)
        judgements.checks.setdefault(place, set()).add(self.check.id)
        if place not in negated_places:
            return expect(self, row_id, holds, *words, **options)
        judgements.rows.setdefault(place, set()).add(row_id)
        return expect(self, row_id, not holds, *words, **options)

    Case.expect = expect_and_note  # type: ignore[method-assign]
    try:
        yield judgements
    finally:
        Case.expect = expect  # type: ignore[method-assign]
