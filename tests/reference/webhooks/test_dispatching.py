"""Deliveries over time: the schedule by the clock, dead letters, resending, many destinations (P-WH-07 to P-WH-11)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from reference.protocol.webhook_delivery import DEFAULT_SCHEDULE, DeliveryState, Outcome
from reference.store.database import DatabaseUnavailable
from reference.store.deliveries import Deliveries
from reference.web.clock import WpClock
from tests.reference.webhooks.conftest import QUICK, SEAL, START, TENANT, Desk
from tests.reference.webhooks.receiver import Receiver, ok, status


async def test_six_attempts_by_the_clock_and_then_a_dead_letter(desk: Desk, receiver: Receiver) -> None:
    """At once, +30 s, +2 min, +10 min, +1 h, +6 h; the same bytes each time under a new signature; then silence."""
    receiver.answer = status(500)
    destination = await desk.destination(receiver.url)
    event = await desk.event()
    worker = await desk.worker()
    await desk.start_worker(worker)
    times = [START]
    for number, wait in enumerate(DEFAULT_SCHEDULE, start=1):
        delivery = await desk.until_attempts(number)
        desk.now += wait - 0.5
        await worker.look()
        assert len(receiver.got) == number, "it was tried again too early"
        assert delivery.due_ms == (times[-1] + wait) * 1000
        desk.now += 0.5
        times.append(int(desk.now))
    delivery = await desk.until_attempts(6)
    assert (delivery.state, delivery.due_ms) == (DeliveryState.DEAD, None)
    desk.now += 10 * 86400
    await worker.look()
    assert [got.time for got in receiver.got] == times
    assert {got.body for got in receiver.got} == {event.body}
    assert all(got.is_signed_by(desk.secrets[destination.id]) for got in receiver.got)


async def test_a_receiver_that_recovers_gets_the_event_once_more_and_never_again(
    desk: Desk, receiver: Receiver
) -> None:
    """The first 2xx ends it."""
    receiver.answer = status(503)
    await desk.destination(receiver.url)
    await desk.event()
    worker = await desk.worker()
    await desk.start_worker(worker)
    await desk.until_attempts(1)
    receiver.answer = ok
    desk.now += 30
    delivery = await desk.until_attempts(2)
    assert delivery.state is DeliveryState.DELIVERED
    desk.now += 86400
    await worker.look()
    assert len(receiver.got) == 2


async def test_a_dead_letter_and_a_delivered_event_are_sent_again_on_demand(desk: Desk, receiver: Receiver) -> None:
    """One attempt a demand; one that fails leaves things as they were."""
    receiver.answer = status(500)
    await desk.destination(receiver.url)
    await desk.event()
    await desk.start()
    for number, wait in enumerate((*DEFAULT_SCHEDULE, 0), start=1):
        delivery = await desk.until_attempts(number)
        desk.now += wait
    assert await desk.deliveries.retry(TENANT, delivery.id, now_ms=desk.clock.now_ms())
    assert (await desk.until_attempts(7)).state is DeliveryState.DEAD
    receiver.answer = ok
    assert await desk.deliveries.retry(TENANT, delivery.id, now_ms=desk.clock.now_ms())
    assert (await desk.until_attempts(8)).state is DeliveryState.DELIVERED
    receiver.answer = status(500)
    assert await desk.deliveries.retry(TENANT, delivery.id, now_ms=desk.clock.now_ms())
    last = await desk.until_attempts(9)
    assert (last.state, last.due_ms) == (DeliveryState.DELIVERED, None)
    assert len({got.event_id for got in receiver.got}) == 1


async def test_the_new_secret_signs_the_next_attempt(desk: Desk, receiver: Receiver) -> None:
    """Rotation between two attempts of one delivery (P-WH-07)."""
    receiver.answer = status(500)
    destination = await desk.destination(receiver.url)
    await desk.event()
    await desk.start()
    await desk.until_attempts(1)
    sealed_secret = SEAL.seal(b"weldw_new", b"webhook:" + destination.id.encode())
    assert await desk.destinations.rotate(TENANT, destination.id, sealed_secret, now=START)
    desk.now += 30
    await desk.until_attempts(2)
    first, second = receiver.got
    assert first.is_signed_by(desk.secrets[destination.id])
    assert second.is_signed_by("weldw_new")
    assert not second.is_signed_by(desk.secrets[destination.id])


async def test_destinations_do_not_wait_for_each_other(desk: Desk, receiver: Receiver) -> None:
    """While one holds up more attempts than it may have at once, another gets its event long before those time out."""
    slow = await Receiver().open()
    slow.answer = slow.hang
    await desk.destination(slow.url)
    for _ in range(40):
        await desk.event()
    await desk.start()
    await slow.until(16)
    await desk.destination(receiver.url)
    began = time.monotonic()
    event = await desk.event()
    (request,) = await receiver.until(1)
    assert request.event_id == event.id
    assert time.monotonic() - began < 20
    assert len(slow.got) == 16
    await slow.close()


async def test_each_destination_gets_the_event_under_its_own_secret(desk: Desk) -> None:
    """Nine of them, one of which fails alone."""
    receivers = [await Receiver().open() for _ in range(9)]
    receivers[3].answer = status(500)
    destinations = [await desk.destination(each_receiver.url) for each_receiver in receivers]
    event = await desk.event()
    await desk.start()
    deliveries = await desk.until(lambda all_: len(all_) == 9 and all(each_receiver.attempts for each_receiver in all_))
    for each_receiver, destination in zip(receivers, destinations, strict=True):
        (request,) = each_receiver.got
        assert request.event_id == event.id
        assert [request.is_signed_by(desk.secrets[other.id]) for other in destinations].count(True) == 1
        assert request.is_signed_by(desk.secrets[destination.id])
        await each_receiver.close()
    states = [each_receiver.state for each_receiver in deliveries]
    assert (states.count(DeliveryState.DELIVERED), states.count(DeliveryState.PENDING)) == (8, 1)


async def test_a_destination_that_is_deleted_while_it_fails_gets_nothing_more(desk: Desk, receiver: Receiver) -> None:
    """The attempt under way ends; what would follow is dropped."""

    async def fail_later(request: web.Request) -> web.StreamResponse:
        await receiver.release.wait()
        return await status(500)(request)

    receiver.answer = fail_later
    destination = await desk.destination(receiver.url)
    await desk.event()
    await desk.start()
    await receiver.until(1)
    await desk.destinations.delete(TENANT, destination.id)
    receiver.release.set()
    await desk.until_attempts(1)
    desk.now += 30
    await desk.until(lambda found: found[0].state is DeliveryState.DROPPED)
    assert len(receiver.got) == 1


async def test_a_worker_that_is_stopped_gives_back_what_is_under_way(desk: Desk, receiver: Receiver) -> None:
    """It is due at once for the next one, as an attempt of its own, and no failure is counted."""
    receiver.answer = receiver.hang
    await desk.destination(receiver.url)
    await desk.event()
    task = await desk.start()
    await receiver.until(1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    delivery = await desk.until_attempts(1)
    assert (delivery.state, delivery.attempts[0].outcome) == (DeliveryState.PENDING, Outcome.INTERRUPTED)
    receiver.answer = ok
    await desk.start()
    again = await desk.until_attempts(2)
    assert (again.state, again.attempts[1].number) == (DeliveryState.DELIVERED, 2)


class Late:
    """A database whose claims are on the disk some time before it says so."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.taken, self.go_on = asyncio.Event(), asyncio.Event()

    async def take(self, found: Any, change: Any, /, **values: Any) -> Sequence[Any]:
        rows: Sequence[Any] = await self._real.take(found, change, **values)
        self.taken.set()
        await self.go_on.wait()
        return rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


