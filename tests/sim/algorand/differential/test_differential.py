"""Our Algorand ledger against the go-algorand evaluator: the same verdicts and the same balances.

No difference in them is allowed. The texts of refusals are not compared: they differ where the order of checks does,
and the node prints Go structures there.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator

import pytest

from tests.sim.algorand.differential.groups import Actors, draw, ours
from tests.sim.algorand.differential.oracle import Oracle


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    """A running evaluator; a machine where it cannot be had fails here, and does not skip."""
    started_oracle = Oracle()
    yield started_oracle
    started_oracle.close()


def seed_of_today() -> int:
    """Return the seed of this run: from the environment, else one that changes from day to day."""
    return int(os.environ.get("WELDPROOF_ORACLE_SEED", time.strftime("%Y%j")))


def compare(oracle: Oracle, seed: int, count: int) -> int:
    """Hold `count` groups against the evaluator and return how many were accepted."""
    rng = random.Random(seed)
    actors = Actors.make()
    accepted_count = 0
    for number in range(count):
        case = draw(rng, actors, oracle.genesis)
        theirs, mine = oracle.evaluate(case), ours(case, oracle.genesis)
        difference = f"seed {seed}, group {number}: the node says {theirs['error']}, we say {mine['error']}"
        assert (theirs["error"] is None) == (mine["error"] is None), difference
        assert theirs["after"] == mine["after"], f"{difference}: {theirs['after']} against {mine['after']}"
        accepted_count += theirs["error"] is None
    return accepted_count


@pytest.mark.oracle
def test_ten_rotating_groups_are_judged_alike(oracle: Oracle) -> None:
    """10 groups, others each day: same verdicts, same balances."""
    compare(oracle, seed_of_today(), 10)


@pytest.mark.slow
@pytest.mark.oracle
def test_a_hundred_rotating_groups_are_judged_alike(oracle: Oracle) -> None:
    """100 groups of today's seed: same verdicts, same balances; some are accepted and some refused."""
    accepted_count = compare(oracle, seed_of_today(), 100)
    assert 5 <= accepted_count <= 95


@pytest.mark.oracle_long
@pytest.mark.timeout(1800)
def test_a_thousand_groups_are_judged_alike(oracle: Oracle) -> None:
    """1,000 groups: same verdicts, same balances."""
    accepted_count = compare(oracle, int(os.environ.get("WELDPROOF_ORACLE_SEED", "1")), 1000)
    assert 50 <= accepted_count <= 950


@pytest.mark.oracle
def test_a_ledger_that_forgets_a_rule_is_noticed(oracle: Oracle, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without the minimum balance our ledger disagrees, by this seed in the first of a hundred groups."""
    from sim.algorand.evaluator import Evaluator

    monkeypatch.setattr(Evaluator, "_check_balances", lambda *_: None)
    with pytest.raises(AssertionError, match="the node says"):
        compare(oracle, 92, 100)
