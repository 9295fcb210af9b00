"""`report.sarif`: breaches for code-scanning services, SARIF 2.1.0.

A server has no source line to point at, so each result points at the target profile and names the row as its logical
location. Only `fail`, `warn` and `error` are results; a known breach is a suppressed result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from conformance.ledger.specification import rests_on
from conformance.log.events import Event
from conformance.outcome import Verdict
from conformance.report.conclusion import describe_standing, expectation, headline, sentence
from conformance.report.detail import finding_text
from conformance.report.row_result import RowResult
from conformance.report.summary import Summary, summarise
from conformance.text.json_safe import json_safe
from conformance.text.target_text_escaping import one_line

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_PROFILE: Final = "weldproof.toml"
_RESULT_VERDICTS: Final = frozenset({Verdict.FAIL, Verdict.WARN, Verdict.ERROR})


def render(events: Iterable[Event]) -> bytes:
    """Return `report.sarif`, ASCII."""
    summary = summarise(events)
    rows = [row for row in summary.attention if row.verdict in _RESULT_VERDICTS or summary.breaks(row)]
    value = json_safe(
        {
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [
                {
                    "tool": {
                        "driver": {
                            "name": "weldproof",
                            "version": summary.suite_version,
                            "rules": [_rule(row) for row in rows],
                        }
                    },
                    "invocations": [
                        {
                            "executionSuccessful": summary.exit_code in {0, 1},
                            "exitCode": summary.exit_code or 0,
                            **({"exitCodeDescription": sentence(summary)} if summary.interrupted else {}),
                        }
                    ],
                    "properties": {"quick": summary.quick, "conclusion": _conclusion(summary)},
                    "results": [_result(summary, row, index) for index, row in enumerate(rows)],
                }
            ],
        }
    )
    return json.dumps(value, allow_nan=False, indent=1).encode("ascii") + b"\n"


def _conclusion(summary: Summary) -> str:
    return f"{headline(summary)}: {sentence(summary)}"


def _rule(row: RowResult) -> dict[str, Any]:
    return {
        "id": row.id,
        "shortDescription": {"text": row.requirement.sentence},
        "fullDescription": {"text": f"{row.requirement.sentence}. {describe_standing(row)}"},
        **_help(row),
        "properties": {"tags": [row.requirement.surface, row.requirement.level, row.requirement.basis]},
    }


def _help(row: RowResult) -> dict[str, Any]:
    """Return the clauses of the requirement, and the command that explains it."""
    lines = [f"{clause.id}: {clause.says} ({clause.where})" for clause in rests_on(row.id)]
    return {"help": {"text": "\n".join([*lines, f"More: `weldproof explain {row.id}`"])}}


def _result(summary: Summary, row: RowResult, index: int) -> dict[str, Any]:
    details = "\n\n".join(finding_text(finding, summary) for finding in row.against[:3])
    message = one_line(": ".join(filter(None, (expectation(row), row.headline))), 1000)
    result: dict[str, Any] = {
        "ruleId": row.id,
        "ruleIndex": index,
        "level": "error" if summary.breaks(row) else "warning",
        "message": {"text": f"{row.requirement.sentence}: {message}\n\n{details}".strip()},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": _PROFILE}, "region": {"startLine": 1}},
                "logicalLocations": [{"fullyQualifiedName": row.id, "kind": "member"}],
            }
        ],
        # The same requirement in two runs is one alert, even if its message changes.
        "partialFingerprints": {"requirement/v1": row.id},
    }
    if row.expected_failure == "expected":
        result["suppressions"] = [{"kind": "external", "status": "accepted"}]
    return result
