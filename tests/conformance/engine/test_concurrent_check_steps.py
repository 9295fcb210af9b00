"""Parts that run side by side: all of them to the end, whatever becomes of one."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from conformance.engine.concurrent_check_steps import enter_together, run_concurrently
from conformance.http.client import Unreachable
from conformance.outcome import Inconclusive


async def test_results_come_in_the_order_of_the_parts() -> None:
    """What finishes first does not come first."""

    async def part(number: int) -> int:
        for _ in range(5 - number):
            await asyncio.sleep(0)
        return number

    assert await run_concurrently(map(part, range(5))) == [0, 1, 2, 3, 4]


async def test_no_more_run_at_a_time_than_allowed() -> None:
    """The rest waits for room."""
    running_parts, most = 0, 0

    async def part() -> None:
        nonlocal running_parts, most
        running_parts += 1
        most = max(most, running_parts)
        await asyncio.sleep(0)
        running_parts -= 1

    await run_concurrently((part() for _ in range(20)), at_once=3)
    assert most == 3


@pytest.mark.parametrize("first", [Inconclusive("no node"), Unreachable("no answer")])
async def test_every_part_ends_before_a_broken_one_is_told(first: Exception) -> None:
    """A part that breaks off at once leaves the others their time."""
    ended_parts = []

    async def part(fault: Exception | None) -> None:
        if fault is not None:
            raise fault
        await asyncio.sleep(0.01)
        ended_parts.append(1)

    with pytest.raises(type(first)):
        await run_concurrently(map(part, (first, None, None)))
    assert ended_parts == [1, 1]


async def test_a_fault_of_the_suite_goes_before_a_reason() -> None:
    """An unforeseen error is reported even if another part was only inconclusive."""

    async def part(fault: Exception) -> None:
        raise fault

    with pytest.raises(KeyError):
        await run_concurrently(map(part, (Inconclusive("no node"), KeyError("suite"))))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("turns", [0, 1])
async def test_an_interrupt_leaves_no_part_behind(turns: int) -> None:
    """Parts that had no room yet, or had not begun at all, are closed without a warning; one that ran is ended."""
    ended_parts: list[str] = []

    async def part() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended_parts.append("ended")

    parts = [part() for _ in range(3)]
    running_parts = asyncio.ensure_future(run_concurrently(parts, at_once=1))
    await asyncio.sleep(0)
    for _ in range(turns):
        await asyncio.sleep(0)
    running_parts.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running_parts
    assert [inspect.getcoroutinestate(one) for one in parts] == [inspect.CORO_CLOSED] * 3
    assert ended_parts == ["ended"] * turns


async def test_two_contexts_are_entered_at_the_same_time_and_both_are_left() -> None:
    """Each waits for the other one to begin."""
    events = {name: asyncio.Event() for name in ("first", "second")}
    left = []

    @asynccontextmanager
    async def open_part(name: str, other: str) -> AsyncIterator[str]:
        events[name].set()
        await asyncio.wait_for(events[other].wait(), 600)
        yield name
        left.append(name)

    async with enter_together(open_part("first", "second"), open_part("second", "first")) as parts:
        assert [*parts] == ["first", "second"]
        assert not left
    assert sorted(left) == ["first", "second"]


async def test_a_context_is_left_if_the_other_one_cannot_be_entered() -> None:
    """Although it is entered after the other one has failed."""
    left = []

    @asynccontextmanager
    async def open_slowly() -> AsyncIterator[None]:
        await asyncio.sleep(0.01)
        try:
            yield
        finally:
            left.append(1)

    @asynccontextmanager
    async def fail() -> AsyncIterator[None]:
        if not left:
            raise KeyError("suite")
        yield

    with pytest.raises(KeyError):
        async with enter_together(fail(), open_slowly()):
            raise AssertionError
    assert left == [1]
