"""Asking the suite about a server that is described by a profile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from conformance import ledger
from conformance.engine.runner import Plan, Run, select_checks
from conformance.log.events import EventLog
from conformance.target import Profile, load

_SEED: Final = 20
_GENERATED_PREFIX: Final = "generated_calls_"
_MARKS: Final = {"fail": "", "warn": "?", "inconclusive": "~"}


def verdicts(profile: Path, *ids: str, with_generated: bool = True) -> dict[str, str]:
    """Return the verdict of each row by a profile; `xfail` of one that the profile says to fail.

    Without `with_generated` no requests are drawn from the OpenAPI documents, which decides no requirement.
    """
    return asyncio.run(_verdicts(load(profile), ids, with_generated=with_generated))


async def _verdicts(profile: Profile, ids: Sequence[str], *, with_generated: bool) -> dict[str, str]:
    rows = ledger.load().select(list(ids))
    checks = tuple(
        one for one in select_checks(rows, profile) if with_generated or not one.id.startswith(_GENERATED_PREFIX)
    )
    log = EventLog()
    plan = Plan(rows, checks, seed=_SEED, workers=profile.pace.workers, expected_failures=profile.xfail)
    await Run(plan, profile, log).execute()
    expected_failures = {one.id for one in profile.xfail}
    return {
        event["id"]: "xfail" if event["verdict"] == "fail" and event["id"] in expected_failures else event["verdict"]
        for event in log.of("row")
    }


def find_noticing_rows(profile: Path, rows: Sequence[str], otherwise: Sequence[str]) -> list[str]:
    """Return the rows that do not pass, with a mark for what they say: `ROW` fails, `ROW?` warns, `ROW~` is undecided.

    Args:
        profile: Profile of the server.
        rows: The rows that are asked, by the beginning of their ids.
        otherwise: Rows that the sound server leaves undecided.
    """
    words_by_row = verdicts(profile, *rows, with_generated=False)
    marked_rows = {row: word for row, word in words_by_row.items() if word in _MARKS and row not in otherwise}
    order = list(_MARKS)
    return [
        row + _MARKS[marked_rows[row]]
        for row in sorted(marked_rows, key=lambda row: (order.index(marked_rows[row]), row))
    ]
