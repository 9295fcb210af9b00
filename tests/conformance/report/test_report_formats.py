"""Every format: hostile content, determinism, and that another program can read it."""

from __future__ import annotations

import html.parser
import io
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped

from conformance.log.events import Event
from conformance.outcome import Verdict
from conformance.report import console, formats
from conformance.report import json as json_report
from conformance.report.summary import LogFault, summarise
from conformance.text.terminal import Terminal
from tests.conformance.report.run_builder import COUNTS, PASSED, VERDICTS, RunBuilder, every_verdict

HOSTILE = (
    "</pre></details><script>alert(1)</script><img src=x onerror=alert(1)>",
    "]]><failure/><!-- & &amp; \x00\x08\x1b[2J\x1b]0;owned\x07",
    "\ud800 lone \udfff \ufffe \U0001fffe \u202egnp.exe\u2066",
    "[bold red]not markup[/] {{ 7*7 }} {% raw %} ${7*7}",
    "a\n```\n# heading\n| a | b |\n~~~\n<b>",
    "\r\n\r\n\x85\u2028\u2029\x0b\x0c",
    "x" * 200_000,
)
TEXT = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=()), max_size=60))


def run_with(text: str) -> tuple[Event, ...]:
    """Return a run in which everything that a target can choose is `text`."""
    rows = ["RAIL-402-01", "RAIL-402-02", "RAIL-402-07", "RAIL-402-03"]
    run = RunBuilder(rows, target=text, non_defaults=[("rail.scheme", text)], options={"mutant": text})
    sent_members: dict[str, Any] = {"method": text, "url": text, "path": text, "headers": [[text, text]], "body": text}
    number = run.exchange("check", answer=text, **sent_members)
    run.judge(
        rows[0], Verdict.FAIL, expected_text=text, found_text=text, hint=text, exchange=number, where={text: text}
    )
    run.judge(rows[1], Verdict.INCONCLUSIVE, expected_text=text, exchange=number)
    run.judge(rows[2], Verdict.WARN, expected_text=text, found_text=text).judge(
        rows[3], Verdict.PASS, expected_text=text
    )
    run.check("check", 0.1, "fault", text)
    run.log.add("note", check="check", text=text)
    run.comparison(text).comparison(text, grade=None, missing_reason=f"not there: {text}").comparison(
        text, is_verified=False
    )
    return run.finish({rows[0]: Verdict.FAIL, rows[1]: Verdict.INCONCLUSIVE, rows[2]: Verdict.WARN})


def print_to_console(events: tuple[Event, ...]) -> str:
    """Return what the console prints on something that is no terminal."""
    out = io.StringIO()
    console.show(summarise(events), console=Terminal(out, width=100))
    return out.getvalue()


class Page(html.parser.HTMLParser):
    """Collects the elements and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href", "action"}]
        self.ids += [value or "" for name, value in attrs if name == "id"]


every_hostile = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("name", sorted(formats.FORMATS))
@every_hostile
@given(TEXT)
@example("\ud800")
def test_hostile_content_leaves_every_format_well_formed(name: str, text: str) -> None:
    """Whatever a target says, the file is UTF-8 without control characters that a reader's program would obey."""
    report_text = formats.FORMATS[name].render(run_with(text)).decode("utf-8")
    assert re.search("[\x1b\x00\x07\u202e]", report_text) is None


@every_hostile
@given(TEXT)
def test_hostile_content_adds_no_element_to_the_page(text: str) -> None:
    """The page has exactly the elements of a harmless run; nothing of the target becomes markup."""
    harmless = Page(formats.FORMATS["html"].render(run_with("harmless")).decode())
    hostile = Page(formats.FORMATS["html"].render(run_with(text)).decode())
    assert harmless.tags == hostile.tags
    assert harmless.attributes == hostile.attributes


