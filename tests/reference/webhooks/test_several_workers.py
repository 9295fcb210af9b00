"""Several workers and dead ones: no attempt is made twice, and none is lost (design: single delivery of an event)."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from reference.protocol.webhook_delivery import DeliveryMove, DeliveryState, Outcome
from reference.store.deliveries import Attempt, Deliveries
from reference.webhooks.dispatcher import Pace
from tests.reference.webhooks.conftest import START, TENANT, Desk
from tests.reference.webhooks.receiver import Receiver

DOOMED = Path(__file__).with_name("self_killing_gateway.py")
ROOT = Path(__file__).parents[3]
IMPATIENT = Pace(poll=0.01, lease=0.3, grace=0.2)

both_databases = pytest.mark.parametrize(
    "dsn", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)


@both_databases
async def test_three_workers_deliver_each_event_once_to_each_destination(desk: Desk) -> None:
    """Forty events for three destinations, over three connections to one database."""
    receivers = [await Receiver().open() for _ in range(3)]
    for each_receiver in receivers:
        await desk.destination(each_receiver.url)
    for database in (desk.database, desk.open_another(), desk.open_another()):
        await desk.start(database=database)
    events = [await desk.event() for _ in range(40)]
    deliveries = await desk.until(
        lambda all_: len(all_) == 120 and all(each_receiver.state == "delivered" for each_receiver in all_)
    )
    for each_receiver in receivers:
        assert Counter(got.event_id for got in each_receiver.got) == Counter(event.id for event in events)
        await each_receiver.close()
    assert all([attempt.number for attempt in each_receiver.attempts] == [1] for each_receiver in deliveries)


@both_databases
async def test_nobody_takes_back_what_a_live_worker_holds_for_less_than_the_lease(
    desk: Desk, receiver: Receiver
) -> None:
    """A second worker looks on while the first waits for its receiver."""
    receiver.answer = receiver.hang
    await desk.destination(receiver.url)
    await desk.event()
    await desk.start()
    await receiver.until(1)
    onlooker = await desk.worker(database=desk.open_another())
    for _ in range(5):
        await onlooker.look()
    receiver.release.set()
    delivery = await desk.until_attempts(1)
    assert delivery.attempts[0].outcome is Outcome.DELIVERED
    assert len(receiver.got) == 1


async def run_killed_worker(desk: Desk, when: str) -> None:
    """Let a worker claim what is due and be killed by SIGKILL before or after it sends."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(DOOMED), desk.dsn, str(START), when, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}
    )
    assert await asyncio.wait_for(process.wait(), 120) == -signal.SIGKILL


@pytest.mark.parametrize(("when", "sent"), [("before", 0), ("after", 1)])
async def test_a_claim_of_a_killed_worker_is_taken_back(desk: Desk, receiver: Receiver, when: str, sent: int) -> None:
    """Between claim and send, or between send and note: the next worker sends the same event, by its own attempt."""
    await desk.destination(receiver.url)
    event = await desk.event()
    await run_killed_worker(desk, when)
    assert len(receiver.got) == sent
    assert [one.number for one in await desk.deliveries.in_flight()] == [1]
    await desk.start(pace=IMPATIENT)
    delivery = await desk.until_attempts(2)
    assert [one.outcome for one in delivery.attempts] == [Outcome.INTERRUPTED, Outcome.DELIVERED]
    assert delivery.state is DeliveryState.DELIVERED
    assert [got.event_id for got in receiver.got] == [event.id] * (sent + 1)


@pytest.mark.parametrize("when", ["claimed", "before", "after", "noting", "noted"])
async def test_a_kill_between_many_claims_and_their_notes_loses_and_doubles_nothing(
    desk: Desk, receiver: Receiver, when: str
) -> None:
    """Claims and notes go to the disk together: what is noted is never sent again, and all the rest is, once."""
    await desk.destination(receiver.url)
    events = {(await desk.event()).id for _ in range(12)}
    await run_killed_worker(desk, when)
    before = Counter(got.event_id for got in receiver.got)
    claims = {delivery.delivery_id for delivery in await desk.deliveries.in_flight()}
    sent_before = {
        delivery.event_id for delivery in await desk.deliveries.of_tenant(TENANT) if delivery.state == "delivered"
    }

    assert (len(claims) + len(sent_before), max(before.values(), default=0) <= 1) == (12, True)
    assert (when == "noted") == bool(sent_before)
    assert sent_before <= before.keys()
    await desk.start(pace=IMPATIENT)
    deliveries = await desk.until(
        lambda all_: len(all_) == 12 and all(delivery.state == "delivered" for delivery in all_)
    )
    now = Counter(got.event_id for got in receiver.got)
    assert (now - before) == Counter(events - sent_before)
    assert now.keys() == events
    for delivery in deliveries:
        outcomes = [attempt.outcome for attempt in delivery.attempts]
        lost = [] if delivery.event_id in sent_before else [Outcome.INTERRUPTED]
        assert outcomes == [*lost, Outcome.DELIVERED]


@both_databases
async def test_what_two_workers_want_is_claimed_by_one_of_them(desk: Desk, receiver: Receiver) -> None:
    """Several at once: each attempt has one owner, and a worker that finds one taken gets the others."""
    destination = await desk.destination(receiver.url)
    for _ in range(9):
        await desk.event()
    workers = [desk.deliveries, Deliveries(desk.open_another())]
    claims = await asyncio.gather(*(one.claim(destination.id, now_ms=START * 1000, most=6) for one in workers))
    claims += [await workers[0].claim(destination.id, now_ms=START * 1000, most=6)]

    assert {one.id for one in await desk.deliveries.of_tenant(TENANT)} == {one.id for won in claims for one in won}
    assert (sum(map(len, claims)), max(map(len, claims))) == (9, 6)


@both_databases
async def test_of_what_was_claimed_together_only_what_stands_still_is_taken_back(
    desk: Desk, receiver: Receiver
) -> None:
    """The result of one of twelve is never recorded: the others are, and only that one is attempted again."""
    destination = await desk.destination(receiver.url)
    for _ in range(12):
        await desk.event()
    lost_claim, *others = await desk.deliveries.claim(destination.id, now_ms=START * 1000, most=12)
    for one in others:
        told = Attempt(1, one.started_ms, one.started_ms + 1, Outcome.DELIVERED, 200)
        await desk.deliveries.finish(one.id, told, move=DeliveryMove.ARRIVED, failures=0, due_ms=None)
    await desk.start(pace=IMPATIENT)
    deliveries = await desk.until(lambda all_: all(one.state == "delivered" for one in all_))
    outcomes = {one.id: [attempt.outcome for attempt in one.attempts] for one in deliveries}
    assert outcomes.pop(lost_claim.id) == [Outcome.INTERRUPTED, Outcome.DELIVERED]
    assert list(outcomes.values()) == [[Outcome.DELIVERED]] * 11
    assert [got.event_id for got in receiver.got] == [lost_claim.event_id]


async def test_the_lease_runs_by_monotonic_time(desk: Desk, receiver: Receiver) -> None:
    """A day by the service's clock does not make a claim stand still for longer (P-CV-08)."""
    receiver.answer = receiver.hang
    await desk.destination(receiver.url)
    await desk.event()
    await desk.start()
    await receiver.until(1)
    onlooker = await desk.worker(database=desk.open_another())
    await onlooker.look()
    desk.now += 86400
    await onlooker.look()
    assert len(await desk.deliveries.in_flight()) == 1
    receiver.release.set()
    assert (await desk.until_attempts(1)).state is DeliveryState.DELIVERED
