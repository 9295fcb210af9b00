"""Kill lists are exact: what is missing, what is too much and what is only a warning each differ."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.ledger import load
from conformance.outcome import Verdict
from conformance.selftest.kill_lists import Edit, KillList, load_kill_lists, take_shard

DECIDING_ROW = next(row.id for row in load() if row.decides)
WARNING = next(row.id for row in load() if not row.as_claimed().decides)
OTHER_ROW = next(row.id for row in load() if row.decides and row.id != DECIDING_ROW)
KILL = KillList("made-up", "a rule", "RAIL", DECIDING_ROW, {WARNING: "it sees the fault, too"})
EXACT = {DECIDING_ROW: Verdict.FAIL, WARNING: Verdict.WARN, OTHER_ROW: Verdict.PASS}


def test_an_exact_run_differs_in_nothing() -> None:
    """A deciding row fails, another one warns, and every further row may pass, be open or not apply."""
    assert KILL.list_expected_breaches() == {DECIDING_ROW: Verdict.FAIL, WARNING: Verdict.WARN}
    for other_verdict in (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE, Verdict.DOCUMENTED):
        assert KILL.list_differences({**EXACT, OTHER_ROW: other_verdict}) == []


def test_a_deciding_row_may_be_listed_as_one_that_warns() -> None:
    """Where the fault shows beyond what the row surely says; a failure of it is then as wrong as a pass."""
    kill = replace(KILL, warns=(DECIDING_ROW,))
    assert kill.list_differences({**EXACT, DECIDING_ROW: Verdict.WARN}) == []
    assert kill.list_differences(EXACT) == [f"{DECIDING_ROW}: expected warn, got fail"]


def test_a_row_that_sees_it_at_times_may_be_breached_or_not() -> None:
    """If calls race; faults of the suite are reported all the same, and no other row is excused."""
    kill = replace(KILL, at_times={OTHER_ROW: "two calls have to meet"})
    for verdict in (Verdict.PASS, Verdict.WARN, Verdict.FAIL):
        assert kill.list_differences({**EXACT, OTHER_ROW: verdict}) == []
    assert kill.list_differences({**EXACT, OTHER_ROW: Verdict.ERROR}) == [f"{OTHER_ROW}: error"]
    assert kill.list_differences({**EXACT, DECIDING_ROW: Verdict.PASS}) == [f"{DECIDING_ROW}: expected fail, got pass"]


@pytest.mark.parametrize(
    ("verdicts_found", "differences"),
    [
        ({**EXACT, DECIDING_ROW: Verdict.PASS}, [f"{DECIDING_ROW}: expected fail, got pass"]),
        ({**EXACT, DECIDING_ROW: Verdict.WARN}, [f"{DECIDING_ROW}: expected fail, got warn"]),
        ({**EXACT, DECIDING_ROW: Verdict.INCONCLUSIVE}, [f"{DECIDING_ROW}: expected fail, got inconclusive"]),
        ({**EXACT, WARNING: Verdict.FAIL}, [f"{WARNING}: expected warn, got fail"]),
        ({DECIDING_ROW: Verdict.FAIL}, [f"{WARNING}: expected warn, got nothing"]),
        ({**EXACT, OTHER_ROW: Verdict.FAIL}, [f"{OTHER_ROW}: fail is not on the list"]),
        ({**EXACT, OTHER_ROW: Verdict.WARN}, [f"{OTHER_ROW}: warn is not on the list"]),
        ({**EXACT, OTHER_ROW: Verdict.ERROR}, [f"{OTHER_ROW}: error"]),
    ],
)
def test_whatever_is_not_as_listed_is_told(verdicts_found: dict[str, Verdict], differences: list[str]) -> None:
    """A row that is missing, one too many, one with another verdict, and a fault of the suite."""
    assert differences == KILL.list_differences(verdicts_found)


def test_the_committed_lists_name_each_mutant_once_and_shards_make_them_up() -> None:
    """No mutant has two lists, and the parts of a sharded selftest hold each list once."""
    lists = load_kill_lists()
    names = [one.mutant for one in lists]
    assert len(names) == len(set(names))
    parts = [one.mutant for part in range(1, 8) for one in take_shard(lists, part, 7)]
    assert sorted(names) == sorted(parts)


def test_the_edits_of_a_mutant_are_shown_as_a_diff() -> None:
    """Under the name of each file the lines that go and those that come; lines that stay have a space before them."""
    edits = (
        Edit("a.py", "x = 1", "x = 2"),
        Edit("a.py", "if x:\n    go()\n    stop()", "if x:\n    stop()"),
        Edit("b.py", "z()", ""),
    )
    lines = ["--- a.py", "-x = 1", "+x = 2", " if x:", "-    go()", "     stop()", "--- b.py", "-z()"]
    assert replace(KILL, edits=edits).diff.splitlines() == lines
    assert KILL.diff == ""
