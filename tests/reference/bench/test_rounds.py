"""Contenders are measured in turn, and what counts is the ratio inside a round."""

from __future__ import annotations

import pytest

from reference.bench.rounds import Contender, Ratio, each, measure, ratio


def test_a_ratio_is_the_median_of_the_rounds() -> None:
    """A round in which the machine was slow for both changes nothing."""
    assert Ratio(2.0, 2.0, 2.0) == ratio([10.0, 50.0, 10.0], [20.0, 100.0, 20.0])


def test_its_spread_is_the_quartiles() -> None:
    """One round that went wrong lies outside the spread of five."""
    assert Ratio(2.0, 1.9, 2.1) == ratio([10.0] * 5, [19.0, 20.0, 21.0, 1.0, 90.0])


def test_nothing_measured_is_no_ratio() -> None:
    """No rounds, or rounds of one side only, are a fault."""
    with pytest.raises(ValueError, match="nothing"):
        ratio([], [])
    with pytest.raises(ValueError, match="zip"):
        ratio([1.0], [1.0, 2.0])


async def test_contenders_work_in_turn() -> None:
    """Every contender works once in each round, the slower one fewer times."""
    turns: list[str] = []

    def contender(name: str, work: int) -> Contender:
        async def run(given: range) -> None:
            turns.append(name)
            for _ in given:
                sum(range(work))

        return Contender(name, "ours" if name == "light" else "floor", run)

    told = await measure("count", [contender("light", 300), contender("heavy", 3000)], rounds=3, seconds=0.002)
    light, heavy = told["contenders"]
    assert turns[-6:] == ["light", "heavy"] * 3
    assert (len(light["rounds"]), len(heavy["rounds"])) == (3, 3)
    assert light["count"] > heavy["count"]
    assert "ratio" not in light
    assert heavy["low"] <= heavy["ratio"] <= heavy["high"]
    assert heavy["ratio"] > 2


async def test_a_contender_that_fails_is_not_measured() -> None:
    """What raises ends the run: a wrong answer is not a fast one."""

    def wrong() -> None:
        raise ArithmeticError("wrong")

    with pytest.raises(ArithmeticError, match="wrong"):
        await measure("count", [Contender("wrong", "ours", each(wrong))], rounds=1, seconds=0.001)
