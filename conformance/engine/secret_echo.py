"""X-ROB-02, judged on every exchange of a run: an answer does not repeat the secret of its request."""

from __future__ import annotations

from typing import Final

from conformance.engine.check import judge_breach
from conformance.http.client import Answer, EchoListener
from conformance.http.echoes import Echo
from conformance.ledger import load
from conformance.log.events import EventLog
from conformance.outcome import ONLY_WARNS

ROW: Final = "X-ROB-02"
FIX: Final = (
    "Name the fault, never the value: no credential, proof or secret of a request belongs in a body or header of its "
    "answer, not even in a message of a library that is passed on."
)


def make_echo_listener(log: EventLog, check: str) -> EchoListener:
    """Return a listener that judges echoes in the answers of one check, each kind of echo once."""
    reports: set[tuple[Echo, int]] = set()

    def report_echo(answer: Answer, echo: Echo) -> None:
        # A check sends hundreds of requests; one echo would otherwise fill the report with equal findings.
        if (echo, answer.status) in reports:
            return
        reports.add((echo, answer.status))
        where = {"secret": f"the whole {echo.header}", **({} if echo.beyond is None else {ONLY_WARNS: echo.beyond})}
        log.add(
            "judgement",
            check=check,
            row=ROW,
            verdict=judge_breach(load()[ROW], beyond=echo.beyond).value,
            expected="the secret nowhere in the answer",
            found=f"{echo.shape}, status {answer.status}",
            exchange=answer.n,
            hint=FIX,
            where=where,
        )

    return report_echo
