"""`report.md`: the run for a pull request or a job summary; plain GitHub-flavoured Markdown, no raw HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from conformance.log.events import Event
from conformance.outcome import Verdict
from conformance.report.conclusion import (
    WORDS,
    describe_standing,
    duration,
    expectation,
    headline,
    rests_on,
    sentence,
    start_time,
    words,
)
from conformance.report.detail import finding_text
from conformance.report.row_result import RowResult
from conformance.report.summary import Summary, summarise
from conformance.text.target_text_escaping import one_line

SHOWN_ROWS = 60
SHOWN_FINDINGS = 3
SHOWN_COLUMNS = (Verdict.PASS, Verdict.FAIL, Verdict.WARN, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE)


def render(events: Iterable[Event]) -> bytes:
    """Return `report.md`, UTF-8."""
    summary = summarise(events)
    parts = [*_head(summary), *_attention(summary), *_comparisons(summary), *_table(summary), *_basis(summary)]
    return ("\n".join(parts) + "\n").encode("utf-8")


def _head(summary: Summary) -> Iterator[str]:
    yield f"# {headline(summary)}: {inline(summary.target)}"
    yield ""
    yield sentence(summary)
    yield ""
    yield f"Weldproof {inline(summary.suite_version)}, seed {summary.seed}, {start_time(summary)}, {duration(summary)}."


def _table(summary: Summary) -> Iterator[str]:
    columns = (*SHOWN_COLUMNS, *([Verdict.LEFT_OUT] if summary.quick else []))
    yield "\n## Every requirement, by group\n"
    yield f"| Group | {' | '.join(words(summary)[verdict] for verdict in columns)} |"
    yield f"| --- |{' ---: |' * len(columns)}"
    for name, rows in summary.groups.items():
        counts = (sum(row.verdict is verdict for row in rows) for verdict in columns)
        yield f"| {inline(name)} | {' | '.join(str(count or '') for count in counts)} |"


def _attention(summary: Summary) -> Iterator[str]:
    rows, cells = summary.attention, 0
    yield "\n## What needs attention"
    if not rows:
        yield "\nNothing: no breach, no fault, nothing undecided."
    for cause in summary.causes:
        shown = cause.rows[: max(0, SHOWN_ROWS - cells)]
        if len(cause.rows) > 1 and shown:
            yield f"\n**{len(cause.rows)} requirements of one cause:** {inline(cause.text)}"
        for row in shown:
            yield from _row(summary, row)
        cells += len(shown)
    if len(rows) > SHOWN_ROWS:
        yield f"\n… and {len(rows) - SHOWN_ROWS} more; the other reports have them all."


def _row(summary: Summary, row: RowResult) -> Iterator[str]:
    yield f"\n### {inline(row.id)}: {WORDS[row.verdict]}\n"
    yield f"{inline(row.requirement.sentence)}\n"
    yield inline(describe_standing(row))
    expectation_text = expectation(row)
    if expectation_text is not None:
        yield f"\n{inline(expectation_text)}"
    if row.verdict is Verdict.INCONCLUSIVE:
        yield f"\n{inline(row.reason or '')}"
        return
    for finding in row.against[:SHOWN_FINDINGS]:
        yield ""
        yield fence_text(finding_text(finding, summary))
    if len(row.against) > SHOWN_FINDINGS:
        yield f"\n… and {len(row.against) - SHOWN_FINDINGS} more findings."


def _comparisons(summary: Summary) -> Iterator[str]:
    if summary.comparisons:
        yield "\n## Receipts side by side\n"
        yield "They decide nothing. The HTML and JSON reports have every claim.\n"
        yield "| Call | Lane | Targets | Verdict | Differences that matter |\n| --- | --- | --- | --- | --- |"
    for pair in summary.comparisons:
        findings = pair.missing if pair.missing is not None else ", ".join(pair.mattering_names)
        names = f"{pair.left.name}, {pair.right.name}"
        cells = (pair.call, pair.lane or "", names, pair.verdict, findings)
        yield f"| {' | '.join(map(inline, cells))} |"


def _basis(summary: Summary) -> Iterator[str]:
    yield "\n## What the verdict rests on\n"
    for line in rests_on(summary):
        yield f"* {inline(line)}"
    for reason, ids in summary.absent.items():
        yield f"* {len(ids)} not applicable: {inline(reason)}"
    if summary.non_defaults:
        yield "\n## Values of the target profile that are not the default\n"
    for key, value in summary.non_defaults:
        yield f"* {inline(key)} = {inline(value)}"


def inline(text: str) -> str:
    """Return `text` on one line with every character that Markdown or HTML would act on escaped."""
    escaped = re.sub(r"([\\`*_{}\[\]()#+!|~$@:-])", r"\\\1", one_line(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def fence_text(text: str) -> str:
    """Return `text` as a code block whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
