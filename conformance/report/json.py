"""`report.json`: the whole run for programs, in the Common Test Report Format, with our verdicts next to its statuses.

`report.schema.json` in this folder is its published schema. CTRF has five statuses, so `rawStatus` contains the
verdict: `pass` is passed; `fail`, `error`, and an expected failure that passes or has lapsed are failed; `warn`,
`inconclusive` and a known breach are other; `not_applicable`, `documented` and `left_out` are skipped. A `pass` of a
quick look is other: it found nothing, and passes nothing. `results.summary` counts the
statuses and `results.summary.extra.verdicts` the verdicts; `results.summary.extra.exit_code` is the word that counts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from conformance.log.events import Event
from conformance.outcome import Verdict
from conformance.report.conclusion import headline, rests_on, sentence
from conformance.report.row_result import RowResult
from conformance.report.summary import LogFault, Summary, summarise
from conformance.text.json_safe import json_safe
from conformance.text.workflow_command_escaping import escape_commands_in_json

CTRF_VERSION: Final = "1.0.0"
_STATUS: Final[Mapping[Verdict, str]] = {
    Verdict.PASS: "passed",
    Verdict.FAIL: "failed",
    Verdict.ERROR: "failed",
    Verdict.WARN: "other",
    Verdict.INCONCLUSIVE: "other",
    Verdict.NOT_APPLICABLE: "skipped",
    Verdict.DOCUMENTED: "skipped",
    Verdict.LEFT_OUT: "skipped",
}
# The same adapter writes and reads a summary, so that `read` returns what `document` was made of.
_SUMMARY: Final = TypeAdapter(Summary)


def render(events: Iterable[Event]) -> bytes:
    """Return `report.json`: ASCII, so that it can be printed whatever a target sent; members in a fixed order."""
    return encode(document(summarise(events)))


def encode(value: Mapping[str, Any]) -> bytes:
    """Return a report as bytes."""
    return escape_commands_in_json(json.dumps(value, allow_nan=False, indent=1).encode("ascii")) + b"\n"


@cache
def schema() -> Mapping[str, Any]:
    """Return the published JSON Schema of `report.json`."""
    document_value: Mapping[str, Any] = json.loads(files(__package__).joinpath("report.schema.json").read_text("utf-8"))
    return document_value


def document(summary: Summary) -> dict[str, Any]:
    """Return the report as a JSON value."""
    run = _SUMMARY.dump_python(summary, mode="python")
    rows = run.pop("rows")
    value: dict[str, Any] = json_safe(
        {
            "reportFormat": "CTRF",
            "specVersion": CTRF_VERSION,
            "generatedBy": "weldproof",
            "results": {
                "tool": {"name": "weldproof", "version": summary.suite_version},
                "summary": _counts(summary),
                "tests": [_test(summary, row, dump) for row, dump in zip(summary.rows, rows, strict=True)],
                "extra": run,
            },
        }
    )
    return value


def read(value: Any) -> Summary:
    """Read a report back; `read(document(summary))` is the summary.

    Raises:
        LogFault: The value is no report of this suite.
    """
    try:
        results = value["results"]
        rows = [test["extra"] for test in results["tests"]]
        return _SUMMARY.validate_python({**results["extra"], "rows": rows})
    # The value may come from a file of someone else, so every level of it can have any type.
    except (KeyError, TypeError, AttributeError, ValidationError) as fault:
        raise LogFault(f"this version cannot read the report: {type(fault).__name__}: {fault}") from fault


def status(summary: Summary, row: RowResult) -> str:
    """Return the CTRF status of a row."""
    # First, because an expected failure that passes breaks the run, although its verdict is `pass`.
    if summary.breaks(row):
        return "failed"
    if summary.quick and row.verdict is Verdict.PASS:
        return "other"
    return "other" if row.expected_failure == "expected" else _STATUS[row.verdict]


def _counts(summary: Summary) -> dict[str, Any]:
    seen = Counter(status(summary, row) for row in summary.rows)
    # CTRF counts milliseconds, and demands a number for `pending`, a status that this suite does not give.
    start = summary.started_at * 1000
    milliseconds = round((summary.seconds or 0.0) * 1000)
    return {
        "tests": len(summary.rows),
        **{name: seen[name] for name in ("passed", "failed", "skipped", "pending", "other")},
        "start": start,
        "stop": start + milliseconds,
        "extra": {
            "verdicts": {verdict.value: count for verdict, count in summary.counts.items()},
            "exit_code": summary.exit_code,
            "headline": headline(summary),
            "sentence": sentence(summary),
            "rests_on": rests_on(summary),
            "quick": summary.quick,
        },
    }


def _test(summary: Summary, row: RowResult, dump: dict[str, Any]) -> dict[str, Any]:
    test = {
        "name": f"{row.id}: {row.requirement.sentence}",
        "status": status(summary, row),
        "rawStatus": row.verdict.value,
        "duration": round(summary.seconds_of(row) * 1000),
        "suite": [row.requirement.surface, row.group],
        "tags": [row.requirement.level, row.requirement.basis],
        "extra": dump,
    }
    short = summary.short_trials(row)
    message = "; ".join(short) if row.verdict is Verdict.PASS and short else row.headline
    return test if message is None else {**test, "message": message}
