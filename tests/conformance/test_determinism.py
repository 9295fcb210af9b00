"""Same seed, same target: the same verdicts and the same requests, in any order and with any number of workers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from conformance import target
from conformance.events import EventLog
from conformance.ledger import load
from conformance.runner import Plan, Run, select_checks
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
    templates = Counter(json.dumps(event["request"]["template"]) for event in log.of("exchange") if not event["retry"])
    return verdicts, templates


@pytest.mark.parametrize("lane", target.LANES)
async def test_a_run_can_be_repeated(tmp_path: Path, lane: str) -> None:
    """Two runs of one seed with three and with eight workers send the same requests and say the same, on each lane."""
    with running_stack(tmp_path, "--lane", lane) as ready:
        profile = target.load(Path(ready["profile"]))
        verdicts, templates = await outcome(profile, 8, seed=7)
        verdicts_again, templates_again = await outcome(profile, 3, seed=7)
    assert verdicts == verdicts_again
    assert templates - templates_again == Counter()
    assert templates_again - templates == Counter()


async def test_another_seed_sends_other_requests(tmp_path: Path) -> None:
    """The seed decides which replays are sent."""
    with running_stack(tmp_path, "--lane", "algorand") as ready:
        profile = target.load(Path(ready["profile"]))
        _, templates = await outcome(profile, 8, seed=7, selection=["RAIL-WELD-08"])
        _, others = await outcome(profile, 8, seed=8, selection=["RAIL-WELD-08"])
    assert others != templates


async def test_a_run_of_webhooks_can_be_repeated(tmp_path: Path) -> None:
    """What several checks share is asked for alike, whichever of them comes first."""
    selection = ("WH-DELIV-02", "WH-DELIV-07", "WH-SIG-04", "WH-BODY-12", "X-AMT-01", "GW-LINK-23")
    with running_stack(tmp_path, "--lane", "algorand") as ready:
        profile = target.load(Path(ready["profile"]))
        verdicts, templates = await outcome(profile, 8, seed=7, selection=selection)
        verdicts_again, templates_again = await outcome(profile, 1, seed=7, selection=selection)
    assert set(verdicts.values()) == {"pass"}
    assert verdicts == verdicts_again
    assert templates == templates_again
