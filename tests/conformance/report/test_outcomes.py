"""A run's summary: nothing is green while a MUST is broken, and warnings are shown everywhere."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping

import pytest
from junitparser import JUnitXml

from conformance.ledger import load
from conformance.log.events import Event
from conformance.outcome import Exit, Verdict
from conformance.report import console, formats
from conformance.report.conclusion import headline, sentence
from conformance.report.summary import summarise
from conformance.text.terminal import Terminal
from tests.conformance.report.run_builder import RunBuilder

STATED_ROW, IMPLIED_ROW, SHOULD = "GW-RCPT-02", "GW-RCPT-16", "GW-CHK-13"
ROWS = [STATED_ROW, IMPLIED_ROW, SHOULD]
GREEN = "#1a7f4b"


def make_run(verdicts: Mapping[str, Verdict], known_failures: tuple[str, ...] = ()) -> tuple[Event, ...]:
    """Return a run in which those rows have those verdicts, each with a judgement, and all others pass."""
    builder = RunBuilder(ROWS)
    for row, verdict in verdicts.items():
        builder.judge(row, verdict, found_text="otherwise")
    return builder.finish(verdicts, known_states=dict.fromkeys(known_failures, "expected"))


def texts(events: tuple[Event, ...]) -> dict[str, str]:
    """Return every report as text; the console's with its colours."""
    out = io.StringIO()
    console.show(summarise(events), console=Terminal(out, width=200, terminal=True))
    return {"console": out.getvalue(), **{name: one.render(events).decode() for name, one in formats.FORMATS.items()}}


def looks_green(reports: dict[str, str]) -> set[str]:
    """Return the reports whose outcome has the colour of a pass."""
    last = reports["console"].rpartition("Passed")[0].rpartition("\n")[2]
    return {
        name
        for name, green in {
            "badge": GREEN in reports["badge"],
            "html": 'class="tone-pass"' in reports["html"],
            "console": "Passed" in reports["console"] and re.search(r"\x1b\[32m\x1b\[1m$", last) is not None,
        }.items()
        if green
    }


def test_the_ledger_has_the_rows_that_these_tests_need() -> None:
    """One MUST that is stated, one that is implied, and one row that only warns."""
    assert [(load()[row].level, load()[row].basis) for row in ROWS] == [
        ("MUST", "stated"),
        ("MUST", "implied"),
        ("SHOULD", "implied"),
    ]


def test_a_run_without_a_breach_is_green() -> None:
    """The control of what follows."""
    reports = texts(make_run({}))
    # The badge is green for a whole run only: see test_badge.py.
    assert looks_green(reports) == {"html", "console"}
    assert headline(summarise(make_run({}))) == "Passed"


def test_an_implied_must_that_is_broken_fails_in_every_report() -> None:
    """`alg: none` that passes is a failure by title, badge, page, JUnit, SARIF, Markdown, JSON and exit code."""
    events = make_run({IMPLIED_ROW: Verdict.FAIL})
    reports, summary = texts(events), summarise(events)
    assert (summary.exit_code, headline(summary), looks_green(reports)) == (Exit.FAILED, "Failed", set())
    assert "failed, 2 pass, 1 fail" in reports["badge"]
    assert "<title>Failed" in reports["html"]
    assert reports["markdown"].startswith("# Failed")
    assert JUnitXml.fromstring(reports["junit"].encode()).failures == 1
    assert [one["level"] for one in json.loads(reports["sarif"])["runs"][0]["results"]] == ["error"]
    assert json.loads(reports["json"])["results"]["summary"]["failed"] == 1
    assert "decides the verdict" in reports["console"]
    assert not [name for name, text in reports.items() if "warns only" in text]


def test_warnings_are_told_in_every_report() -> None:
    """A run that passes with a warning says so where it says that it passed."""
    events = make_run({SHOULD: Verdict.WARN})
    reports = texts(events)
    for name in ("console", "html", "markdown", "json", "junit", "sarif"):
        assert "Passed with 1 warning" in re.sub(r"\x1b\[[0-9;]*m", "", reports[name]), name
    assert "passed, 2 pass, 1 warn" in reports["badge"]
    assert 'name="warnings" value="1"' in reports["junit"]


def test_what_was_tried_in_part_is_told() -> None:
    """A whole run that drew a sample says so beside its verdict and beside the row."""
    builder = RunBuilder(ROWS)
    builder.judge(STATED_ROW, Verdict.PASS, check="hostile").check("hostile", 0.1)
    builder.log.add("check.shortened", check="hostile", rows=[STATED_ROW], what="inputs", tried=12, of=90)
    reports = texts(builder.finish({}))
    for name in ("console", "markdown", "html", "json"):
        assert "Tried in part, inputs: hostile 12 of 90." in reports[name].replace("\\", ""), name
    tests = json.loads(reports["json"])["results"]["tests"]
    assert tests[0]["message"] == "hostile tried 12 of 90: inputs"


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.WARN])
def test_a_known_breach_of_a_must_is_not_green(verdict: Verdict) -> None:
    """The expected-failure list keeps it out of the exit code, and nothing that is seen first calls it a plain pass."""
    events = make_run({IMPLIED_ROW: verdict}, known_failures=(IMPLIED_ROW,))
    reports, summary = texts(events), summarise(events)
    assert (summary.exit_code, looks_green(reports)) == (Exit.PASSED, set())
    assert headline(summary) == "Passed but for 1 known failure"
    assert f"passed but for 1 known failure, 2 pass, 1 {verdict.value}" in reports["badge"]


def test_a_must_that_only_warns_is_not_green() -> None:
    """Where a trial goes beyond what a MUST surely says, the run passes, and not in green."""
    events = make_run({IMPLIED_ROW: Verdict.WARN})
    assert looks_green(texts(events)) == set()
    assert headline(summarise(events)) == "Passed with 1 warning"


def test_a_selection_that_does_not_apply_says_why() -> None:
    """The last line of a run without a judgement names the missing claim; one judged row is enough to leave it out."""
    builder = RunBuilder(ROWS)
    absent = dict.fromkeys(ROWS, Verdict.NOT_APPLICABLE)
    for row in ROWS:
        builder.judge(row, Verdict.NOT_APPLICABLE, expected_text="the profile does not claim the surface webhooks")
    text = sentence(summarise(builder.finish(absent)))
    reason = "the profile does not claim the surface webhooks"
    assert text.endswith(f"None of them applies: {reason}. [claims] of the profile lists what is judged.")
    assert "None of them applies" not in sentence(summarise(make_run({SHOULD: Verdict.NOT_APPLICABLE})))
