"""`junit.xml`: one test suite a row group, one test case a requirement; times in UTC.

`fail` is a failure; so is a warning under `--strict` and an expected failure that does not hold. `error` is an
error. `inconclusive` is an error of type `inconclusive`, not a skip: a missing prerequisite is red, or a build that
tested nothing would look green. `not_applicable`, `documented` and a known breach are skipped, with their reason; so
is what a quick look left out or found no breach in, since it passes nothing. A `warn` passes: its `system-out` begins
with `WARNING` and has what was found, and its suite's property `warnings` counts it. The property `conclusion` is the
run's outcome in words.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from conformance.log.events import Event
from conformance.outcome import Verdict
from conformance.report.conclusion import describe_standing, expectation, headline, sentence
from conformance.report.detail import finding_text
from conformance.report.row_result import RowResult
from conformance.report.summary import Summary, summarise
from conformance.text.target_text_escaping import one_line, visible

SHOWN_FINDINGS = 10


def render(events: Iterable[Event]) -> bytes:
    """Return `junit.xml`, UTF-8."""
    summary = summarise(events)
    root = Element("testsuites", name="weldproof")
    root.extend([_suite(summary, name, rows) for name, rows in summary.groups.items()])
    # Jenkins' xUnit plugin rejects a file whose root has `skipped`: its schema (junit-10.xsd) allows it on suites only.
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.attrib[count]) for suite in root)))
    # Checks run in parallel, so the sum of the cases would be longer than the run.
    if summary.seconds is not None:
        root.set("time", str(round(summary.seconds, 3)))
    text: bytes = tostring(root, encoding="utf-8")
    return text


def _suite(summary: Summary, name: str, rows: Sequence[RowResult]) -> Element:
    cases = [_case(summary, row) for row in rows]
    suite = Element("testsuite", name=f"weldproof.{name}", hostname=one_line(summary.target, 100))
    suite.set("timestamp", dt.datetime.fromtimestamp(summary.started_at, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S"))
    suite.set("tests", str(len(cases)))
    for count, kind in (("errors", "error"), ("failures", "failure"), ("skipped", "skipped")):
        suite.set(count, str(sum(case.find(kind) is not None for case in cases)))
    properties = SubElement(suite, "properties")
    for key, value in _properties(summary, rows):
        SubElement(properties, "property", name=key, value=value)
    suite.extend(cases)
    suite.set("time", str(round(sum(summary.seconds_of(row) for row in rows), 3)))
    return suite


def _properties(summary: Summary, rows: Sequence[RowResult]) -> Iterator[tuple[str, str]]:
    yield "conclusion", f"{headline(summary)}: {sentence(summary)}"
    warning = sum(row.verdict is Verdict.WARN for row in rows)
    if warning:
        yield "warnings", str(warning)
    yield "seed", str(summary.seed)
    yield "suite_version", one_line(summary.suite_version, 100)
    if summary.interrupted:
        yield "interrupted", "true"


def _case(summary: Summary, row: RowResult) -> Element:
    case = Element(
        "testcase",
        name=f"{row.id} {row.requirement.sentence}",
        classname=f"{row.requirement.surface}.{row.group}",
        time=str(round(summary.seconds_of(row), 3)),
    )
    result = _result(summary, row)
    if result is not None:
        case.append(result)
    elif row.verdict is Verdict.WARN:
        SubElement(case, "system-out").text = f"WARNING: {_text(summary, row)}"
    return case


def _result(summary: Summary, row: RowResult) -> Element | None:
    reason = one_line(": ".join(filter(None, (expectation(row), row.headline))) or row.verdict.value, 1000)
    if row.expected_failure == "expected":
        return Element("skipped", message=reason, type="expected_failure")
    if row.verdict in {Verdict.NOT_APPLICABLE, Verdict.DOCUMENTED, Verdict.LEFT_OUT} and not summary.breaks(row):
        return Element("skipped", message=reason, type=row.verdict.value)
    if row.verdict in {Verdict.ERROR, Verdict.INCONCLUSIVE}:
        result = Element("error", message=reason, type=row.verdict.value)
    elif summary.breaks(row):
        result = Element("failure", message=reason, type=row.expected_failure or row.verdict.value)
    elif summary.quick and row.verdict is Verdict.PASS:
        parts = ("quick look: no breach found in the samples", *summary.short_trials(row))
        return Element("skipped", message=one_line("; ".join(parts), 1000), type="quick_look")
    else:
        return None
    result.text = _text(summary, row)
    return result


def _text(summary: Summary, row: RowResult) -> str:
    parts = [f"{row.requirement.sentence}\n{describe_standing(row)}"]
    parts += [finding_text(finding, summary) for finding in row.against[:SHOWN_FINDINGS]]
    if len(row.against) > SHOWN_FINDINGS:
        parts.append(f"and {len(row.against) - SHOWN_FINDINGS} more")
    return visible("\n\n".join(parts))