@every_hostile
@given(TEXT)
def test_hostile_content_keeps_the_json_report_valid_and_readable(text: str) -> None:
    """The JSON report obeys its schema and reads back to a summary."""
    document = json.loads(json_report.render(run_with(text)))
    jsonschema_rs.validator_for(dict(json_report.schema())).validate(document)
    assert json_report.document(json_report.read(document)) == document


@every_hostile
@given(TEXT)
def test_hostile_content_keeps_junit_readable(text: str) -> None:
    """An XML parser reads the JUnit report and finds one failure, one error."""
    suites = JUnitXml.fromstring(formats.FORMATS["junit"].render(run_with(text)))
    results = [type(result) for suite in suites for case in suite for result in case.result]
    assert results == [Failure, Error]


@every_hostile
@given(TEXT)
def test_hostile_content_prints_no_terminal_commands(text: str) -> None:
    """What a target sends never reaches the terminal as a command, nor as markup of the console library."""
    console_text = print_to_console(run_with(text))
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", console_text) is None
    if text.startswith("[bold"):
        assert "[bold red]not markup[/]" in console_text


@every_hostile
@given(TEXT)
def test_hostile_content_stays_inside_its_fence(text: str) -> None:
    """In Markdown every line of a target's text is inside a fence that it cannot close."""
    lines = formats.FORMATS["markdown"].render(run_with(text)).decode().split("\n")
    fence, outside = None, []
    for line in lines:
        if fence is None and (opened := re.fullmatch("(`{3,})text", line)):
            fence = opened[1]
        elif fence is not None and line == fence:
            fence = None
        elif fence is None:
            outside.append(line)
    assert fence is None
    assert not any(re.search(r"<|(?<!\\)`", line) for line in outside)
    assert sum(line.startswith("# ") for line in outside) == 1


@pytest.mark.parametrize("name", sorted(formats.FORMATS))
def test_the_same_events_give_the_same_bytes(name: str) -> None:
    """Every report is a pure function of the log."""
    render = formats.FORMATS[name].render
    assert render(every_verdict()) == render(every_verdict())


def test_the_page_needs_no_network_and_runs_only_its_own_script() -> None:
    """One file: no address leads outside, ids are unique, and the policy names the style and script by digest."""
    text = formats.FORMATS["html"].render(every_verdict()).decode()
    page = Page(text)
    assert all(address.startswith("#") for address in page.addresses)
    assert {address[1:] for address in page.addresses} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert page.tags.count("script") == 1
    assert re.search(r"default-src &#39;none&#39;|default-src 'none'", text)
    assert "style" not in page.attributes
    assert not any(name.startswith("on") for name in page.attributes)


def test_the_page_shows_what_a_failure_needs() -> None:
    """Sentence, expected, found, fix, exchange, curl line and replay id of a failure are on the page."""
    text = formats.FORMATS["html"].render(every_verdict()).decode()
    for part in ("answers 402", "status 200", "Answer 402 before the service runs.", "curl -sS", "replay REPORT#1"):
        assert part in text


def test_the_page_sets_code_in_sentences_as_code() -> None:
    """A member name of a requirement's sentence reads as code."""
    text = formats.FORMATS["html"].render(every_verdict()).decode()
    assert "<code>accepts</code> is a non-empty array" in text


def test_markdown_tells_the_verdict_then_what_needs_attention_then_the_rest() -> None:
    """The order of the page: faults come before tables."""
    lines = formats.FORMATS["markdown"].render(every_verdict()).decode().splitlines()
    assert [line for line in lines if line.startswith(("# ", "## "))] == [
        "# Fault in the suite: test target",
        "## What needs attention",
        "## Every requirement, by group",
        "## What the verdict rests on",
        "## Values of the target profile that are not the default",
    ]


def test_huge_bodies_are_cut_and_say_so() -> None:
    """A body of megabytes does not make a report of megabytes."""
    events = run_with("y" * 3_000_000)
    kinds = ("html", "junit", "markdown", "sarif", "badge")
    reports = {name: formats.FORMATS[name].render(events) for name in kinds}
    assert {name: len(one) for name, one in reports.items() if len(one) >= 300_000} == {}
    assert len(print_to_console(events)) < 100_000
    assert b"more characters)" in reports["html"]


