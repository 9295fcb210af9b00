"""What the reports know of a run."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from conformance.outcome import Verdict
from conformance.report.conclusion import headline, rests_on, sentence
from conformance.report.summary import LogFault, summarise
from tests.conformance.report.run_builder import COUNTS, JUDGED, PASSED, RunBuilder, every_verdict


def test_rows_come_in_ledger_order_with_their_sentence() -> None:
    """A row carries the ledger's sentence and everything its checks found."""
    summary = summarise(every_verdict())
    row = next(row for row in summary.rows if row.id == "RAIL-402-01")
    assert row.verdict is Verdict.FAIL
    assert row.requirement.sentence
    assert [finding.found for finding in row.decisive_findings] == ["status 200"]
    assert row.group == "RAIL-402"
    assert list(summary.groups)[:2] == ["GW-DOC", "RAIL-402"]


def test_what_breaks_the_run_comes_first() -> None:
    """A reader meets faults and failures before warnings and what could not be decided."""
    summary = summarise(every_verdict())
    assert [row.verdict.value for row in summary.attention] == ["error", "fail", "fail", "warn", "inconclusive"]


def test_only_cited_exchanges_of_troubled_rows_are_kept() -> None:
    """Reports stay small: the exchange of a row that passed is in the log only."""
    run = RunBuilder(["RAIL-402-01", "RAIL-402-02"])
    good, bad = run.exchange("a"), run.exchange("a", status=500)
    run.judge("RAIL-402-01", Verdict.PASS, exchange=good).judge("RAIL-402-02", Verdict.FAIL, exchange=bad)
    summary = summarise(run.finish({"RAIL-402-02": Verdict.FAIL}))
    assert list(summary.exchanges) == [bad]
    assert summary.exchange_count == 2


def test_the_slowest_check_comes_first() -> None:
    """Slow checks are named with how they ended."""
    summary = summarise(every_verdict())
    slowest = summary.slowest[0]
    assert (slowest.check, slowest.outcome) == ("paid_call[algorand]", "unreachable")


def test_a_known_breach_does_not_break_the_run_and_a_stale_one_does() -> None:
    """The expected-failure list excuses a breach; an entry that passes or has lapsed fails the run."""
    rows = ["RAIL-402-01", "RAIL-402-02", "RAIL-402-03"]
    expected_states = {"RAIL-402-01": "expected", "RAIL-402-02": "unexpected_pass", "RAIL-402-03": "expired"}
    run = RunBuilder(rows)
    summary = summarise(run.finish({rows[0]: Verdict.FAIL, rows[2]: Verdict.FAIL}, known_states=expected_states))
    assert {row.id: summary.breaks(row) for row in summary.rows} == dict(zip(rows, (False, True, True), strict=True))
    assert headline(summary) == "Failed"


@pytest.mark.parametrize(("options", "breaks"), [({}, False), ({"strict": True}, True)])
def test_a_warning_breaks_a_strict_run_only(options: Mapping[str, bool], breaks: bool) -> None:
    """Only --strict lets a warning fail the run."""
    run = RunBuilder(["RAIL-402-07"], options=options)
    summary = summarise(run.finish({"RAIL-402-07": Verdict.WARN}))
    assert summary.breaks(summary.rows[0]) is breaks


def test_the_conclusion_names_what_the_verdict_rests_on() -> None:
    """The word "Passed" is never printed without what was claimed absent and which values were not the defaults."""
    summary = summarise(every_verdict())
    text = " ".join(rests_on(summary))
    absent = COUNTS[Verdict.NOT_APPLICABLE]
    assert f"{PASSED} passed; {absent} more requirements not judged, because the profile does not claim them" in text
    assert "3 values of the target profile set to something other than the default" in text
    conclusion = f"{PASSED} of {JUDGED} judged requirements pass, 2 fail, 1 warn, 1 could not be decided"
    assert sentence(summary).startswith(conclusion)
    assert dict(summary.non_defaults)["claims.lanes"] == "algorand"


def test_a_log_that_ends_early_is_unfinished_never_passed() -> None:
    """A crash in the middle leaves rows inconclusive, and the headline says so."""
    run = RunBuilder(["RAIL-402-01", "RAIL-402-02"])
    run.judge("RAIL-402-01", Verdict.PASS)
    summary = summarise(run.log.events)
    assert headline(summary) == "Unfinished"
    assert [row.verdict for row in summary.rows] == [Verdict.PASS, Verdict.INCONCLUSIVE]
    assert "ends before the end of the run" in sentence(summary)


