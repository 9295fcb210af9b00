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
from collections.abc import Iterable

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from conformance.log.events import Event
from conformance.outcome import Verdict
from conformance.report.conclusion import expectation, headline, sentence, standing
from conformance.report.detail import finding_text
from conformance.report.row_result import RowResult
from conformance.report.summary import Summary, summarise
from conformance.text.untrusted import one_line, visible

SHOWN_FINDINGS = 10


def render(events: Iterable[Event]) -> bytes:
    """Return `junit.xml`, UTF-8."""
    summary = summarise(events)
    document = JUnitXml("weldproof")
    for name, rows in summary.groups.items():
        suite = TestSuite(f"weldproof.{name}")
        suite.hostname = one_line(summary.target, 100)
        suite.timestamp = dt.datetime.fromtimestamp(summary.started_at, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")
        suite.add_property("conclusion", f"{headline(summary)}: {sentence(summary)}")
        warned = sum(row.verdict is Verdict.WARN for row in rows)
        if warned:
            suite.add_property("warnings", str(warned))
        suite.add_property("seed", str(summary.seed))
        suite.add_property("suite_version", one_line(summary.suite_version, 100))
        if summary.interrupted:
            suite.add_property("interrupted", "true")
        suite.add_testcases([_case(summary, row) for row in rows])
        document.add_testsuite(suite)
    _add_up(document)
    text: bytes = document.tostring()  # type: ignore[no-untyped-call]
    return text


def _add_up(document: JUnitXml) -> None:
    """Count each suite, and all of them; the root has no `skipped`, which Jenkins' schema knows of a suite alone."""
    suites = list(document)
    for suite in suites:
        suite.update_statistics()  # type: ignore[no-untyped-call]
    for name in ("tests", "failures", "errors"):
        setattr(document, name, sum(getattr(suite, name) for suite in suites))
    document.time = round(sum(suite.time for suite in suites), 3)


def _case(summary: Summary, row: RowResult) -> TestCase:
    case = TestCase(f"{row.id} {row.requirement.sentence}", classname=f"{row.requirement.surface}.{row.group}")
    case.time = round(summary.seconds_of(row), 3)
    result = _result(summary, row)
    if result is not None:
        case.result = [result]
    if result is None and row.verdict is Verdict.WARN:
        case.system_out = f"WARNING: {_text(summary, row)}"
    return case


def _result(summary: Summary, row: RowResult) -> Failure | Error | Skipped | None:
    reason = one_line(expectation(row) or row.reason or row.verdict.value, 1000)
    if row.expected_failure == "expected":
        return Skipped(reason, "expected_failure")
    if row.verdict in {Verdict.NOT_APPLICABLE, Verdict.DOCUMENTED, Verdict.LEFT_OUT} and not summary.breaks(row):
        return Skipped(reason, row.verdict.value)
    result: Error | Failure
    if row.verdict in {Verdict.ERROR, Verdict.INCONCLUSIVE}:
        result = Error(reason, row.verdict.value)
    elif summary.breaks(row):
        result = Failure(reason, row.expected_failure or row.verdict.value)
    elif summary.quick and row.verdict is Verdict.PASS:
        parts = ("quick look: no breach found in what was tried", *summary.short_trials(row))
        return Skipped(one_line("; ".join(parts), 1000), "quick_look")
    else:
        return None
    result.text = _text(summary, row)
    return result


def _text(summary: Summary, row: RowResult) -> str:
    parts = [f"{row.requirement.sentence}\n{standing(row)}"]
    parts += [finding_text(finding, summary.exchanges) for finding in row.against[:SHOWN_FINDINGS]]
    if len(row.against) > SHOWN_FINDINGS:
        parts.append(f"and {len(row.against) - SHOWN_FINDINGS} more")
    return visible("\n\n".join(parts))