async def test_a_worker_that_is_stopped_while_it_claims_gives_back_what_it_gets(desk: Desk, receiver: Receiver) -> None:
    """It waits for the answer, sends nothing any more, and leaves all of it due at once for the next one."""
    await desk.destination(receiver.url)
    for _ in range(3):
        await desk.event()
    late: Any = Late(desk.database)
    task = await desk.start(database=late)
    await late.taken.wait()
    task.cancel()
    await asyncio.sleep(2 * QUICK.grace)
    assert not task.done()
    late.go_on.set()
    await asyncio.gather(task, return_exceptions=True)
    assert receiver.got == []
    assert list(await desk.deliveries.in_flight()) == []
    for delivery in await desk.deliveries.of_tenant(TENANT):
        outcomes = [attempt.outcome for attempt in delivery.attempts]
        assert (delivery.state, delivery.due_ms, outcomes) == (
            DeliveryState.PENDING,
            START * 1000,
            [Outcome.INTERRUPTED],
        )


class Faltering:
    """A database that is away for some of its calls."""

    def __init__(self, real: Any, faults: int) -> None:
        self._real = real
        self._faults = faults

    def _fails(self) -> bool:
        self._faults -= 1
        return self._faults >= 0 and self._faults % 3 != 0

    async def rows(self, statement: Any, /, **values: Any) -> Sequence[Any]:
        if self._fails():
            raise DatabaseUnavailable("away")
        rows: Sequence[Any] = await self._real.rows(statement, **values)
        return rows

    async def change(self, statement: Any, /, **values: Any) -> int:
        if self._fails():
            raise DatabaseUnavailable("away")
        return int(await self._real.change(statement, **values))

    async def take(self, found: Any, change: Any, /, **values: Any) -> Sequence[Any]:
        if self._fails():
            raise DatabaseUnavailable("away")
        rows: Sequence[Any] = await self._real.take(found, change, **values)
        return rows

    async def change_all(self, *changes: Any) -> Sequence[int]:
        if self._fails():
            raise DatabaseUnavailable("away")
        counts: Sequence[int] = await self._real.change_all(*changes)
        return counts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


