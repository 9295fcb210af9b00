"""Receipts of two targets in the reports of a run."""

from __future__ import annotations

import io
import json
from typing import Any

import jsonschema_rs
import pytest

from conformance.log.events import Event
from conformance.report import console, formats
from conformance.report import json as json_report
from conformance.report.summary import LogFault, summarise
from conformance.text.terminal import Terminal
from tests.conformance.report.run_builder import RunBuilder

ROW = "RAIL-402-01"


def a_run(**comparison: Any) -> tuple[Event, ...]:
    """Return a run that passes, with one comparison."""
    return RunBuilder([ROW]).comparison("here", **comparison).finish({})


def print_to_console(events: tuple[Event, ...]) -> str:
    """Return what the console prints, white space taken together."""
    out = io.StringIO()
    console.show(summarise(events), console=Terminal(out, width=200))
    return " ".join(out.getvalue().split())


def render(name: str, events: tuple[Event, ...]) -> str:
    """Return a report of a run."""
    return formats.FORMATS[name].render(events).decode("utf-8")


def test_a_difference_that_matters_is_named_and_decides_nothing() -> None:
    """Console, page and Markdown name the claim; the run still passes."""
    events = a_run()
    assert summarise(events).exit_code == 0
    for text in (print_to_console(events), render("html", events), render("markdown", events)):
        assert "1 matters" in text
        assert "claim here" in text
    assert "because here" in render("html", events)
    assert "ours here" in render("html", events)


@pytest.mark.parametrize(("grade", "words"), [("same", "equal"), ("expected", "differs as expected")])
def test_what_differs_as_expected_is_no_difference_that_matters(grade: str, words: str) -> None:
    """A comparison is reported by its worst grade."""
    events = a_run(grade=grade)
    assert words in print_to_console(events)
    assert words in render("markdown", events)
    assert "matters" not in render("markdown", events)


def test_what_could_not_be_compared_is_told_with_its_reason() -> None:
    """A comparison that was not made stands in every report for people."""
    events = a_run(grade=None, missing_reason="the lane is not funded")
    for text in (print_to_console(events), render("html", events), render("markdown", events)):
        assert "not compared" in text
        assert "the lane is not funded" in text


def test_a_receipt_that_does_not_verify_is_told_loudly() -> None:
    """By the target's own keys not verified: in capitals with the reason, in each report; never where it holds."""
    events = a_run(grade="same", is_verified=False)
    assert (
        "NOT VERIFIED: the receipt of theirs here for POST /here on algorand, by its own keys: why: here"
        in print_to_console(events)
    )
    assert "DOES NOT VERIFY with its own published keys" in render("html", events)
    assert "equal, NOT VERIFIED" in render("markdown", events)
    for text in (print_to_console(a_run()), render("html", a_run()), render("markdown", a_run())):
        assert "NOT VERIF" not in text
        assert "DOES NOT VERIFY" not in text


def test_the_json_report_carries_comparisons_by_its_schema() -> None:
    """Every member is in the JSON report, which obeys the schema and reads back; one too many breaks it."""
    document = json.loads(render("json", a_run()))
    validator = jsonschema_rs.validator_for(dict(json_report.schema()))
    validator.validate(document)
    (comparison,) = document["results"]["extra"]["comparisons"]
    assert (comparison["call"], comparison["lane"], comparison["grade"]) == ("POST /here", "algorand", "matters")
    assert comparison["right"]["verified"] is True
    assert comparison["claims"][0]["why"] == "because here"
    assert json_report.document(json_report.read(document)) == document
    comparison["more"] = 1
    assert not validator.is_valid(document)


def test_a_report_from_before_comparisons_is_still_read() -> None:
    """A report without the member has no comparisons."""
    document = json.loads(render("json", a_run()))
    del document["results"]["extra"]["comparisons"]
    jsonschema_rs.validator_for(dict(json_report.schema())).validate(document)
    assert json_report.read(document).comparisons == ()


def test_a_run_against_one_target_has_no_such_section() -> None:
    """Without comparisons nothing is said of any."""
    events = RunBuilder([ROW]).finish({})
    assert "side by side" not in render("html", events)
    assert "side by side" not in render("markdown", events)
    assert "decide nothing" not in print_to_console(events)


def test_comparisons_stand_by_call_and_lane_whatever_came_first() -> None:
    """Lanes are compared at the same time; reports have them in one order."""
    first = RunBuilder([ROW]).comparison("a").comparison("b").finish({})
    other_events = RunBuilder([ROW]).comparison("b").comparison("a").finish({})
    calls = [[one.call for one in summarise(events).comparisons] for events in (first, other_events)]
    assert calls == [["POST /a", "POST /b"]] * 2


def test_a_comparison_that_cannot_be_read_is_a_fault_of_the_log() -> None:
    """An event that lacks a member is reported as such."""
    events = [dict(event) for event in a_run()]
    next(event for event in events if event["event"] == "comparison").pop("left")
    with pytest.raises(LogFault):
        summarise(events)
