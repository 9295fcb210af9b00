"""Goals are judged by the ratio of two contenders of one run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.bench import document, goals
from conformance.bench.record import Figures
from tests.conformance.bench.bench_figures import figures, job

FAST = job("receipt", [60.0] * 3, libsodium=[54.0] * 3, cryptography=[104.0] * 3)
SLOW = job("receipt", [80.0] * 3, libsodium=[54.0] * 3, cryptography=[104.0] * 3)


def test_a_goal_is_reached_by_the_median() -> None:
    """0.9 of libsodium reaches 0.88; 0.675 does not."""
    assert [one.reached for one in goals.standings([FAST])] == [True, True]
    assert [one.reached for one in goals.standings([SLOW])] == [False, False]


def test_what_was_not_measured_is_not_reached_either() -> None:
    """Every goal is either judged or named as not measured."""
    judged = {one.goal for one in goals.standings([FAST])}
    rest = set(goals.unmeasured([FAST]))
    assert set(goals.GOALS) == judged | rest
    assert not judged & rest


def test_every_goal_is_of_a_job_that_is_known() -> None:
    """Each goal's job says what it is, and every number that is measured has goals."""
    assert {goal.job for goal in goals.GOALS} <= goals.JOBS.keys()
    assert {"G1", "G2", "G3", "G3b", "G4", "G7", "G10"} == {goal.id for goal in goals.GOALS}


def test_the_document_says_where_a_goal_stands() -> None:
    """A row of the table has ratio, spread, goal and verdict."""
    text = document.document(figures(FAST))
    assert "| G1 | receipt | weldproof: 60.0 | libsodium: 54.0 | 0.90x | 0.90 to 0.90 | 0.88x | reached |" in text
    assert "not reached" in document.document(figures(SLOW))
    assert "Not measured in this run: G1 beside npm jose compactVerify" in text


def test_the_document_says_where_time_goes() -> None:
    """The profile of each job stands in it, the largest share first."""
    parts = [{"part": "C: crypto_sign_open", "share": 0.6}, {"part": "reference.protocol.jws", "share": 0.25}]
    text = document.document(replace(figures(FAST), profiles={"receipt": parts}))
    assert "| receipt | C: crypto_sign_open 60%, reference.protocol.jws 25% |" in text


def test_the_part_by_hand_is_kept() -> None:
    """What a person wrote under its heading stands in the next document too."""
    first = document.document(figures(FAST)) + "\n## What is not reached, and why\n\nBecause.\n"
    again = document.document(figures(SLOW), kept=document.kept_part(first))
    assert again.endswith("## What is not reached, and why\n\nBecause.\n")
    assert again.count("## What is not reached") == 1


def test_figures_are_read_as_they_are_written(tmp_path: Path) -> None:
    """The JSON file holds all of a run."""
    import orjson

    one = figures(FAST)
    path = tmp_path / "performance.json"
    path.write_bytes(orjson.dumps(one.told()))
    assert one == Figures.read(path)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": "other/1"}', '{"schema": "weldproof-bench/1"}'])
def test_what_holds_no_figures_is_refused(text: str, tmp_path: Path) -> None:
    """The refusal names the file."""
    path = tmp_path / "performance.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=r"performance\.json holds no figures"):
        Figures.read(path)