def test_json_counts_add_up_and_verdicts_stand_beside_statuses() -> None:
    """`results.summary` counts each row once by its status; the verdicts are there in our words."""
    results = json.loads(json_report.render(every_verdict()))["results"]
    counts = results["summary"]
    assert counts["tests"] == len(VERDICTS)
    assert sum(counts[name] for name in ("passed", "failed", "skipped", "pending", "other")) == counts["tests"]
    skipped_count = COUNTS[Verdict.NOT_APPLICABLE] + COUNTS[Verdict.DOCUMENTED]
    assert (counts["passed"], counts["failed"], counts["skipped"], counts["other"]) == (PASSED, 3, skipped_count, 2)
    assert counts["extra"]["verdicts"]["inconclusive"] == 1
    assert counts["extra"]["exit_code"] == 4
    assert {test["rawStatus"] for test in results["tests"]} == {verdict.value for verdict in Verdict} - {"left_out"}


def test_the_json_report_reads_back_whole() -> None:
    """`read` gives the very summary that was written."""
    events = every_verdict()
    assert json_report.read(json.loads(json_report.render(events))) == summarise(events)


@pytest.mark.parametrize("value", [None, [], {}, {"results": {}}, {"results": {"tests": [{}], "extra": {}}}])
def test_what_is_no_report_is_refused_with_a_sentence(value: object) -> None:
    """Another program's JSON gives a fault with text."""
    with pytest.raises(LogFault, match="cannot read the report"):
        json_report.read(value)


def test_the_schema_refuses_a_report_that_lacks_its_counts() -> None:
    """The published schema is strict: an unknown or a missing member does not pass."""
    validator = jsonschema_rs.validator_for(dict(json_report.schema()))
    document = json.loads(json_report.render(every_verdict()))
    assert validator.is_valid(document)
    assert not validator.is_valid({**document, "more": 1})
    del document["results"]["summary"]["failed"]
    assert not validator.is_valid(document)


def test_junit_says_each_verdict_in_its_own_words() -> None:
    """Failures fail, faults and undecided rows are errors, absent and documented rows are skipped, warnings pass."""
    suites = JUnitXml.fromstring(formats.FORMATS["junit"].render(every_verdict()))
    cases = {case.name.partition(" ")[0]: case for suite in suites for case in suite}
    assert isinstance(cases["RAIL-402-01"].result[0], Failure)
    assert "Answer 402 before the service runs." in cases["RAIL-402-01"].result[0].text
    assert isinstance(cases["RAIL-WELD-03"].result[0], Error)
    assert cases["RAIL-WELD-02"].result[0].type == "inconclusive"
    assert isinstance(cases["RAIL-A2A-01"].result[0], Skipped)
    assert isinstance(cases["GW-DOC-01"].result[0], Skipped)
    assert cases["RAIL-402-07"].result == []
    assert "lower case" in str(cases["RAIL-402-07"].system_out)
    assert (suites.tests, suites.failures, suites.errors) == (len(VERDICTS), 2, 2)
    skipped_count = COUNTS[Verdict.NOT_APPLICABLE] + COUNTS[Verdict.DOCUMENTED]
    assert sum(suite.skipped for suite in suites) == skipped_count


def test_junit_tells_a_warning_in_the_output_of_its_case() -> None:
    """A case that warns passes, its output begins with WARNING, and its suite counts it."""
    suites = JUnitXml.fromstring(formats.FORMATS["junit"].render(every_verdict()))
    warnings = {case.name.split()[0]: case.system_out for suite in suites for case in suite if case.system_out}
    assert [(row, text.partition(":")[0]) for row, text in warnings.items()] == [("RAIL-402-07", "WARNING")]
    (suite,) = (one for one in suites if one.name == "weldproof.RAIL-402")
    properties = suite.properties()  # type: ignore[no-untyped-call]
    assert {one.name: one.value for one in properties}["warnings"] == "1"


