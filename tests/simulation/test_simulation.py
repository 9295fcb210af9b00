"""Worlds from seeds: what must hold, holds; a seed replays a world exactly; a rule that is taken out is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def _run_simulation(*words: str) -> tuple[int, str]:
    result = subprocess.run(
        [sys.executable, "-m", "tests.simulation", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode in {0, 1}, result.stderr
    return result.returncode, result.stdout


def _worlds(*words: str) -> list[dict[str, Any]]:
    _, output = _run_simulation("--json", "--no-shrink", *words)
    return [json.loads(line) for line in output.splitlines()]


def test_worlds_hold_and_a_seed_replays_them() -> None:
    """No rule is broken in two small worlds; another process lives through the second alone, byte for byte."""
    first, second = _worlds("--operations", "35", "--worlds", "2")
    [again] = _worlds("--operations", "35", "--seed", "2")
    assert [first["violations"], second["violations"]] == [[], []]
    assert second["trace"] == again["trace"]
    assert first["trace"] != second["trace"]
    assert all(world["counts"]["200"] > 30 for world in (first, second))


@pytest.mark.slow
def test_an_operator_and_payers_who_come_again_do_not_both_win() -> None:
    """A refunded payment bought nothing, a served one was not refunded, and no other payer is refused."""
    worlds = _worlds("--seed", "8", "--operations", "40", "--worlds", "3", "--kinds", "operator,kill")
    assert [world["violations"] for world in worlds] == [[], [], []]
    assert sum(world["counts"].get(act, 0) for world in worlds for act in ("given back", "served by the operator")) > 0


@pytest.mark.slow
def test_a_crowd_of_payers_loses_nothing() -> None:
    """Ten times the payers at once, and faults as often as ever: most operations are payers', and all are served."""
    [crowd] = _worlds("--seed", "2", "--operations", "100", "--crowd", "10")
    [alone] = _worlds("--seed", "2", "--operations", "100")
    assert crowd["violations"] == []
    assert crowd["virtual_days"] < alone["virtual_days"]
    assert crowd["counts"]["paid"] > alone["counts"]["paid"]


@pytest.mark.slow
def test_what_happens_only_where_it_is_named_costs_nobody_anything() -> None:
    """A worker dies of the commit that takes a payment, a machine starts with a clock far off: all is served."""
    [struck] = _worlds("--seed", "2", "--operations", "10", "--kinds", "struck")
    [world_entry] = _worlds("--seed", "1", "--operations", "15", "--kinds", "link,cold_boot")
    assert [struck["violations"], world_entry["violations"]] == [[], []]
    assert struck["counts"]["200"] >= struck["counts"]["paid"] > 0


def test_the_worker_that_took_a_payment_and_died_is_found_out() -> None:
    """Without the rule that serves what was paid, a short world shows the loss."""
    status, output = _run_simulation("--broken", "paid-stays-unserved")
    assert status == 0, output


@pytest.mark.slow
def test_a_failing_list_is_made_shorter() -> None:
    """Of ten operations two are left: a node that says for days that there is no payment, and one payer."""
    status, output = _run_simulation("--operations", "10", "--seed", "11", "--kinds", "honest,gone_for_good")
    assert status == 1
    shrunk = next(line for line in output.splitlines() if line.startswith("shrunk to"))
    assert shrunk.startswith("shrunk to 2 operations")
    replay = next(line for line in output.splitlines() if line.startswith("replay: ")).removeprefix(
        "replay: python -m tests.simulation "
    )
    [world] = _worlds(*replay.replace(" --trace", "").split())
    assert any("honest-lost" in violation for violation in world["violations"])


@pytest.mark.slow
def test_each_rule_that_is_taken_out_is_found() -> None:
    """A world finds each rule that is taken out of the product, alone."""
    status, output = _run_simulation("--broken", "all")
    assert status == 0, output


@pytest.mark.slow
def test_no_loss_comes_back() -> None:
    """What worlds have found and what was mended is found no more."""
    status, output = _run_simulation("--losses")
    assert status == 0, output


@pytest.mark.slow
def test_minutes_of_worlds() -> None:
    """No rule is broken in what three minutes hold; other worlds every day, ROTATE fixes them."""
    day = int(os.environ.get("ROTATE") or datetime.now(UTC).strftime("%j"))
    status, output = _run_simulation("--seed", str(day * 1000), "--operations", "300", "--seconds", "180")
    assert status == 0, output
