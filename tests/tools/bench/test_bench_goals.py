"""Goals are judged by the ratio of two contenders of one run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.tools.bench.bench_figures import figures, job
from tools.bench import document, goals, table
from tools.bench.ratios import Contender, Job
from tools.bench.record import Figures

FAST = job("receipt", [60.0] * 3, libsodium=[54.0] * 3, cryptography=[104.0] * 3)
SLOW = job("receipt", [80.0] * 3, libsodium=[54.0] * 3, cryptography=[104.0] * 3)


def test_a_goal_is_reached_by_the_median() -> None:
    """0.9 of libsodium reaches 0.88; 0.675 does not."""
    assert [one.is_reached for one in goals.standings([FAST])] == [True, True]
    assert [one.is_reached for one in goals.standings([SLOW])] == [False, False]


def test_what_was_not_measured_is_not_reached_either() -> None:
    """Every goal is either judged or named as not measured."""
    judged_goals = {one.goal for one in goals.standings([FAST])}
    unmeasured_goals = set(goals.list_unmeasured([FAST]))
    assert set(goals.GOALS) == judged_goals | unmeasured_goals
    assert not judged_goals & unmeasured_goals


def test_every_goal_is_of_a_job_that_is_known() -> None:
    """Each goal's job says what it is, and every number that is measured has goals."""
    assert {goal.job for goal in goals.GOALS} <= goals.JOBS.keys()
    assert {"G1", "G2", "G3", "G3b", "G4", "G6", "G7", "G9", "G10"} == {goal.id for goal in goals.GOALS}


def test_the_document_says_where_a_goal_stands() -> None:
    """A row of the table has ratio, spread, goal and verdict."""
    text = document.document(figures(FAST))
    assert "| G1 | receipt | weldproof: 60.0 | libsodium: 54.0 | 0.90x | 0.90 to 0.90 | 0.88x | reached |" in text
    assert "not reached" in document.document(figures(SLOW))
    assert "Not measured in this run: G1 beside dalek, G1 beside npm jose compactVerify" in text


def test_receipts_are_told_by_second_and_core(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours and every other contender of a job of receipts: a million by the microseconds of one, in both outputs."""
    table.show(figures(FAST))
    assert "weldproof                                    60.0 us      16,667 receipts/s/core" in capsys.readouterr().out
    text = document.document(figures(FAST))
    assert "| Contender |  | CPU us | receipts a second and core | weldproof is | Spread |" in text
    assert "| libsodium | floor | 54.0 | 18,519 | 0.9x | 0.9 to 0.9 |" in text
    assert "a second and core" not in document.document(figures(job("message", [60.0] * 3, libsodium=[54.0] * 3)))


def test_the_document_says_who_keeps_within_a_limit() -> None:
    """Each contender of ours; a floor has none, and without such a job there is no table."""
    text = document.document(figures(job("zk-verify", [300_001.0] * 3, bare=[400_000.0] * 3)))
    assert "| zk-verify | weldproof | 300,001 | 300,000 | not reached |" in text
    assert "| zk-verify | bare | 400,000 | 300,000" not in text
    assert "| lanes | base | 9,000 | 6,000 | not reached |" in text
    assert "## Limits" not in document.document(replace(figures(FAST), lanes={}))


def test_a_call_in_process_has_a_limit_and_the_plain_way_has_none() -> None:
    """40 us a challenge from the front; what goes through Quart is shown beside it."""
    text = document.document(figures(job("challenge", [41.0] * 3, bare=[4.0] * 3)))
    assert "| challenge | weldproof | 41.0 | 40.0 | not reached |" in text
    slow = Contender(goals.QUART, "ours", (200.0,))
    assert goals.holdings([Job("challenge", (slow,))]) == []


def test_a_goal_that_is_out_of_reach_has_its_argument() -> None:
    """In the row itself, and only while it is not reached."""
    name = "plain SHA-256"
    kept_job, reached_job = (job("audit-chain", [cost] * 3, **{name: [0.5] * 3}) for cost in (1.2, 1.0))
    assert "| not reached: accepted: " in document.document(figures(kept_job))
    assert "accepted" not in document.document(figures(reached_job))
    assert {key[0] for key in goals.ARGUMENTS} <= {goal.id for goal in goals.GOALS}


def test_the_document_says_where_time_goes() -> None:
    """The profile of each job stands in it, the largest share first."""
    parts = [{"part": "C: crypto_sign_open", "share": 0.6}, {"part": "reference.protocol.jws", "share": 0.25}]
    text = document.document(replace(figures(FAST), profiles={"receipt": parts}))
    assert "| receipt | C: crypto_sign_open 60%, reference.protocol.jws 25% |" in text


def test_the_part_by_hand_is_kept() -> None:
    """What a person wrote under its heading stands in the next document too."""
    first = document.document(figures(FAST)) + "\n## What is not reached, and why\n\nBecause.\n"
    again = document.document(figures(SLOW), handwritten_part=document.kept_part(first))
    assert again.endswith("## What is not reached, and why\n\nBecause.\n")
    assert again.count("## What is not reached") == 1


def test_figures_are_read_as_they_are_written(tmp_path: Path) -> None:
    """The JSON file holds all of a run."""
    import orjson

    figure = figures(FAST)
    path = tmp_path / "performance.json"
    path.write_bytes(orjson.dumps(figure.as_json()))
    assert figure == Figures.read(path)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": "other/1"}', '{"schema": "weldproof-bench/1"}'])
def test_what_holds_no_figures_is_refused(text: str, tmp_path: Path) -> None:
    """The refusal names the file."""
    path = tmp_path / "performance.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=r"performance\.json holds no figures"):
        Figures.read(path)


@pytest.mark.parametrize(("cost", "lines_expected"), [(300_000.0, "reached"), (300_001.0, "NOT REACHED")])
def test_a_job_with_a_limit_is_held_to_it(capsys: pytest.CaptureFixture[str], cost: float, lines_expected: str) -> None:
    """A proof is verified within 0.3 s; the table says whether."""
    table.show(figures(job("zk-verify", [cost] * 3, bare=[cost] * 3)))
    line = next(one for one in capsys.readouterr().out.splitlines() if "at most" in one and "us" in one)
    assert line.endswith(f"300000.0 us  {lines_expected}")


def test_limits_are_counted_among_the_goals(capsys: pytest.CaptureFixture[str]) -> None:
    """A job that has a limit and no goal beside others counts, reached or not; the printed number is of both kinds."""
    table.show(replace(figures(job("zk-verify", [299_999.0] * 3)), lanes={}))
    assert "1 of 1 measured goals are reached" in capsys.readouterr().out
    table.show(replace(figures(FAST, job("zk-verify", [300_001.0] * 3)), lanes={}))
    assert "2 of 3 measured goals are reached" in capsys.readouterr().out
