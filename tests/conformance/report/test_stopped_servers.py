"""A server that ends during a run is named, with the requests that were open when it ended."""

from __future__ import annotations

from typing import Any

from conformance.log.events import Event
from conformance.outcome import Verdict
from conformance.report.conclusion import sentence
from conformance.report.stopped_servers import describe_stopped_servers
from conformance.report.summary import summarise
from conformance.vocabulary.unanswered_calls import UNSENT
from tests.conformance.report.run_builder import RunBuilder

ADDRESS = "http://127.0.0.1:8402"
REFUSED = "cannot connect to 127.0.0.1:8402: Connection refused"
CLOSED = "the connection was closed without an answer; others were answered"
LATE = "no answer within 30 s"


def exchanges(*outcomes: str | None, address: str = ADDRESS) -> list[Event]:
    """Return an exchange for each outcome: None for an answer, else the reason why it is missing."""
    request: dict[str, Any] = {"method": "POST", "url": f"{address}/v1/x?a", "path": "/v1/x?a", "body": "null"}
    return [
        {"n": n, "request": request, "response": {"status": 200} if error is None else None, "error": error}
        for n, error in enumerate(outcomes, start=1)
    ]


def test_the_requests_that_were_open_are_listed() -> None:
    """Each different one whose connection broke near the last answer, and none that was late or never sent whole."""
    events = exchanges(None, CLOSED, LATE, None, CLOSED, UNSENT, CLOSED, REFUSED, REFUSED, REFUSED)
    events[4] = {**events[4], "request": {**events[4]["request"], "body": "[]"}}
    (text,) = describe_stopped_servers({"rail": ADDRESS}, events)
    assert text.startswith(f"{ADDRESS} answered request 4 and accepted no connection after that: start your server")
    assert text.endswith("during request 2: POST /v1/x?a with null; request 5: POST /v1/x?a with [].")


def test_a_server_that_came_back_or_never_answered_did_not_stop() -> None:
    """Nor did one that only closes connections, or another one than the target."""
    surfaces = {"rail": ADDRESS}
    assert not describe_stopped_servers(surfaces, exchanges(None, REFUSED, REFUSED, REFUSED, None))
    assert not describe_stopped_servers(surfaces, exchanges(REFUSED, REFUSED, REFUSED))
    assert not describe_stopped_servers(surfaces, exchanges(None, CLOSED, CLOSED, CLOSED))
    assert not describe_stopped_servers(surfaces, exchanges(None, REFUSED, REFUSED))
    elsewhere = exchanges(None, REFUSED, REFUSED, REFUSED, address="http://127.0.0.1:1")
    assert not describe_stopped_servers(surfaces, [*exchanges(None), *elsewhere])


def test_the_last_line_of_a_run_says_it() -> None:
    """An interrupted run shows nothing about the server."""
    for is_interrupted in (False, True):
        run = RunBuilder(["RAIL-402-01"])
        for event in exchanges(None, CLOSED, REFUSED, REFUSED, REFUSED):
            run.log.add("exchange", check="x", ordinal=1, retry=False, **event)
        run.judge("RAIL-402-01", Verdict.INCONCLUSIVE, expected_text=REFUSED)
        events = list(run.finish({"RAIL-402-01": Verdict.INCONCLUSIVE}))
        events[-1] = {**events[-1], "interrupted": is_interrupted}
        assert ("answered request 1 and accepted no connection" in sentence(summarise(events))) is not is_interrupted
