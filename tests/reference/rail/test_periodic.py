"""All waiting callers begin a round together, however long the round before took."""

from __future__ import annotations

import asyncio

import pytest

from reference.rail.periodic import Interval, Rounds

SECONDS = 0.2


async def test_those_who_took_different_times_begin_together() -> None:
    """One needs nothing and one a third of a round: both begin the next one at once."""
    rounds, loop = Rounds(SECONDS), asyncio.get_running_loop()

    async def begin(takes: float) -> float:
        await asyncio.sleep(takes)
        await rounds.next()
        return loop.time()

    at_once, later = await asyncio.gather(begin(0), begin(SECONDS / 3))
    assert at_once == pytest.approx(later, abs=0.02)


@pytest.mark.parametrize(("takes", "begins"), [(0, 1), (0.4, 1), (0.6, 2), (0.99, 2), (1.4, 2), (2.7, 4)])
async def test_a_round_is_never_right_after_the_one_before(
    monkeypatch: pytest.MonkeyPatch, takes: float, begins: int
) -> None:
    """A timer may go off a hair early, and what was slow just then is not done again at once."""
    loop, slept = asyncio.get_running_loop(), []
    now = loop.time()
    monkeypatch.setattr(loop, "time", lambda: now)
    rounds = Rounds(SECONDS)
    monkeypatch.setattr(loop, "time", lambda: now + takes * SECONDS)

    async def sleep(seconds: float) -> None:
        slept.append(takes + seconds / SECONDS)

    with monkeypatch.context() as patch:
        patch.setattr(asyncio, "sleep", sleep)
        await rounds.next()
    assert slept == [pytest.approx(begins)]


def test_a_duty_is_due_once_in_an_interval_and_after_a_jump_back() -> None:
    """The service's clock decides. A jump over the interval makes the duty due at once."""
    interval = Interval(60)
    times = (1000, 1001, 1059, 1060, 1061, 5000, 5001, 0, 1, 4000)
    assert [now for now in times if interval.is_over(now)] == [1000, 1060, 5000, 0, 4000]
