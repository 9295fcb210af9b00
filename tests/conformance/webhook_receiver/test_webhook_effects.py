"""One effect per event id: in turn, together, after a failure, and when memory is short."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from conformance.webhook_receiver.effect_deduplication import Effects, EffectsFull, Outcome
from conformance.webhook_receiver.raw_receiver import Reply


def count_effects(*successes: bool) -> tuple[Callable[[], Awaitable[Outcome]], list[int]]:
    """Return an effect that ends as listed, in turn, and the calls it got."""
    calls: list[int] = []

    async def effect() -> Outcome:
        calls.append(len(calls) + 1)
        await asyncio.sleep(0)
        return Outcome(Reply(200 + len(calls)), successes[len(calls) - 1])

    return effect, calls


async def test_an_id_has_its_effect_once() -> None:
    """The first delivery performs the effect, a later one does not; each id counts for itself."""
    effects, (effect, calls) = Effects(600), count_effects(True, True)
    assert (await effects.run_once("a", effect)) == Outcome(Reply(201), has_effect=True)
    assert await effects.run_once("a", effect) is None
    assert await effects.run_once("b", effect) is not None
    assert [effects.count(one) for one in "abc"] == [1, 1, 0]
    assert calls == [1, 2]


async def test_deliveries_together_share_one_effect() -> None:
    """Ten at once perform one effect, and every one of them gets its outcome."""
    effects, (effect, calls) = Effects(600), count_effects(True)
    outcomes = await asyncio.gather(*(effects.run_once("a", effect) for _ in range(10)))
    assert outcomes == [Outcome(Reply(201), has_effect=True)] * 10
    assert calls == [1]


async def test_a_failed_effect_may_be_tried_again() -> None:
    """What was not done counts as nothing, and the next delivery is a first one."""
    effects, (effect, calls) = Effects(600), count_effects(False, True)
    assert (await effects.run_once("a", effect)) == Outcome(Reply(201), has_effect=False)
    assert effects.count("a") == 0
    assert (await effects.run_once("a", effect)) == Outcome(Reply(202), has_effect=True)
    assert (effects.count("a"), calls) == (1, [1, 2])


async def test_an_effect_that_breaks_off_may_be_tried_again() -> None:
    """An exception reaches the one who delivers, and leaves nothing behind."""
    effects, (effect, _) = Effects(600), count_effects(True)

    async def breaks() -> Outcome:
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - any of its kind
        await effects.run_once("a", breaks)
    assert await effects.run_once("a", effect) is not None


async def test_an_effect_outlives_the_one_who_waits() -> None:
    """A sender that gives up does not undo what has begun: its next delivery is a repeat."""
    effects, begin_event, go = Effects(600), asyncio.Event(), asyncio.Event()

    async def effect() -> Outcome:
        begin_event.set()
        await go.wait()
        return Outcome(Reply(), has_effect=True)

    waiting_task = asyncio.create_task(effects.run_once("a", effect))
    await begin_event.wait()
    waiting_task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting_task
    second = asyncio.create_task(effects.run_once("a", effect))
    go.set()
    assert await second == Outcome(Reply(), has_effect=True)
    assert effects.count("a") == 1


async def test_the_oldest_id_makes_room_only_when_it_cannot_come_again() -> None:
    """With no room, a new id waits until the oldest is out of the window; a repeat keeps an id young."""
    now = 0.0
    effects, (effect, _) = Effects(600, most=2, monotonic=lambda: now), count_effects(*[True] * 9)
    await effects.run_once("a", effect)
    await effects.run_once("b", effect)
    now = 400.0
    assert await effects.run_once("a", effect) is None
    now = 600.0
    with pytest.raises(EffectsFull):
        await effects.run_once("c", effect)
    now = 600.5
    assert await effects.run_once("c", effect) is not None
    assert [effects.count(one) for one in "abc"] == [1, 0, 1]
    assert await effects.run_once("a", effect) is None


async def test_closing_ends_what_is_under_way() -> None:
    """An effect that hangs does not hold up the end."""
    effects = Effects(600)

    async def hangs() -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    waiting_task = asyncio.create_task(effects.run_once("a", hangs))
    await asyncio.sleep(0)
    await effects.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting_task