BREACH = "expected not served; found 200"
# What the schema of Jenkins' xUnit plugin (junit-10.xsd), to which pytest is held too, allows of what we write: each
# element's attributes, the required ones first, and children in their order, where it prescribes none, in ours.
JUNIT: dict[str, tuple[set[str], set[str], list[str]]] = {
    "testsuites": (set(), {"name", "tests", "failures", "errors", "time"}, ["testsuite"]),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"skipped", "time", "timestamp", "hostname"},
        ["properties", "testcase"],
    ),
    "properties": (set(), set(), ["property"]),
    "property": ({"name", "value"}, set(), []),
    "testcase": ({"name", "classname"}, {"time"}, ["skipped", "error", "failure", "system-out"]),
    "skipped": (set(), {"type", "message"}, []),
    "error": (set(), {"type", "message"}, []),
    "failure": (set(), {"type", "message"}, []),
    "system-out": (set(), set(), []),
}


@every_hostile
@given(TEXT)
def test_junit_has_the_elements_of_its_schema_and_no_others(text: str) -> None:
    """Names, attributes, order, whole numbers and times of at most three places, as CI systems read them."""
    fine = RunBuilder(["RAIL-402-01"]).judge("RAIL-402-01", Verdict.PASS, check="c").check("c", 0.12345).finish({})
    for events in (run_with(text), every_verdict(), fine):
        root = ET.fromstring(formats.FORMATS["junit"].render(events))  # noqa: S314 - our own text
        for element in root.iter():
            required_attributes, further, children = JUNIT[element.tag]
            assert required_attributes <= set(element.keys()) <= required_attributes | further, element.tag
            places = [children.index(child.tag) for child in element]
            assert places == sorted(places)
            numbers = [element.get(name, "0") for name in ("tests", "failures", "errors", "skipped")]
            assert all(number.isdecimal() for number in numbers)
            assert len(element) == 0 or not (element.text or "").strip(), "only text has text"
            assert re.fullmatch(r"\d+(\.\d{1,3})?", element.get("time", "0"))


def test_the_headline_of_a_failure_names_what_was_expected_and_what_was_found() -> None:
    """JUnit, SARIF, JSON and the console: the expectation alone ("not served") would read as its opposite."""
    rows = ["RAIL-WELD-02", "RAIL-402-01"]
    run = RunBuilder(rows).judge(
        "RAIL-WELD-02", Verdict.FAIL, check="weld", expected_text="not served", found_text="200"
    )
    run.judge("RAIL-402-01", Verdict.WARN, check="weld", expected_text="fresh tokens", found_text="one token twice")
    events = run.finish({rows[0]: Verdict.FAIL, rows[1]: Verdict.WARN})
    suites = JUnitXml.fromstring(formats.FORMATS["junit"].render(events))
    assert [case.result[0].message for suite in suites for case in suite if case.result] == [BREACH]
    results = json.loads(formats.FORMATS["sarif"].render(events))["runs"][0]["results"]
    assert f": {BREACH}" in results[0]["message"]["text"]
    assert ": expected fresh tokens; found one token twice" in results[1]["message"]["text"]
    tests = json.loads(json_report.render(events))["results"]["tests"]
    assert {test["message"] for test in tests} == {BREACH, "expected fresh tokens; found one token twice"}


def test_a_known_breach_says_both_that_it_is_known_and_what_it_is() -> None:
    """The expected-failure list does not hide the headline."""
    run = RunBuilder(["RAIL-WELD-02"])
    run.judge("RAIL-WELD-02", Verdict.FAIL, check="weld", expected_text="not served", found_text="200")
    events = run.finish({"RAIL-WELD-02": Verdict.FAIL}, known_states={"RAIL-WELD-02": "expected"})
    (case,) = (case for suite in JUnitXml.fromstring(formats.FORMATS["junit"].render(events)) for case in suite)
    assert case.result[0].message == f"on the expected-failure list, so it does not fail the run: {BREACH}"


