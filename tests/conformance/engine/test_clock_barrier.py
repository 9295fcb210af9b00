"""Checks that let time pass side by side wait for each other."""

from __future__ import annotations

import asyncio

import pytest

from conformance.engine.clock_barrier import ClockBarrier


async def turns(times: int = 50) -> None:
    """Let everybody else go on as far as they can."""
    for _ in range(times):
        await asyncio.sleep(0)


class Trip:
    """Notes who does what, in order."""

    def __init__(self) -> None:
        self.waiting = ClockBarrier()
        self.done: list[str] = []
        self.held = asyncio.Event()

    async def lets_pass(self, name: str, *moments: float) -> None:
        with self.waiting.take_part():
            await turns()
            for moment in moments:
                async with self.waiting.wait_until(moment):
                    self.done.append(f"{name} {moment:g}")

    async def is_busy(self) -> None:
        with self.waiting.take_part():
            await self.held.wait()
            self.done.append("busy")


async def test_time_passes_for_nobody_who_is_busy() -> None:
    trip = Trip()
    tasks = [asyncio.create_task(one) for one in (trip.is_busy(), trip.lets_pass("a", 5), trip.lets_pass("b", 5))]
    await turns()
    assert trip.done == []
    trip.held.set()
    await asyncio.gather(*tasks)
    assert trip.done[0] == "busy"
    assert sorted(trip.done[1:]) == ["a 5", "b 5"]


async def test_an_earlier_moment_comes_first_and_to_its_end() -> None:
    """Who waited for it may wait again, for another early one, before the late one comes."""
    trip = Trip()
    await asyncio.gather(trip.lets_pass("late", 9), trip.lets_pass("early", 3, 4), trip.lets_pass("also", 3))
    assert sorted(trip.done[:2]) == ["also 3", "early 3"]
    assert trip.done[2:] == ["early 4", "late 9"]


@pytest.mark.parametrize("when", ["waiting", "at its turn"])
async def test_one_that_is_cancelled_holds_up_nobody(when: str) -> None:
    trip = Trip()
    busy = asyncio.create_task(trip.is_busy())
    first, second = (asyncio.create_task(trip.lets_pass(name, moment)) for name, moment in (("a", 1), ("b", 2)))
    await turns()
    if when == "at its turn":
        trip.held.set()
        await busy
    first.cancel()
    trip.held.set()
    await asyncio.wait([busy, first, second])
    assert trip.done[0] == "busy"
    assert trip.done[-1] == "b 2"


async def test_one_that_takes_no_part_waits_for_those_who_do() -> None:
    trip = Trip()
    async with trip.waiting.wait_until(7):
        pass
    busy = asyncio.create_task(trip.is_busy())
    await turns()

    async def outside() -> None:
        async with trip.waiting.wait_until(8):
            trip.done.append("outside")

    other_task = asyncio.create_task(outside())
    await turns()
    assert trip.done == []
    trip.held.set()
    await asyncio.gather(busy, other_task)
    assert trip.done == ["busy", "outside"]
