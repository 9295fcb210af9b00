"""A quick look in every format: what it left out and shortened is there, and nothing says that anything passed."""

from __future__ import annotations

import io
import json
import re

import jsonschema_rs
import pytest
from junitparser import JUnitXml, Skipped

from conformance.ledger import load
from conformance.log.events import Event
from conformance.outcome import Exit, Verdict
from conformance.report import console, formats
from conformance.report import json as json_report
from conformance.report.conclusion import headline, sentence
from conformance.report.summary import summarise
from conformance.text.terminal import Terminal
from tests.conformance.report.run_builder import RunBuilder

REASON = "left out by --quick: moves the clock, so it would run alone after all others"
CONCLUSION = "No breach found in the samples; run without --quick for a verdict"
ROWS = ("RAIL-402-01", "RAIL-402-02", "RAIL-402-03")


def quick_run(verdict: Verdict = Verdict.PASS) -> tuple[Event, ...]:
    """Return a quick look: a row tried in part, one left out, one tried by one check and left out by another."""
    run = RunBuilder(ROWS, quick=True)
    run.log.add("check.shortened", check="vectors", rows=[ROWS[0]], what="vectors of a kind", tried=3, of=40)
    run.log.add("check.shortened", check="vectors", rows=[ROWS[0]], what="vectors of a kind", tried=2, of=10)
    run.judge(ROWS[0], verdict, check="vectors", expected_text="402").check("vectors")
    run.judge(ROWS[1], Verdict.LEFT_OUT, check="clock", expected_text=REASON)
    run.judge(ROWS[2], Verdict.PASS, check="vectors").judge(
        ROWS[2], Verdict.LEFT_OUT, check="clock", expected_text=REASON
    )
    return run.finish({ROWS[0]: verdict, ROWS[1]: Verdict.LEFT_OUT})


def render_all(events: tuple[Event, ...]) -> dict[str, str]:
    """Return each format's text, the console's among them."""
    out = io.StringIO()
    console.show(summarise(events), console=Terminal(out, width=200))
    return {"console": out.getvalue()} | {name: one.render(events).decode() for name, one in formats.FORMATS.items()}


@pytest.mark.parametrize("name", ["console", *formats.FORMATS])
def test_no_format_of_a_quick_look_says_that_anything_passed(name: str) -> None:
    """It found nothing in what it tried: that is no pass, in no words and in no colour."""
    text = render_all(quick_run())[name]
    # Names of CTRF, of our verdicts, and of what the page finds and paints by are no words of the report.
    report_text = re.sub(
        r'"(passed|pass)": \d+|"(rawStatus|verdict)": "pass"|(value|data-verdict)="pass"|v-pass', "", text
    )
    report_text = re.sub(r"<style>.*?</style>|<script>.*?</script>", "", report_text, flags=re.DOTALL)
    assert not re.search(r"\b(pass|passed|passing|conforms|conforming)\b", report_text, re.IGNORECASE)
    assert "uick look" in text


@pytest.mark.parametrize("name", ["console", "html", "json", "junit", "markdown", "sarif"])
def test_every_report_of_a_quick_look_says_what_it_comes_to(name: str) -> None:
    """Its conclusion stands in each format that has sentences."""
    text = render_all(quick_run())[name].replace("\\", "")
    assert CONCLUSION in text
    assert "1 left out by --quick" in text


@pytest.mark.parametrize("name", ["console", "html", "json", "markdown"])
def test_the_reports_name_what_was_left_out_and_shortened(name: str) -> None:
    """Rows, reasons, and how many of how many; the parts of one check are one line."""
    text = render_all(quick_run())[name].replace("\\", "")
    assert REASON in text
    assert "5 of 50" in text
    assert "vectors of a kind" in text


def test_the_badge_of_a_quick_look_has_another_colour_than_a_pass() -> None:
    """It says quick look and that it is no verdict."""
    badge = render_all(quick_run())["badge"]
    whole = RunBuilder([row.id for row in load() if row.surface in {"rail", "shared"}])
    assert "quick look, no verdict" in badge
    assert "#1a7f4b" in render_all(whole.finish({}))["badge"]
    assert "#1a7f4b" not in badge