def test_junit_root_takes_as_long_as_the_run() -> None:
    """Checks run side by side: the sum of the cases (30.1 + 0.4 + …) is longer than the run's 12.5 s."""
    root = ET.fromstring(formats.FORMATS["junit"].render(every_verdict()))  # noqa: S314 - our own text
    assert root.get("time") == "12.5"
    assert sum(float(suite.get("time", "0")) for suite in root) > 12.5


def test_junit_counts_all_suites_and_says_when() -> None:
    """The root carries the sums that CI systems show, and each suite the run's begin in UTC."""
    suites = JUnitXml.fromstring(formats.FORMATS["junit"].render(every_verdict()))
    suite_list = list(suites)
    for name in ("tests", "failures", "errors"):
        assert getattr(suites, name) == sum(getattr(one, name) for one in suite_list) > 0
    assert {one.timestamp for one in suite_list} == {"2025-10-09T08:53:20"}


def test_junit_skips_a_known_breach_and_fails_a_stale_entry() -> None:
    """The expected-failure list shows in JUnit as it does in the exit code."""
    rows = ["RAIL-402-01", "RAIL-402-02"]
    known_states = {rows[0]: "expected", rows[1]: "unexpected_pass"}
    events = RunBuilder(rows).finish({rows[0]: Verdict.FAIL}, known_states=known_states)
    suites = JUnitXml.fromstring(formats.FORMATS["junit"].render(events))
    assert [type(case.result[0]) for suite in suites for case in suite] == [Skipped, Failure]


def test_json_counts_a_known_breach_as_other_and_a_stale_entry_as_failed() -> None:
    """The statuses of the JSON report agree with the exit code."""
    rows = ["RAIL-402-01", "RAIL-402-02", "RAIL-402-03"]
    known_states = {rows[0]: "expected", rows[1]: "unexpected_pass", rows[2]: "expired"}
    events = RunBuilder(rows).finish({rows[0]: Verdict.FAIL, rows[2]: Verdict.WARN}, known_states=known_states)
    results = json.loads(json_report.render(events))["results"]
    assert [test["status"] for test in results["tests"]] == ["other", "failed", "failed"]
    assert [test["rawStatus"] for test in results["tests"]] == ["fail", "pass", "warn"]
    assert results["summary"]["extra"]["exit_code"] == 1


def test_sarif_points_each_breach_at_its_rule() -> None:
    """A result names its rule by id and index, and a known breach is suppressed."""
    rows = ["RAIL-402-01", "RAIL-402-07", "RAIL-402-02"]
    run = RunBuilder(rows).judge(rows[0], Verdict.FAIL, found_text="200").judge(rows[1], Verdict.WARN, found_text="x")
    events = run.finish({rows[0]: Verdict.FAIL, rows[1]: Verdict.WARN}, known_states={rows[0]: "expected"})
    sarif = json.loads(formats.FORMATS["sarif"].render(events))["runs"][0]
    rules = [rule["id"] for rule in sarif["tool"]["driver"]["rules"]]
    results = {result["ruleId"]: result for result in sarif["results"]}
    assert set(rules) == {rows[0], rows[1]}
    assert all(rules[result["ruleIndex"]] == name for name, result in results.items())
    assert results[rows[0]]["suppressions"] == [{"kind": "external", "status": "accepted"}]
    assert "suppressions" not in results[rows[1]]


def test_write_makes_the_folder_and_names_each_file_once(tmp_path: Path) -> None:
    """Formats asked for twice are written once, under their published names."""
    paths_written = formats.write(every_verdict(), tmp_path / "deep" / "er", ["json", "html", "json"])
    assert [path.name for path in paths_written] == ["report.json", "index.html"]
    assert all(path.stat().st_size for path in paths_written)
