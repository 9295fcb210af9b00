"""An exchange with one of several workers is shown with the address of the worker in every report."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest

from conformance.log.events import Event
from conformance.outcome import Verdict
from conformance.report import formats, har
from conformance.report import json as json_report
from conformance.report.summary import summarise
from tests.conformance.report.run_builder import RunBuilder

WORKER = "http://10.0.0.6:8412"


def make_run() -> tuple[Event, ...]:
    """Return a run in which the answer of a worker failed a row."""
    builder = RunBuilder(["RAIL-PAY-03"])
    n = builder.exchange("some_check", worker=WORKER)
    return builder.judge("RAIL-PAY-03", Verdict.FAIL, exchange=n).finish({"RAIL-PAY-03": Verdict.FAIL})


@pytest.mark.parametrize("name", ["html", "junit", "markdown", "sarif"])
def test_every_report_names_the_worker(name: str) -> None:
    """The heading of the request contains the address."""
    assert f"ent to the worker {WORKER}" in formats.FORMATS[name].render(make_run()).decode()


def test_the_json_report_has_the_worker() -> None:
    """The report follows its schema, and reads back as the same summary."""
    document = json.loads(json_report.render(make_run()))
    jsonschema_rs.validator_for(dict(json_report.schema())).validate(document)
    assert document["results"]["extra"]["exchanges"]["1"]["worker"] == WORKER
    assert json_report.read(document) == summarise(make_run())


def test_har_has_the_worker() -> None:
    """The URL stays that of the service."""
    (entry,) = har.archive(make_run())["log"]["entries"]
    assert (entry["_worker"], entry["request"]["url"]) == (WORKER, "http://127.0.0.1:8402/pay/v1/x")
