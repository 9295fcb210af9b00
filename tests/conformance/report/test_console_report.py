"""The run on a terminal and off it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from conformance.outcome import Verdict
from conformance.report.console import show
from conformance.report.summary import summarise
from conformance.text.terminal import Terminal
from tests.conformance.report.run_builder import JUDGED, PASSED, RunBuilder, every_verdict


def test_a_failure_carries_what_repairs_it() -> None:
    """Sentence, expected, found, exchange, a curl line on one line, fix and a replay id that can be typed."""
    out = io.StringIO()
    show(summarise(every_verdict()), report_files=[Path("out/events.ndjson")], console=Terminal(out, width=60))
    text = out.getvalue()
    assert "A paid operation called without X-PAYMENT answers 402" in text
    assert "found     status 200" in text
    assert "fix       Answer 402 before the service runs." in text
    assert any(line.strip().startswith("curl ") and line.endswith("'") for line in text.splitlines())
    assert "weldproof replay out#1@00112233 --config PROFILE\n" in text
    assert "\n  out/events.ndjson\n" in text


def test_the_verdict_is_the_last_line() -> None:
    """After pages of failures the reader finds it where the terminal stopped, below what it rests on and the files."""
    out = io.StringIO()
    paths_written = [Path("out/events.ndjson.gz"), Path("out/index.html")]
    show(summarise(every_verdict()), report_files=paths_written, console=Terminal(out, width=200))
    *before, last = out.getvalue().splitlines()
    assert last.startswith(f"Fault in the suite: {PASSED} of {JUDGED} judged requirements pass")
    assert before.index("What the verdict rests on") < before.index("  out/index.html")
    assert any(line.endswith("exit code 4") for line in before)


def test_a_row_is_shown_by_one_case() -> None:
    """The first finding of a row stands for all, and the others are counted; `verbose` shows them."""
    run = RunBuilder(["RAIL-402-01"])
    for number in range(3):
        run.judge("RAIL-402-01", Verdict.FAIL, found_text=f"case {number}")
    summary = summarise(run.finish({"RAIL-402-01": Verdict.FAIL}))
    shown_lines = []
    for verbose in (False, True):
        out = io.StringIO()
        show(summary, console=Terminal(out, width=200), verbose=verbose)
        shown_lines.append([number for number in range(3) if f"found     case {number}" in out.getvalue()])
        assert ("and 2 more findings for this requirement" in out.getvalue()) is not verbose
    assert shown_lines == [[0], [0, 1, 2]]


def test_a_long_field_and_an_empty_finding_are_readable() -> None:
    """A field of 20,000 characters does not fill the screen, and an empty finding is not an empty line."""
    run = RunBuilder(["RAIL-402-01"])
    number = run.exchange("calls", status=431, answer="", headers=[["X-Long", "x" * 20_000]])
    run.judge("RAIL-402-01", Verdict.FAIL, found_text="", exchange=number)
    summary = summarise(run.finish({"RAIL-402-01": Verdict.FAIL}))
    out = io.StringIO()
    show(summary, console=Terminal(out, width=200))
    assert "found     nothing: it is empty\n" in out.getvalue()
    assert f"X-Long: {'x' * 500}… (19500 more characters)\n" in out.getvalue()
    assert summary.rows[0].headline == "expected an answer of 402; found nothing: it is empty"


def test_rows_that_do_not_apply_are_counted_in_one_line() -> None:
    """A group of which no row applies has no line; `verbose` shows it and the reason."""
    run = RunBuilder(["RAIL-402-01", "CP-AUTH-01", "CP-AUTH-02"])
    absent = dict.fromkeys(("CP-AUTH-01", "CP-AUTH-02"), Verdict.NOT_APPLICABLE)
    summary = summarise(run.finish({"RAIL-402-01": Verdict.PASS, **absent}))
    for verbose in (False, True):
        out = io.StringIO()
        show(summary, console=Terminal(out, width=200), verbose=verbose)
        assert ("CP-AUTH" in out.getvalue()) is verbose
        assert ("2 requirements do not apply to this target or are claimed absent; -v" in out.getvalue()) is not verbose


def test_a_stale_entry_of_the_expected_failure_list_is_shown() -> None:
    """A row that passes against its entry fails the run, so the reader learns why."""
    out = io.StringIO()
    row = "RAIL-402-01"
    events = RunBuilder([row]).finish({}, known_states={row: "unexpected_pass"})
    show(summarise(events), console=Terminal(out, width=200))
    assert "on the expected-failure list, but it passes: remove the entry" in out.getvalue()


def test_the_profile_is_listed_where_it_is_asked_for() -> None:
    """Values that are not defaults are counted; `verbose` shows each."""
    events = RunBuilder(["RAIL-402-01"], non_defaults=[(f"key.{n}", n) for n in range(25)]).finish({})
    for verbose in (False, True):
        out = io.StringIO()
        show(summarise(events), console=Terminal(out, width=200), verbose=verbose)
        assert "25 values of the target profile set to something other than the default." in out.getvalue()
        assert ("key.24 = 24" in out.getvalue()) is verbose
        assert ("-v shows these values." in out.getvalue()) is not verbose


def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under NO_COLOR a terminal gets no colour codes."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    out = io.StringIO()
    show(summarise(every_verdict()), console=Terminal(out, width=100, terminal=True))
    assert "\x1b[3" not in out.getvalue()
    assert "RAIL-402-01" in out.getvalue()
