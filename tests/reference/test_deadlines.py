"""Many who wait equally long share one timer, and each leaves in time."""

from __future__ import annotations

import asyncio
import time

import pytest

from reference.deadlines import Deadlines

SECONDS = 0.05
LONG = 60.0


async def wait_for_nothing(deadlines: Deadlines) -> float:
    """Wait for what does not come; return the seconds until the time-out."""
    began = time.monotonic()
    with pytest.raises(TimeoutError), deadlines.start():
        await asyncio.sleep(LONG)
    return time.monotonic() - began


async def test_what_takes_too_long_is_interrupted() -> None:
    """It ends as a time-out after its time, and the task goes on as if nothing had been."""
    assert SECONDS <= await wait_for_nothing(Deadlines(SECONDS)) < LONG / 2
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_what_is_done_in_time_is_left_alone() -> None:
    """Its deadline passes later and interrupts no task, and one that starts after that is kept, too."""
    deadlines = Deadlines(SECONDS)
    with deadlines.start():
        await asyncio.sleep(0)
    await asyncio.sleep(2 * SECONDS)
    assert await wait_for_nothing(deadlines) >= SECONDS


async def test_each_has_its_own_end() -> None:
    """Three that start one after another, the middle one done at once: the others have all of their time."""
    deadlines = Deadlines(SECONDS)
    first = asyncio.create_task(wait_for_nothing(deadlines))
    await asyncio.sleep(SECONDS / 2)
    with deadlines.start():
        pass
    last = asyncio.create_task(wait_for_nothing(deadlines))
    assert min(await asyncio.gather(first, last)) >= SECONDS


async def test_a_task_that_is_cancelled_is_cancelled() -> None:
    """A cancelled attempt does not raise a time-out, even if both come at the same moment."""
    deadlines = Deadlines(SECONDS)

    async def wait_forever() -> None:
        with deadlines.start():
            await asyncio.sleep(LONG)

    task = asyncio.create_task(wait_forever())
    await asyncio.sleep(0)
    deadlines_pass = time.monotonic() + 2 * SECONDS
    while time.monotonic() < deadlines_pass:  # the timer is overdue when the loop comes to it
        pass
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_fault_of_the_block_stays_what_it_is() -> None:
    """A deadline makes a time-out of nothing but its own interruption."""
    with pytest.raises(KeyError), Deadlines(SECONDS).start():
        raise KeyError
    with pytest.raises(TimeoutError, match="of another source"), Deadlines(SECONDS).start():
        raise TimeoutError("of another source")


def test_a_deadline_needs_a_task() -> None:
    """Outside a task there is nothing to interrupt."""
    loop = asyncio.new_event_loop()
    errors: list[BaseException] = []

    def start() -> None:
        try:
            Deadlines(SECONDS).start()
        except RuntimeError as fault:
            errors.append(fault)
        loop.stop()

    loop.call_soon(start)
    loop.run_forever()
    loop.close()
    assert [str(one) for one in errors] == ["a deadline ends a task, and no task is running"]
