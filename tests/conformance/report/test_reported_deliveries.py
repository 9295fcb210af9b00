"""A delivery that breaks a row is shown in every report, as it arrived and with what the suite answered."""

from __future__ import annotations

import json
from collections.abc import Sequence

import jsonschema_rs
import pytest

from conformance.log.events import Event
from conformance.outcome import Verdict
from conformance.report import formats
from conformance.report import json as json_report
from conformance.report.summary import summarise
from tests.conformance.report.run_builder import RunBuilder

BODY = '{"id":"evt_1"}'


def make_run(*, silent: bool = False) -> tuple[Event, ...]:
    """Return a run in which a delivery to the destination `orders` failed a row, and another one is not cited."""
    builder = RunBuilder(["WH-SIG-04"])
    builder.exchange("some_check")
    builder.arrival("orders", '{"id":"evt_0"}')
    n = builder.arrival("orders", BODY, silent=silent)
    builder.judge("WH-SIG-04", Verdict.FAIL, exchange=n, hint="v1 is over the time alone")
    return builder.finish({"WH-SIG-04": Verdict.FAIL})


def texts(events: Sequence[Event], name: str) -> str:
    """Return a report as text, without the escapes of its format."""
    text = formats.FORMATS[name].render(events).decode()
    return text.replace("&#34;", '"').replace("&quot;", '"').replace('\\"', '"')


@pytest.mark.parametrize("name", ["html", "junit", "markdown", "sarif"])
def test_every_report_shows_the_delivery(name: str) -> None:
    """Destination, headers, body, hint and the way to replay it are there."""
    shown_run = texts(make_run(), name)
    assert "elivered to orders" in shown_run
    for part in ("X-Acme-Signature: t=1,v1=00", BODY, "v1 is over the time alone", "#3"):
        assert part in shown_run


def test_a_delivery_that_was_not_answered_says_so() -> None:
    """Where the suite kept silent on purpose the report does not invent an answer."""
    assert "no answer" in texts(make_run(silent=True), "markdown")


def test_the_json_report_tells_deliveries_from_exchanges() -> None:
    """The delivery is among the exchanges that rows cite, with its destination; the count is of the suite's own."""
    document = json.loads(json_report.render(make_run()))
    jsonschema_rs.validator_for(dict(json_report.schema())).validate(document)
    extra = document["results"]["extra"]
    assert extra["exchange_count"] == 1
    assert {n: one["delivered_to"] for n, one in extra["exchanges"].items()} == {"3": "orders"}
    assert json_report.read(document) == summarise(make_run())


def test_a_report_of_an_earlier_version_can_be_read() -> None:
    """An exchange without the member is one of the suite's own."""
    builder = RunBuilder(["RAIL-PAY-03"])
    n = builder.exchange("some_check")
    events = builder.judge("RAIL-PAY-03", Verdict.FAIL, exchange=n).finish({"RAIL-PAY-03": Verdict.FAIL})
    document = json.loads(json_report.render(events))
    del document["results"]["extra"]["exchanges"]["1"]["delivered_to"]
    jsonschema_rs.validator_for(dict(json_report.schema())).validate(document)
    assert json_report.read(document).exchanges[1].delivered_to is None
