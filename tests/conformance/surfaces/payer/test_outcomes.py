"""What a payer did in a scene, by the ends of its runs."""

from __future__ import annotations

from typing import cast

from conformance.surfaces.payer.played_rail import PlayedRail
from conformance.surfaces.payer.scenes import Ending, Outcome


def make_outcome(*endings: Ending) -> Outcome:
    """Return an outcome without calls."""
    return Outcome(cast("PlayedRail", None), list(endings))


def make_ending(code: int | None, *, is_killed: bool = False, seconds: float = 1.0) -> Ending:
    """Return an end without output."""
    return Ending(code, is_killed, seconds, "", "")


def test_a_refusal_is_an_end_by_itself_with_another_code_than_0() -> None:
    """A run that the suite had to end refused nothing."""
    assert make_outcome(make_ending(1)).is_refused
    assert not make_outcome(make_ending(0)).is_refused
    assert not make_outcome(make_ending(None)).is_refused


def test_the_last_run_decides_whether_the_call_was_served() -> None:
    """A first run may have been killed."""
    assert make_outcome(make_ending(None, is_killed=True), make_ending(0)).is_served
    assert not make_outcome(make_ending(0), make_ending(5)).is_served


def test_a_run_that_was_killed_on_purpose_is_not_slow() -> None:
    """Only the others show how fast the machine is."""
    assert make_outcome(make_ending(None, is_killed=True, seconds=40.0), make_ending(0)).slowest == 1.0
    assert make_outcome(make_ending(None, seconds=50.0)).slowest == 50.0
