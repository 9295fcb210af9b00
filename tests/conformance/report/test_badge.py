"""The badge says nothing better of a target than the run does: it is green for one kind of run only."""

from __future__ import annotations

import re
from typing import Any

import pytest

from conformance.ledger import load
from conformance.log.events import Event
from conformance.outcome import Verdict
from conformance.report import formats
from tests.conformance.report.run_builder import RunBuilder

GREEN = "#1a7f4b"
# What a rail is judged by, where nothing is left out.
WHOLE = [row.id for row in load() if row.surface in {"rail", "shared"}]
MUST = next(row.id for row in load() if row.surface == "rail" and row.level == "MUST")
SHOULD = next(row.id for row in load() if row.surface == "rail" and row.level == "SHOULD")


def badge(events: tuple[Event, ...]) -> tuple[str, bool]:
    """Return what a badge says, and whether it is green."""
    svg = formats.FORMATS["badge"].render(events).decode()
    title = re.search("<title>weldproof: (.*)</title>", svg)
    assert title is not None
    return title[1].replace("&#39;", "'"), GREEN in svg


def change_start(events: tuple[Event, ...], **members: Any) -> tuple[Event, ...]:
    """Return a run whose begin says otherwise."""
    return ({**events[0], **members}, *events[1:])


def test_a_whole_run_without_a_breach_is_green() -> None:
    """The control of what follows; a breach of a SHOULD is counted."""
    assert badge(RunBuilder(WHOLE).finish({})) == (f"passed, {len(WHOLE)} pass", True)
    warned_events = RunBuilder(WHOLE).judge(SHOULD, Verdict.WARN).finish({SHOULD: Verdict.WARN})
    assert badge(warned_events) == (f"passed, {len(WHOLE) - 1} pass, 1 warn", True)


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.WARN, Verdict.INCONCLUSIVE, Verdict.ERROR])
def test_a_must_that_is_not_kept_is_not_green(verdict: Verdict) -> None:
    """Broken, known or not, or not decided."""
    # Only a breach can be expected.
    known_failures: list[dict[str, str]] = [{MUST: "expected"}] if verdict in {Verdict.FAIL, Verdict.WARN} else []
    for expected_states in ({}, *known_failures):
        events = RunBuilder(WHOLE).judge(MUST, verdict).finish({MUST: verdict}, known_states=expected_states)
        assert not badge(events)[1], (verdict, expected_states)


def test_part_of_the_suite_is_not_green() -> None:
    """Rows that were not requested, and lanes that the run left out, are counted."""
    label, green = badge(RunBuilder(WHOLE[:10]).finish({}))
    assert (label, green) == (f"passed, 10 pass, {len(WHOLE) - 10} not run", False)
    base = [row.id for row in load() if row.surface == "rail" and row.lane == "base"]
    events = RunBuilder(WHOLE, options={"lanes": ["algorand"]}).finish(dict.fromkeys(base, Verdict.NOT_APPLICABLE))
    events = change_start(events, claims={"surfaces": ["rail"], "lanes": ["algorand", "base"], "options": []})
    label, green = badge(events)
    assert (green, label.endswith(f"{len(base)} not applicable, {len(base)} not run")) == (False, True), label


def test_what_does_not_apply_is_counted() -> None:
    """Who claims little passes little, and the badge says so."""
    absent = dict.fromkeys(WHOLE[5:], Verdict.NOT_APPLICABLE)
    assert badge(RunBuilder(WHOLE).finish(absent)) == (f"passed, 5 pass, {len(absent)} not applicable", True)


def test_nothing_judged_is_not_green() -> None:
    """No row, or none that could be decided."""
    label, green = badge(RunBuilder(WHOLE).finish(dict.fromkeys(WHOLE, Verdict.NOT_APPLICABLE)))
    assert (label.startswith("no verdict, 0 pass"), green) == (True, False)


def test_a_server_that_is_not_the_operators_is_not_green() -> None:
    """Our own stack passes for no other target, and an unchecked certificate may belong to any server."""
    whole = RunBuilder(WHOLE).finish({})
    assert badge(change_start(whole, not_yours="our own stack")) == (f"our own stack: passed, {len(WHOLE)} pass", False)
    unchecked_settings = [{"key": "tls.insecure", "value": True}]
    assert badge(change_start(whole, non_defaults=unchecked_settings)) == (
        f"passed, {len(WHOLE)} pass, certificates not checked",
        False,
    )


def test_a_run_that_did_not_end_is_not_green() -> None:
    """Nor is one that was interrupted."""
    whole = RunBuilder(WHOLE).finish({})
    assert badge(whole[:-1]) == (f"unfinished, {len(WHOLE)} pass", False)
    assert not badge((*whole[:-1], {**whole[-1], "exit_code": 130, "interrupted": True}))[1]
