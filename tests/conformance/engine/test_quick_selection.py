"""Which checks a quick look tries, on which lane, and what of them: drawn from the seed, and said."""

from __future__ import annotations

import random
from typing import Any

import pytest

from conformance.engine.check import Case, Check
from conformance.engine.check_loading import load_checks
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import WHOLE, Quick, left_out, one_of_several, sample
from conformance.engine.quick_selection import select_quick_checks
from conformance.engine.session import Session
from conformance.http.client import Client, Counter, Names
from conformance.log.events import EventLog
from conformance.outcome import Verdict, worst
from conformance.target import Profile

LANES = ("algorand", "base", "solana")


async def nothing(_: Case) -> None:
    """Do nothing."""


def check(name: str, quick: Quick = WHOLE, lane: str | None = None) -> Check:
    """Return a check that is not registered."""
    return Check(name, ("RAIL-402-01",), "rail", lane, Exclusive.NOTHING, "", nothing, quick=quick)


def on_each(check: Check) -> list[Check]:
    """Return it on every lane."""
    return [check.bind_to(lane) for lane in LANES]


def case(check: Check, log: EventLog, seed: int | None) -> Case:
    """Return a case of a check that sends nothing."""
    client: Any = Client(None, log, check.id, Names(), Counter())  # type: ignore[arg-type]
    return Case(check, Profile(), client, log, random.Random(1), Session(Profile(), client, Names(), 1), quick=seed)


def test_a_check_that_runs_on_every_lane_is_tried_on_one() -> None:
    """The seed draws the lane for each check by itself, so that every lane is met by some."""
    checks = [bound for number in range(30) for bound in on_each(check(f"on_each_{number}", lane="each"))]
    look = select_quick_checks(checks, 7)
    assert len(look.checks) == 30
    assert {one.lane for one in look.checks} == set(LANES)
    assert set(look.lanes.values()) == {3}
    assert select_quick_checks(reversed(checks), 7).checks[::-1] == look.checks
    assert select_quick_checks(checks, 8).checks != look.checks


def test_a_check_may_be_left_out_and_says_why() -> None:
    """It is not tried on any lane, and its reason stays."""
    out = check("slow", left_out("waits for an hour"), lane="each")
    look = select_quick_checks([check("kept"), *on_each(out)], 7)
    assert [one.id for one in look.checks] == ["kept"]
    assert [(one.id, reason) for one, reason in look.left_out.items()] == [
        (f"slow[{lane}]", "waits for an hour") for lane in LANES
    ]


def test_of_checks_that_try_alike_one_is_tried() -> None:
    """The others name the one that is."""
    names = {"first", "second", "third"}
    look = select_quick_checks([check(name, one_of_several("calls")) for name in sorted(names)], 7)
    (tried_check,) = look.checks
    assert {one.id for one in look.left_out} == names - {tried_check.id}
    assert set(look.left_out.values()) == {f"of calls {tried_check.id} is tried"}


def test_a_sample_has_some_of_each_kind_and_is_in_the_log() -> None:
    """Drawn from the seed, in the order of the whole; how many of how many were tried is an event."""
    log = EventLog()
    sampling_check = check("samples", sample("numbers"))
    items = list(range(100))
    sample_items = case(sampling_check, log, 5).sample(items, lambda number: number % 7, few=2)
    assert sorted(number % 7 for number in sample_items) == sorted([*range(7)] * 2)
    assert sample_items == sorted(sample_items)
    assert case(sampling_check, EventLog(), 5).sample(items, lambda number: number % 7, few=2) == sample_items
    assert case(sampling_check, EventLog(), 6).sample(items, lambda number: number % 7, few=2) != sample_items
    assert [dict(event) for event in log.events] == [
        {
            "event": "check.shortened",
            "check": "samples",
            "rows": ["RAIL-402-01"],
            "what": "numbers",
            "tried": 14,
            "of": 100,
        }
    ]


def test_a_whole_run_samples_nothing() -> None:
    """Everything is tried, nothing is said, and no randomness of the check is used up."""
    log = EventLog()
    whole = case(check("samples", sample("numbers")), log, None)
    before = whole.rng.getstate()
    assert whole.sample(range(100)) == [*range(100)]
    assert whole.rng.getstate() == before
    assert not log.events


def test_who_samples_without_saying_so_is_at_fault() -> None:
    """What `explain` shows is what is done."""
    with pytest.raises(ValueError, match="is not a sample"):
        case(check("silent"), EventLog(), 5).sample(range(3))


def test_what_disturbs_the_others_is_left_out_by_default() -> None:
    """A check that moves the clock, disturbs a chain or uses a limit up would run after all others."""
    for check in load_checks():
        if check.exclusive is not Exclusive.NOTHING:
            assert check.quick.way == "left out", check.id
        if check.quick.way != "whole":
            assert check.quick.words, check.id


def test_left_out_is_no_verdict_on_the_target() -> None:
    """A judgement of another check goes before it; only what is absent or documented does not."""
    assert worst([Verdict.LEFT_OUT, Verdict.PASS]) is Verdict.PASS
    assert worst([Verdict.LEFT_OUT, Verdict.NOT_APPLICABLE]) is Verdict.LEFT_OUT
