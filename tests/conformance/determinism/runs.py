"""Same seed, same target: the same verdicts and the same requests, in any order and with any number of workers.

A file a lane, so that they run side by side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from conformance import target
from conformance.engine.runner import Plan, Run, select_checks
from conformance.http.curl_and_templates import count_templates
from conformance.ledger import load
from conformance.log.events import EventLog
from tests.stack import running_stack

SELECTION = ("RAIL-402", "RAIL-PAY", "RAIL-RCPT", "RAIL-WELD", "RAIL-SVC")


async def outcome(
    profile: target.Profile, workers: int, seed: int, selection: Sequence[str] = SELECTION
) -> tuple[dict[str, str], Counter[str]]:
    """Return verdicts by row and the multiset of request templates of one run."""
    rows = load().select(selection)
    rows = tuple(row for row in rows if row.id not in {"RAIL-402-20", "RAIL-WELD-06", "RAIL-WELD-13"})
    log = EventLog()
    await Run(Plan(rows, select_checks(rows, profile), seed=seed, workers=workers), profile, log).execute()
    verdicts = {event["id"]: event["verdict"] for event in log.of("row")}
    return verdicts, count_templates(log.events)


async def must_repeat(folder: Path, lane: str) -> None:
    """Run the rail's checks of a lane with eight and with three workers and hold both runs to the same."""
    with running_stack(folder, "--lane", lane) as ready:
        profile = target.load(Path(ready["profile"]))
        verdicts, request_templates = await outcome(profile, 8, seed=7)
        verdicts_again, sent_again = await outcome(profile, 3, seed=7)
    assert verdicts == verdicts_again
    assert request_templates - sent_again == Counter()
    assert sent_again - request_templates == Counter()
