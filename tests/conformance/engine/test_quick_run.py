"""A quick look as the runner does it: what is left out has no verdict, and what is tried has its own."""

from __future__ import annotations

import pytest

from conformance.engine.check import Case, Check
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import WHOLE, Quick, left_out, sample
from conformance.engine.quick_selection import select_quick_checks
from conformance.engine.runner import Plan, Run
from conformance.ledger import load
from conformance.log.events import EventLog
from conformance.outcome import Exit, Verdict
from conformance.report.summary import Shortened, summarise
from conformance.target import Claims, Profile, Surface

ROW, OTHER_ROW = "RAIL-PAY-07", "RAIL-PAY-01"
LANES = ("algorand", "base")
PROFILE = Profile(surfaces={"rail": Surface(url="http://127.0.0.1:9")}, claims=Claims(surfaces=("rail",), lanes=LANES))


async def keeps(case: Case) -> None:
    """Find that every number is one."""
    for number in case.sample(range(100), lambda one: one % 3) if case.check.quick.way == "sample" else (1,):
        for row in case.check.rows:
            case.expect(row, number >= 0, "a number", number)


async def breaks(case: Case) -> None:
    """Find a breach."""
    case.expect(case.check.rows[0], False, "a number", None)


def check(name: str, rows: tuple[str, ...], quick: Quick = WHOLE) -> Check:
    """Return a check that finds nothing wrong."""
    return Check(name, rows, "rail", None, Exclusive.NOTHING, "", keeps, quick=quick)


async def run_quick(*checks: Check) -> tuple[Exit, EventLog]:
    """Run a quick look of these checks against nothing."""
    log = EventLog()
    look = select_quick_checks(checks, 5)
    plan = Plan((load()[ROW], load()[OTHER_ROW]), look.checks, seed=5, quick=look)
    return await Run(plan, PROFILE, log).execute(), log


async def test_what_a_quick_look_leaves_out_has_no_verdict() -> None:
    """A row that nothing tried is left out with the reason; a row that something tried has what that found."""
    slow = left_out("takes an hour")
    code, log = await run_quick(check("tried", (ROW,)), check("slow", (ROW, OTHER_ROW), slow))
    summary = summarise(log.events)
    rows = {row.id: row for row in summary.rows}
    assert code is Exit.PASSED
    assert summary.quick
    assert rows[OTHER_ROW].verdict is Verdict.LEFT_OUT
    assert rows[OTHER_ROW].reason == "left out by --quick: takes an hour"
    assert rows[ROW].verdict is Verdict.PASS
    assert summary.short_trials(rows[ROW]) == ("slow was left out by --quick: takes an hour",)


async def test_a_sample_and_a_single_lane_are_in_the_summary() -> None:
    """How many of how many, for every check that tried a part."""
    lane_check = check("on_each", (ROW,))
    numbers = check("numbers", (OTHER_ROW,), sample("numbers"))
    _, log = await run_quick(*(lane_check.bind_to(lane) for lane in LANES), numbers)
    lane, many = sorted(summarise(log.events).shortened, key=lambda one: one.of)
    assert (lane.what, lane.tried, lane.of) == ("lanes", 1, 2)
    assert many == Shortened("numbers", (OTHER_ROW,), "numbers", 3, 100)


async def test_a_breach_in_a_quick_look_fails_it() -> None:
    """What is broken is broken, however little was tried."""
    broken = Check("broken", (ROW,), "rail", None, Exclusive.NOTHING, "", breaks)
    code, _ = await run_quick(broken, check("slow", (OTHER_ROW,), left_out("takes an hour")))
    assert code is Exit.FAILED


async def test_a_quick_look_that_tried_nothing_is_no_success() -> None:
    """Exit code 0 needs something that was tried."""
    code, _ = await run_quick(check("slow", (ROW, OTHER_ROW), left_out("takes an hour")))
    assert code is Exit.NO_VERDICT


async def test_a_whole_run_is_no_quick_look() -> None:
    """Without a look nothing is sampled, and the log says nothing of it."""
    log = EventLog()
    numbers = check("numbers", (ROW, OTHER_ROW), sample("numbers"))
    await Run(Plan((load()[ROW], load()[OTHER_ROW]), (numbers,), seed=5), PROFILE, log).execute()
    summary = summarise(log.events)
    assert not summary.quick
    assert not summary.shortened
    assert sum(event["event"] == "judgement" for event in log.events) == 200


@pytest.mark.parametrize("workers", [1, 8])
async def test_the_log_says_what_runs_in_which_company(workers: int) -> None:
    """What progress and its estimate are made of."""
    log = EventLog()
    alone = Check("alone", (OTHER_ROW,), "rail", None, Exclusive.CLOCK, "", keeps)
    chain = Check("chained", (OTHER_ROW,), "rail", "base", Exclusive.CHAIN, "", keeps)
    checks = (check("tried", (ROW,)), chain, alone)
    await Run(Plan((load()[ROW],), checks, seed=5, workers=workers), PROFILE, log).execute()
    (start_event,) = log.of("run.started")
    assert start_event["workers"] == workers
    assert [tuple(one) for one in start_event["checks"]] == [
        ("tried", "together"),
        ("chained", "chain base"),
        ("alone", "alone"),
    ]
