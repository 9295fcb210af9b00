"""A report prints a curl line where it shows the exchange again, and else why no single line does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from conformance.outcome import Verdict
from conformance.report.summary import summarise
from tests.conformance.report.run_builder import RunBuilder

JSON = ["content-type", "application/json"]


def line(
    *,
    options: Mapping[str, Any] | None = None,
    variables: Sequence[str] = (),
    check: str = "some_check",
    **request: Any,
) -> str:
    """Return the curl line of an exchange that failed a row."""
    not_alone = {"racing": "the check sends two at once"}
    run = RunBuilder(["RAIL-PAY-01"], options=options or {}, variables=variables, not_alone=not_alone)
    number = run.exchange(check, **{"headers": [JSON], **request})
    run.judge("RAIL-PAY-01", Verdict.FAIL, check=check, exchange=number)
    return summarise(run.finish({"RAIL-PAY-01": Verdict.FAIL})).exchanges[number].curl


def why(text: str) -> str:
    """Return what stands in the place of a line, of which no shell does anything."""
    begin, mark, reason = text.partition("# no single command repeats it: ")
    assert (begin, bool(mark)) == ("", True), text
    assert "\n" not in reason
    return reason


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"url": "http://127.0.0.1:8402"},
        {"headers": [["Host", "other.example"], ["x-empty", ""]]},
        {"headers": [["authorization", "Bearer $TENANT_FIRST_KEY"]], "names": {"headers": {"0": [[7, 17]]}}},
        {"options": {"config": "weldproof.toml", "chains": "nodes.toml"}},
        {"status": 201, "body": '{"amount":1}', "answer": '{"id":"link-1","amount":1}'},
        {"status": 409, "body": '{"resource_id":"p"}', "answer": '{"resource_id":"p"}'},
    ],
    ids=[
        "as it is",
        "without a path",
        "any fields",
        "with a key of the reader's",
        "of a profile",
        "makes another each time",
        "made nothing",
    ],
)
def test_what_a_reader_can_send_is_a_line(request_: Mapping[str, Any]) -> None:
    """The target, its credentials and curl are all that it needs."""
    assert line(variables=["TENANT_FIRST_KEY"], **request_).startswith("curl -sS -i")


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (
            {"headers": [JSON, ["x-payment", "$X_PAYMENT"]], "names": {"headers": {"1": [[0, 10]]}}},
            "only a run knows $X_PAYMENT",
        ),
        ({"body": '"$B" "$A"', "names": {"body": [[1, 2], [6, 2]]}}, "only a run knows $A and $B"),
        (
            {"status": 201, "body": '{"resource_id":"p"}', "answer": '{"id":"r-1","resource_id":"p"}'},
            "the object that it created exists now",
        ),
        ({"url": "http://127.0.0.1:9999/health"}, "to an address that the check started"),
        ({"check": "racing"}, "the check sends two at once"),
        ({"whole": False}, "not recorded byte by byte"),
        ({"headers": [["Transfer-Encoding", "chunked"]]}, "transfer-encoding"),
        ({"headers": [["Host", "a"], ["host", "b"]]}, "cannot send two Host fields"),
        ({"url": "http://127.0.0.1:8402/a b"}, "cannot send this address"),
        ({"url": "http://127.0.0.1:8402/a#b"}, "cannot send this address"),
        ({"options": {"mutant": "version-1"}}, "the run started has ended"),
        ({"options": {"own_stack": True}}, "the run started has ended"),
        ({"options": {"chains": "localnet,algorand=sim"}}, "the run started has ended"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_no_reader_can_send_says_why(request_: Mapping[str, Any], reason: str) -> None:
    """A comment stands where a line would answer something, and show nothing of the breach."""
    assert reason in why(line(**request_))


def test_a_delivery_is_not_sent_by_the_reader() -> None:
    """The target sent it: who sends it again shows what the suite's own listener answers."""
    run = RunBuilder(["WH-SIG-04"])
    run.judge("WH-SIG-04", Verdict.FAIL, exchange=run.arrival("orders", "{}"))
    assert why(summarise(run.finish({"WH-SIG-04": Verdict.FAIL})).exchanges[1].curl) == (
        "the target sent this request, and the suite answered it"
    )


@pytest.mark.parametrize(
    ("before", "is_asked", "is_shown"),
    [(201, 200, False), (401, 200, True), (201, 404, True), (None, 200, True)],
    ids=["after a change", "after a refusal", "what is never there", "before any change"],
)
def test_what_is_there_after_a_change_is_not_shown_by_asking_again(
    before: int | None, is_asked: int, is_shown: bool
) -> None:
    """The check may have taken it back since, and it is the only one that made it."""
    run = RunBuilder(["CP-ISSUER-09"])
    if before is not None:
        run.exchange("one_key", status=before, headers=[JSON])
    number = run.exchange("one_key", status=is_asked, headers=[], method="GET", body=None)
    run.exchange("one_key", status=201, headers=[JSON])
    run.judge("CP-ISSUER-09", Verdict.FAIL, check="one_key", exchange=number)
    curl_line = summarise(run.finish({"CP-ISSUER-09": Verdict.FAIL})).exchanges[number].curl
    assert curl_line.startswith("curl ") if is_shown else "changes the state of the target before" in why(curl_line)


def test_a_log_from_before_says_so_of_names_alone() -> None:
    """It does not tell which names are the reader's, nor which checks need more than a request."""
    run = RunBuilder(["RAIL-PAY-01"])
    run.judge("RAIL-PAY-01", Verdict.FAIL, exchange=run.exchange("some_check"))
    events = list(run.finish({"RAIL-PAY-01": Verdict.FAIL}))
    events[0] = {name: value for name, value in events[0].items() if name not in {"variables", "not_alone"}}
    assert summarise(events).exchanges[1].curl.startswith("curl -sS")
