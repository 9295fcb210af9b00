"""Verdicts and the exit code that follows from them."""

from __future__ import annotations

import datetime as dt

import pytest

from conformance.engine.check import judge_breach
from conformance.engine.expected_failures import compare_with_entry
from conformance.ledger import load
from conformance.outcome import Exit, Verdict, exit_code, worst
from conformance.target import ExpectedFailure


def test_every_must_fails() -> None:
    """A breach of a MUST fails, stated (the 402) or implied (`alg: none`); one of a SHOULD warns."""
    ledger = load()
    assert judge_breach(ledger["RAIL-402-01"]) is Verdict.FAIL
    assert (ledger["GW-RCPT-16"].basis, judge_breach(ledger["GW-RCPT-16"])) == ("implied", Verdict.FAIL)
    assert judge_breach(ledger["RAIL-402-07"]) is Verdict.WARN


def test_what_goes_beyond_a_must_warns() -> None:
    """A trial of what the interface leaves open fails no target, whatever the row's level."""
    assert judge_breach(load()["RAIL-402-01"], beyond="its place is open") is Verdict.WARN


def test_the_worst_judgement_of_a_row_counts() -> None:
    """One breach outweighs any number of passes; an inconclusive part outweighs a pass."""
    assert worst([Verdict.PASS, Verdict.FAIL, Verdict.PASS]) is Verdict.FAIL
    assert worst([Verdict.PASS, Verdict.INCONCLUSIVE]) is Verdict.INCONCLUSIVE
    assert worst([Verdict.PASS, Verdict.NOT_APPLICABLE]) is Verdict.PASS
    assert worst([Verdict.ERROR, Verdict.FAIL]) is Verdict.ERROR
    assert worst([]) is None


@pytest.mark.parametrize(
    ("verdicts", "expected_exit"),
    [
        ([Verdict.PASS, Verdict.NOT_APPLICABLE, Verdict.DOCUMENTED], Exit.PASSED),
        ([Verdict.PASS, Verdict.WARN], Exit.PASSED),
        ([Verdict.PASS, Verdict.INCONCLUSIVE], Exit.NO_VERDICT),
        ([Verdict.INCONCLUSIVE, Verdict.FAIL], Exit.FAILED),
        ([Verdict.FAIL, Verdict.ERROR], Exit.SUITE_FAULT),
        ([Verdict.NOT_APPLICABLE, Verdict.DOCUMENTED], Exit.NO_VERDICT),
        ([], Exit.NO_VERDICT),
    ],
)
def test_exit_codes_follow_their_precedence(verdicts: list[Verdict], expected_exit: Exit) -> None:
    """Where several apply the order is 130, 2, 4, 1, 3, 0, and it is never 0 when nothing was decided."""
    assert exit_code(verdicts) is expected_exit
    assert exit_code(verdicts, is_interrupted=True) is Exit.INTERRUPTED


def test_strict_makes_a_warning_fail() -> None:
    """A warning fails a strict run only."""
    assert exit_code([Verdict.WARN], is_strict=True) is Exit.FAILED
    assert exit_code([Verdict.WARN]) is Exit.PASSED


def test_an_expected_failure_list_cannot_rot() -> None:
    """A listed row that passes, or whose entry lapsed, fails the run."""
    entry = ExpectedFailure(id="RAIL-402-01", reason="known", owner="us", expires=dt.date(2030, 1, 31))
    assert compare_with_entry(entry, Verdict.FAIL, dt.date(2030, 1, 31)) == "expected"
    assert compare_with_entry(entry, Verdict.FAIL, dt.date(2030, 2, 1)) == "expired"
    assert compare_with_entry(entry, Verdict.PASS, dt.date(2030, 1, 1)) == "unexpected_pass"
    assert compare_with_entry(entry, Verdict.NOT_APPLICABLE, dt.date(2030, 1, 1)) == "unmatched"
    assert compare_with_entry(entry, Verdict.DOCUMENTED, dt.date(2030, 1, 1)) == "unmatched"
    assert compare_with_entry(entry, Verdict.INCONCLUSIVE, dt.date(2030, 1, 1)) is None
    assert exit_code([Verdict.PASS], unexpected_passes=1) is Exit.FAILED
