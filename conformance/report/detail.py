"""One finding as plain text, for JUnit, SARIF, pytest and the console."""

from __future__ import annotations

from conformance.outcome import Verdict
from conformance.report.replay_line import READ_LATER, Replays
from conformance.report.row_result import NOTHING, Finding
from conformance.report.summary import Summary
from conformance.text.target_text_escaping import one_line, show_shortened

BODY_LIMIT = 2_000


def place(finding: Finding) -> str:
    """Return where a finding was made: `lane LANE, operation /pay/v1/x`, or the empty string."""
    return ", ".join(f"{one_line(name, 60)} {one_line(value, 200)}" for name, value in finding.where.items())


def finding_text(finding: Finding, summary: Summary, replays: Replays = READ_LATER) -> str:
    """Return a finding with its exchange, curl line and replay id, line by line.

    Args:
        finding: The finding.
        summary: The run that found it.
        replays: The form of the command that repeats its exchange.
    """
    where = place(finding)
    lines = [f"check     {one_line(finding.check)}{f' ({where})' if where else ''}"]
    label = "reason   " if finding.verdict in {Verdict.ERROR, Verdict.INCONCLUSIVE} else "expected "
    lines.append(f"{label} {show_shortened(finding.expected, BODY_LIMIT)}")
    if finding.found is not None:
        lines.append(f"found     {show_shortened(finding.found or NOTHING, BODY_LIMIT)}")
    if finding.hint is not None:
        lines.append(f"fix       {show_shortened(finding.hint, BODY_LIMIT)}")
    exchange = summary.exchanges.get(finding.exchange) if finding.exchange is not None else None
    if exchange is not None:
        request_heading, response_heading = exchange.headings
        lines += [
            request_heading,
            _indent(exchange.request_text(BODY_LIMIT)),
            response_heading,
            _indent(exchange.response_text(BODY_LIMIT)),
        ]
        lines.append(f"curl      {exchange.command(BODY_LIMIT * 2)}")
        lines.append(f"replay    {replays.command(summary, exchange.n)}")
    return "\n".join(lines)


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in text.split("\n"))