@pytest.mark.parametrize(
    "events", [[], [{"event": "run.started"}], [{"event": "judgement", "row": 1}], [{"event": "run.finished"}]]
)
def test_a_log_of_something_else_is_refused_with_a_sentence(events: list[Mapping[str, object]]) -> None:
    """A file that is no run gives a fault with text, not a stray exception."""
    with pytest.raises(LogFault, match="event log"):
        summarise(events)


def test_a_row_of_another_version_is_shown_as_unknown() -> None:
    """An old log may hold a row that this ledger has not."""
    summary = summarise(RunBuilder(["OLD-ROW-99"]).finish({"OLD-ROW-99": Verdict.FAIL}))
    assert summary.rows[0].id == "OLD-ROW-99"
    assert "does not know" in summary.rows[0].requirement.sentence


def test_a_target_that_never_answered_is_named() -> None:
    """The sentence asks what a reader should look at first; one answer among many is enough to leave it out."""
    for statuses, is_told in (((None, None), True), ((None, 404), False), ((), False)):
        run = RunBuilder(("RAIL-KEY-01",))
        for status in statuses:
            run.exchange("keys_are_published", status=status)
        text = sentence(summarise(run.finish({"RAIL-KEY-01": Verdict.INCONCLUSIVE})))
        assert ("Nothing at http://127.0.0.1:8402 gave an answer: connection refused." in text) is is_told


def test_an_exchange_that_was_broken_off_is_no_address_that_never_answered() -> None:
    """After Ctrl-C the report does not ask whether the server is running."""
    run = RunBuilder(("RAIL-KEY-01",))
    run.exchange("keys_are_published", status=None)
    events = [{**one, "error": None} if one["event"] == "exchange" else one for one in run.finish({})]
    summary = summarise(events)
    assert not summary.unanswered
    assert "gave an answer" not in sentence(summary)


def test_a_target_that_could_have_been_anybody_is_told_in_the_first_sentence() -> None:
    """The unchecked certificate is in the sentence that every format has."""
    for value, is_told in ((True, True), (False, False)):
        run = RunBuilder(("RAIL-KEY-01",), non_defaults=[("tls.insecure", value)])
        assert ("certificates were not checked" in sentence(summarise(run.finish({})))) is is_told


def test_what_was_not_shown_of_a_pass_is_told_with_its_reason() -> None:
    """The reason names what would show it, such as a key to bind."""
    row = "RAIL-402-01"
    run = RunBuilder((row,)).judge(row, Verdict.PASS)
    run.judge(
        row, Verdict.DOCUMENTED, expected_text="none of its optional members was tried; bind [rail.other_bodies] x"
    )
    reasons = rests_on(summarise(run.finish({})))
    assert f"Not shown of {row}: none of its optional members was tried; bind [rail.other_bodies] x." in reasons


def test_what_was_not_tried_is_told_beside_a_pass() -> None:
    """A row may pass by other checks, whatever one of them could not try."""
    row = "RAIL-WELD-11"
    untried_part = "what a restart of the rail forgets (bind [surfaces.rail] restart)"
    run = RunBuilder((row,)).judge(row, Verdict.PASS)
    run.judge(row, Verdict.NOT_APPLICABLE, where={"not_tried": untried_part})
    reasons = rests_on(summarise(run.finish({})))
    assert f"Not tried: {untried_part}." in reasons
    assert not [line for line in rests_on(summarise(every_verdict())) if line.startswith("Not tried")]


def test_a_breach_of_a_row_that_was_not_selected_is_told_at_the_end() -> None:
    """It was printed as it went by; the exit code stays that of what was selected."""
    run = RunBuilder(("RAIL-402-01",)).judge("RAIL-402-01", Verdict.PASS)
    run.judge("RAIL-PAY-02", Verdict.FAIL).judge("RAIL-PAY-03", Verdict.PASS)
    summary = summarise(run.finish({}))
    assert sentence(summary).endswith("Also seen, not selected: RAIL-PAY-02 fail.")
    assert summary.exit_code == 0