async def test_a_database_that_comes_and_goes_loses_nothing(desk: Desk, receiver: Receiver) -> None:
    """Every event arrives, each in one attempt."""
    await desk.destination(receiver.url)
    events = [await desk.event() for _ in range(10)]
    faltering: Any = Faltering(desk.database, 60)
    await desk.start(database=faltering)
    await desk.until(lambda found: all(one.state is DeliveryState.DELIVERED for one in found))
    assert sorted(got.event_id for got in receiver.got) == sorted(one.id for one in events)


async def test_what_is_listed_is_what_was_sent(desk: Desk, receiver: Receiver) -> None:
    """`Deliveries.of_tenant` shows nothing of other tenants and the newest first."""
    await desk.destination(receiver.url)
    first = await desk.event()
    desk.now += 1
    second = await desk.event()
    deliveries = await Deliveries(desk.database).of_tenant(TENANT)
    assert [one.event_id for one in deliveries] == [second.id, first.id]
    assert list(await Deliveries(desk.database).of_tenant("somebody")) == []


async def test_nothing_is_signed_at_a_time_that_is_in_doubt(desk: Desk, receiver: Receiver) -> None:
    """A receiver would refuse it for its age: what is due waits, and goes out with the right time."""
    destination = await desk.destination(receiver.url)
    await desk.event()
    desk.clock = WpClock(wall_clock=lambda: START + 86_400.0, monotonic=lambda: 0.0)
    desk.clock.require_witnesses()
    desk.clock.question("no chain confirms it")
    worker = await desk.worker()
    await worker.look()
    await asyncio.sleep(0.1)
    assert receiver.got == []
    desk.clock.confirm()
    await desk.start_worker(worker)
    (request,) = await receiver.until(1)
    assert request.is_signed_by(desk.secrets[destination.id])
