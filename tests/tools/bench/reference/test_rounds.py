"""Contenders are measured in turn, and what counts is the ratio inside a round."""

from __future__ import annotations

import gc

import pytest

from tools.bench.reference.rounds import Contender, Ratio, at_each_depth, measure, ratio, repeat_job


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
        async def run(parts: range) -> None:
            turns.append(name)
            for _ in parts:
                sum(range(work))

        return Contender(name, "ours" if name == "light" else "floor", run)

    costs = await measure("count", [contender("light", 300), contender("heavy", 3000)], rounds=3, seconds=0.002)
    light, heavy = costs["contenders"]
    assert turns[-6:] == ["light", "heavy"] * 3
    assert (len(light["rounds"]), len(heavy["rounds"])) == (3, 3)
    assert light["count"] > heavy["count"]
    assert "ratio" not in light
    assert heavy["low"] <= heavy["ratio"] <= heavy["high"]
    assert heavy["ratio"] > 2


async def test_a_dear_first_call_does_not_shorten_the_rounds() -> None:
    """An app that is busy when it starts is measured in rounds as long as those of any other."""
    calls = 0

    def job() -> None:
        nonlocal calls
        calls += 1
        sum(range(300 if calls > 1 else 3_000_000))

    costs = await measure("start", [Contender("busy", "ours", repeat_job(job))], rounds=1, seconds=0.01)
    assert costs["contenders"][0]["count"] > 100


@pytest.mark.parametrize(("frozen_before", "thaws"), [(0, 1), (5, 0)])
async def test_only_a_process_that_excluded_nothing_collects_everything_afterwards(
    frozen_before: int, thaws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the caller has excluded from garbage collection stays excluded after a measurement."""
    calls: list[str] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: frozen_before)
    monkeypatch.setattr(gc, "unfreeze", lambda: calls.append("unfreeze"))
    await measure("count", [Contender("light", "ours", repeat_job(lambda: sum(range(300))))], rounds=1, seconds=0.001)
    assert len(calls) == thaws


async def test_a_contender_that_fails_is_not_measured() -> None:
    """What raises ends the run: a wrong answer is not a fast one."""

    def wrong() -> None:
        raise ArithmeticError("wrong")

    with pytest.raises(ArithmeticError, match="wrong"):
        await measure("count", [Contender("wrong", "ours", repeat_job(wrong))], rounds=1, seconds=0.001)


async def test_all_of_the_work_is_done_at_sixteen_depths() -> None:
    """Each thing given is done once, whatever their number; none is left out for a depth that has no part."""
    for count in (1, 7, 16, 33):
        numbers: list[int] = []
        parts: list[int] = []

        def work(part: range, numbers: list[int] = numbers, parts: list[int] = parts) -> None:
            numbers.extend(part)
            parts.append(len(part))

        await at_each_depth(work)(range(count))
        assert sorted(numbers) == list(range(count))
        assert len(parts) == min(16, count)
        assert max(parts) - min(parts) <= 1


async def test_a_fault_at_any_depth_is_a_fault() -> None:
    """What the last part raises comes out as it is, though it went through frames of C."""

    def work(part: range) -> None:
        if 15 in part:
            raise ArithmeticError("wrong")

    with pytest.raises(ArithmeticError, match="wrong"):
        await at_each_depth(work)(range(16))