def test_the_json_of_a_quick_look_is_of_the_schema_and_passes_nothing() -> None:
    """Programs find `quick`, the rows left out and what was shortened, and can read it back."""
    value = json.loads(render_all(quick_run())["json"])
    jsonschema_rs.validator_for(dict(json_report.schema())).validate(value)
    results = value["results"]
    assert results["summary"]["passed"] == 0
    assert results["summary"]["extra"]["quick"] is True
    assert results["summary"]["extra"]["headline"] == "Quick look"
    assert results["summary"]["extra"]["verdicts"]["left_out"] == 1
    assert [test["status"] for test in results["tests"]] == ["other", "skipped", "other"]
    assert [test["rawStatus"] for test in results["tests"]] == ["pass", "left_out", "pass"]
    assert results["tests"][0]["message"] == "vectors tried 5 of 50: vectors of a kind"
    assert results["tests"][2]["message"] == f"clock was {REASON}"
    assert results["extra"]["shortened"] == [
        {"check": "vectors", "rows": [ROWS[0]], "what": "vectors of a kind", "tried": 5, "of": 50}
    ]
    assert json_report.read(value) == summarise(quick_run())


def test_junit_of_a_quick_look_skips_what_it_did_not_fail() -> None:
    """A CI system that counts passes counts none."""
    suites = JUnitXml.fromstring(formats.FORMATS["junit"].render(quick_run()))
    results = [case.result[0] for suite in suites for case in suite]
    assert all(isinstance(one, Skipped) for one in results)
    assert [one.type for one in results] == ["quick_look", "left_out", "quick_look"]


def test_a_quick_look_says_what_it_is_once() -> None:
    """The headline and the sentence stand beside each other wherever there are words."""
    texts = render_all(quick_run())
    assert "Quick look: No breach found" in texts["console"]
    assert not [name for name, text in texts.items() if "Quick look: Quick look" in text]


def test_a_quick_look_that_warns_does_not_say_that_it_found_nothing() -> None:
    """A breach that only warns ends with 0, and is a breach all the same."""
    summary = summarise(quick_run(Verdict.WARN))
    assert (summary.exit_code, headline(summary)) == (Exit.PASSED, "Quick look")
    assert sentence(summary).startswith("Some of the samples warn; run without --quick for a verdict.")


def test_nothing_of_a_quick_look_is_green() -> None:
    """A row in which nothing was found has the colour of what was not judged, on paper and on a terminal."""
    out = io.StringIO()
    console.show(summarise(quick_run()), console=Terminal(out, width=200, terminal=True))
    assert not re.search(r"\x1b\[[0-9;]*\b(32|92)m", out.getvalue())
    page = render_all(quick_run())["html"]
    assert '<body class="tone-inconclusive quick">' in page
    assert ".quick { --pass: var(--quiet); }" in page
    assert "quick" not in re.findall(r"<body[^>]*>", render_all(RunBuilder(ROWS).finish({}))["html"])[0]


def test_a_breach_of_a_quick_look_is_a_breach() -> None:
    """It fails as it would fail a whole run, and says that the rest is no verdict."""
    summary = summarise(quick_run(Verdict.FAIL))
    assert (summary.exit_code, headline(summary)) == (Exit.FAILED, "Failed")
    assert sentence(summary).startswith("Quick look: it breaks requirements; run without --quick for a verdict.")


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([Verdict.PASS, Verdict.LEFT_OUT], Exit.PASSED),
        ([Verdict.LEFT_OUT, Verdict.NOT_APPLICABLE], Exit.NO_VERDICT),
        ([Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.LEFT_OUT], Exit.NO_VERDICT),
        ([Verdict.FAIL, Verdict.LEFT_OUT], Exit.FAILED),
    ],
)
def test_exit_codes_of_a_quick_look(verdicts: list[Verdict], code: Exit) -> None:
    """0 when nothing tried failed, never when nothing was tried or something tried could not be decided."""
    rows = ROWS[: len(verdicts)]
    run = RunBuilder(rows, quick=True)
    assert summarise(run.finish(dict(zip(rows, verdicts, strict=True)))).exit_code == code
