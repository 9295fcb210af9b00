"""What reports print of broken servers is done again, and shows the same: see `lines_of_mutants`."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path

import pytest

from conformance.selftest.kill_lists import KillList, load_kill_lists
from tests.conformance.report.lines_of_mutants import shown_again

pytestmark = pytest.mark.skipif(
    shutil.which("curl") is None, reason="there is no curl here to run the lines with; install curl to try them"
)
LISTS = {one.mutant: one for one in load_kill_lists()}
# A surface each, with how many lines its reports have at least; the others say in every case why they have no line.
SAMPLE = {
    "agent-detail-text": 1,
    "hub-health-array": 1,
    "json-alike": 3,
    "verdict-lower-case": 0,
    "webhooks-time-not-signed": 0,
}
# Of the others so many a day; `python -m tests.conformance.report.lines_of_mutants --shard 1/8` does a part of all.
A_DAY = 12


def of_today() -> list[KillList]:
    """Return the mutants whose day it is: over some weeks, all."""
    other_lists = [one for name, one in LISTS.items() if name not in SAMPLE]
    first = dt.datetime.now(dt.UTC).date().toordinal() * A_DAY % len(other_lists)
    return (other_lists * 2)[first : first + A_DAY]


@pytest.mark.parametrize("mutant", SAMPLE)
def test_what_a_report_prints_shows_the_breach_again(mutant: str, tmp_path: Path) -> None:
    """Each curl line gets the answer that was recorded, or there is a reason for none; each replay the same verdict."""
    shown_result = shown_again(LISTS[mutant], tmp_path)
    assert shown_result.faults == []
    assert shown_result.lines >= SAMPLE[mutant]
    assert shown_result.replays >= 1


@pytest.mark.slow
@pytest.mark.parametrize("kill", of_today(), ids=lambda one: one.mutant)
def test_what_a_report_of_todays_mutants_prints_shows_the_breach_again(kill: KillList, tmp_path: Path) -> None:
    """The same of a dozen others, which change from day to day."""
    assert shown_again(kill, tmp_path).faults == []
