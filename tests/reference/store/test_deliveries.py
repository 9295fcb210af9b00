"""The outbox on both databases: fan-out, claims, outcomes, restarts, retries on demand."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import uuid
from dataclasses import dataclass

import pytest
from sqlalchemy import func, select

from reference.protocol.webhook_delivery import (
    DELIVERY,
    MOST_DESTINATIONS,
    DeliveryMove,
    DeliveryState,
    EventType,
    Outcome,
)
from reference.store.database import Database, DuplicateKey
from reference.store.deliveries import Attempt, ClaimedAttempt, Deliveries, Event, build_transition
from reference.store.destinations import Destination, Destinations
from reference.store.webhook_tables import attempts, deliveries, events

TENANT = str(uuid.uuid4())
OTHER = str(uuid.uuid4())
NOW = 1_767_225_600
CONFIRMED, CANCELLED = EventType.PAYMENT_CONFIRMED, EventType.PAYMENT_CANCELLED


@dataclass
class Box:
    database: Database
    destinations: Destinations
    deliveries: Deliveries

    async def add(self, *types: EventType, tenant_id: str = TENANT) -> Destination:
        destination = Destination(str(uuid.uuid4()), tenant_id, "https://a.test/h", NOW, None, types or (CONFIRMED,))
        assert await self.destinations.add(destination, b"sealed " + destination.id.encode())
        return destination

    async def tell(
        self, type_: EventType = CONFIRMED, link_id: str = "", tenant_id: str = TENANT, at: int = NOW
    ) -> Event:
        event = Event(f"evt_{uuid.uuid4()}", tenant_id, link_id or str(uuid.uuid4()), type_, at, b'{"a":1}')
        await self.database.change_all(*self.deliveries.build_event(event))
        return event

    async def is_due(self, destination: Destination, now: int = NOW) -> bool:
        return await self.deliveries.is_due(destination.id, now_ms=now * 1000)

    async def claim(self, destination: Destination, now: int = NOW) -> list[ClaimedAttempt]:
        return await self.deliveries.claim(destination.id, now_ms=now * 1000, most=100)


@pytest.fixture
async def box(database: Database) -> Box:
    new_box = Box(database, Destinations(database), Deliveries(database))
    await new_box.destinations.prepare()
    return new_box


def attempt(number: int, outcome: Outcome, status: int | None = None, at: int = NOW) -> Attempt:
    return Attempt(number, at * 1000, at * 1000 + 40, outcome, status)


async def test_an_event_is_due_at_once_at_every_destination_that_asked_for_its_type(box: Box) -> None:
    """One delivery a destination with the event's id, bytes and that destination's secret; none for others."""
    first, second = await box.add(), await box.add(CANCELLED, CONFIRMED)
    third, foreign = await box.add(CANCELLED), await box.add(tenant_id=OTHER)
    event = await box.tell()
    due = await box.deliveries.due_destinations(now_ms=NOW * 1000)
    assert {(first.id, NOW * 1000), (second.id, NOW * 1000)} == set(due)
    assert list(await box.deliveries.due_destinations(now_ms=NOW * 1000 - 1)) == []
    assert [await box.is_due(claim) for claim in (first, second, third, foreign)] == [True, True, False, False]
    for destination in (first, second):
        (claim,) = await box.claim(destination)
        assert (event.id, b'{"a":1}', 1, 0) == (claim.event_id, claim.body, claim.number, claim.failures)
        assert (destination.id, b"sealed " + destination.id.encode()) == (claim.destination_id, claim.sealed_secret)
        assert (claim.url, claim.started_ms, claim.delivered_before) == ("https://a.test/h", NOW * 1000, False)
    assert await box.claim(third) + await box.claim(foreign) == []


async def test_a_link_has_one_event_of_a_type(box: Box) -> None:
    """A second one is refused and takes nothing with it."""
    destination = await box.add()
    await box.tell(link_id="a")
    with pytest.raises(DuplicateKey):
        await box.tell(link_id="a")
    await box.tell(CANCELLED, link_id="a")
    assert len(await box.claim(destination)) == 1


async def test_one_of_many_workers_claims_an_attempt(box: Box) -> None:
    """The other workers do not get it, and it is no longer due."""
    destination = await box.add()
    await box.tell()
    claims = await asyncio.gather(*(box.claim(destination) for _ in range(10)))
    assert sorted(map(len, claims)) == [0] * 9 + [1]
    assert not await box.is_due(destination)
    ((claim,),) = filter(None, claims)
    assert [(claim.id, 1)] == [(one.delivery_id, one.number) for one in await box.deliveries.in_flight()]


async def test_those_who_have_waited_longest_are_claimed_first(box: Box) -> None:
    """As many as are asked for, in the order in which they came to be due; what is not due yet is not claimed."""
    destination = await box.add()
    parts = [await box.tell(at=NOW + late) for late in (2, 0, 3, 1)]
    values = {"now_ms": NOW * 1000 + 2500, "most": 2}
    claims = [await box.deliveries.claim(destination.id, **values) for _ in range(3)]
    assert [[parts[1].id, parts[3].id], [parts[0].id], []] == [[one.event_id for one in won] for won in claims]


async def test_the_outbox_is_measured(box: Box) -> None:
    """How many deliveries wait and are on their way, and since when the oldest is due; an ended one does not count."""
    destination = await box.add()
    nothing = {DeliveryState.PENDING: 0, DeliveryState.SENDING: 0}
    assert await box.deliveries.measure(now_ms=NOW * 1000) == (nothing, 0)
    for late in (0, 5, 60):
        await box.tell(at=NOW + late)
    waiting = nothing | {DeliveryState.PENDING: 3}
    assert await box.deliveries.measure(now_ms=NOW * 1000 + 2500) == (waiting, 2.5)
    assert await box.deliveries.measure(now_ms=NOW * 1000 - 1) == (waiting, 0)
    (claim,) = await box.claim(destination)
    on_the_way = {DeliveryState.PENDING: 2, DeliveryState.SENDING: 1}
    assert await box.deliveries.measure(now_ms=(NOW + 6) * 1000) == (on_the_way, 1)
    delivered = attempt(1, Outcome.DELIVERED, 204)
    await box.deliveries.finish(claim.id, delivered, move=DeliveryMove.ARRIVED, failures=0, due_ms=None)
    ended = {DeliveryState.PENDING: 2, DeliveryState.SENDING: 0}
    assert await box.deliveries.measure(now_ms=(NOW + 6) * 1000) == (ended, 1)


async def test_an_attempt_is_told_once(box: Box) -> None:
    """A worker that was thought dead changes nothing by what it tells afterwards."""
    destination = await box.add()
    await box.tell()
    (due,) = await box.claim(destination)
    unclaimed_attempt = attempt(2, Outcome.INTERRUPTED)
    await box.deliveries.finish(due.id, unclaimed_attempt, move=DeliveryMove.GIVEN_UP, failures=9, due_ms=None)
    lost_claim, late = attempt(1, Outcome.INTERRUPTED), attempt(1, Outcome.STATUS, 500)
    await box.deliveries.finish(due.id, lost_claim, move=DeliveryMove.FAILED, failures=0, due_ms=NOW * 1000)
    await box.deliveries.finish(due.id, late, move=DeliveryMove.GIVEN_UP, failures=1, due_ms=None)
    (again,) = await box.claim(destination)
    assert (again.number, again.failures) == (2, 0)
    last_attempt = attempt(2, Outcome.DELIVERED, 204)
    await box.deliveries.finish(due.id, last_attempt, move=DeliveryMove.ARRIVED, failures=0, due_ms=None)
    (deliveries_listed,) = await box.deliveries.of_tenant(TENANT)
    assert (DeliveryState.DELIVERED, NOW, (lost_claim, last_attempt)) == (
        deliveries_listed.state,
        deliveries_listed.delivered_at,
        deliveries_listed.attempts,
    )
    assert list(await box.deliveries.in_flight()) == []


async def test_what_failed_waits_for_its_time_and_may_be_asked_for_at_any(box: Box) -> None:
    """Pending is due at its time, a dead letter and a delivered one on request; not on another tenant's request."""
    destination = await box.add()
    await box.tell()
    (due,) = await box.claim(destination)
    later = (NOW + 30) * 1000
    assert await box.deliveries.retry(TENANT, due.id, now_ms=NOW * 1000)  # it is under way
    assert await box.claim(destination, NOW + 99) == []
    failed_attempt = attempt(1, Outcome.TIMEOUT)
    await box.deliveries.finish(due.id, failed_attempt, move=DeliveryMove.FAILED, failures=1, due_ms=later)
    assert await box.claim(destination, NOW + 29) == []
    (again,) = await box.claim(destination, NOW + 30)
    assert (again.number, again.failures, again.delivered_before) == (2, 1, False)
    last_attempt = attempt(2, Outcome.DELIVERED, 200)
    await box.deliveries.finish(due.id, last_attempt, move=DeliveryMove.ARRIVED, failures=1, due_ms=None)
    assert not await box.deliveries.retry(OTHER, due.id, now_ms=NOW * 1000)
    assert not await box.deliveries.retry(TENANT, "dlv_none", now_ms=NOW * 1000)
    assert await box.deliveries.retry(TENANT, due.id, now_ms=NOW * 1000)
    (resent,) = await box.claim(destination)
    assert (resent.number, resent.delivered_before) == (3, True)


async def test_places_are_nine_also_for_those_who_come_together(box: Box) -> None:
    """Twelve at once: nine get in, a place that is given back is taken again, other tenants do not count."""
    destinations = [
        Destination(str(uuid.uuid4()), TENANT, "https://a.test/", NOW, None, (CONFIRMED,)) for _ in range(12)
    ]
    outcomes = await asyncio.gather(*(box.destinations.add(one, b"s") for one in destinations))
    deliveries_listed = await box.destinations.of_tenant(TENANT)
    assert MOST_DESTINATIONS == sum(outcomes) == len(deliveries_listed)
    assert {one.id for one, is_in in zip(destinations, outcomes, strict=True) if is_in} == {
        one.id for one in deliveries_listed
    }
    await box.add(tenant_id=OTHER)
    (kept_destination,) = await box.destinations.of_tenant(OTHER)
    assert await box.destinations.delete(OTHER, kept_destination.id)
    deleted_destination = deliveries_listed[0]
    assert not await box.destinations.delete(OTHER, deleted_destination.id)
    assert await box.destinations.delete(TENANT, deleted_destination.id)
    left_out, still_out, _ = (one for one, is_in in zip(destinations, outcomes, strict=True) if not is_in)
    assert await box.destinations.add(left_out, b"s")
    assert not await box.destinations.add(still_out, b"s")


async def test_a_destination_is_added_once(box: Box) -> None:
    """The same id again is refused, to its tenant and to another one, and the first one stands as it was."""
    first = await box.add()
    for tenant in (TENANT, OTHER):
        with pytest.raises(DuplicateKey):
            await box.destinations.add(dataclasses.replace(first, tenant_id=tenant, url="https://b.test/"), b"s")
    assert [first] == list(await box.destinations.of_tenant(TENANT))
    assert list(await box.destinations.of_tenant(OTHER)) == []


async def test_a_deleted_destination_gets_nothing_more(box: Box) -> None:
    """What waits for it is dropped and cannot be asked for; the list still tells where it went."""
    destination = await box.add(CANCELLED, CONFIRMED)
    await box.tell()
    await box.destinations.delete(TENANT, destination.id)
    await box.tell()
    assert await box.claim(destination) == []
    (deliveries_listed,) = await box.deliveries.of_tenant(TENANT)
    assert (DeliveryState.DROPPED, destination.url) == (deliveries_listed.state, deliveries_listed.url)
    assert not await box.deliveries.retry(TENANT, deliveries_listed.id, now_ms=NOW * 1000)


async def test_what_fails_after_its_destination_is_deleted_is_dropped_when_it_is_due(box: Box) -> None:
    """No worker claims it; deliveries of an existing destination and those not yet due are not dropped."""
    deleted_destination, other_destination = await box.add(), await box.add()
    await box.tell()
    (under_way,) = await box.claim(deleted_destination)
    await box.destinations.delete(TENANT, deleted_destination.id)
    failed_attempt, later = attempt(1, Outcome.STATUS, 500), (NOW + 30) * 1000
    await box.deliveries.finish(under_way.id, failed_attempt, move=DeliveryMove.FAILED, failures=1, due_ms=later)
    states = []
    for now in (NOW + 29, NOW + 30):
        for destination in (deleted_destination, other_destination):
            await box.deliveries.drop(destination.id, now_ms=now * 1000)
        states.append({one.destination_id: one.state for one in await box.deliveries.of_tenant(TENANT)})
        assert await box.claim(deleted_destination, now) == []
    pending_state, dropped_state = DeliveryState.PENDING, DeliveryState.DROPPED
    assert [
        {deleted_destination.id: pending_state, other_destination.id: pending_state},
        {deleted_destination.id: dropped_state, other_destination.id: pending_state},
    ] == states


async def test_a_new_secret_signs_at_once_what_waits(box: Box) -> None:
    """The secret is read with each attempt, and a destination tells when it was rotated and what it gets."""
    destination = await box.add(CONFIRMED, CANCELLED)
    await box.tell()
    assert not await box.destinations.rotate(OTHER, destination.id, b"new", now=NOW)
    assert await box.destinations.rotate(TENANT, destination.id, b"new", now=NOW + 5)
    (due,) = await box.claim(destination)
    assert due.sealed_secret == b"new"
    (entry,) = await box.destinations.of_tenant(TENANT)
    assert (entry.rotated_at, entry.types) == (NOW + 5, (CANCELLED, CONFIRMED))


def test_statements_follow_from_the_table_of_states() -> None:
    """A delivery is moved from the states that its table names, into the one that follows."""
    for move in DeliveryMove:
        words = str(build_transition(move))
        assert re.findall(r"state = '(\w+)'", words) == list(DELIVERY.starts(move))
        assert build_transition(move).compile().params == {"state": DELIVERY.end(move)}


async def counts(database: Database) -> tuple[int, int, int]:
    """Return how many events, deliveries and attempts are kept."""
    found = [await database.rows(select(func.count()).select_from(one)) for one in (events, deliveries, attempts)]
    return tuple(int(rows[0][0]) for rows in found)  # type: ignore[return-value]


async def finish_attempt(
    box: Box, destination: Destination, move: DeliveryMove, *, at: int = NOW, failures: int = 0
) -> None:
    """Make the attempts that are due for a destination, and let them end."""
    final_outcome = Outcome.DELIVERED if move is DeliveryMove.ARRIVED else Outcome.STATUS
    for claim in await box.claim(destination, at):
        attempt = Attempt(claim.number, at * 1000, at * 1000, final_outcome, 200)
        await box.deliveries.finish(claim.id, attempt, move=move, failures=failures, due_ms=None)


async def test_old_events_are_forgotten_with_all_that_is_theirs(box: Box) -> None:
    """What was answered, and what had no destination; the oldest first, in batches; younger ones stay."""
    await box.tell(at=NOW - 10)
    destination = await box.add()
    for age in range(1, 6):
        await box.tell(at=NOW - age)
    await finish_attempt(box, destination, DeliveryMove.ARRIVED)
    assert await counts(box.database) == (6, 5, 5)
    assert await box.deliveries.forget(before=NOW - 2, most=9) == 1  # the others were delivered later than that
    assert await box.deliveries.forget(before=NOW + 1, most=2) == 2
    assert await counts(box.database) == (3, 3, 3)
    assert await box.deliveries.forget(before=NOW + 1, most=9) == 3
    assert await box.deliveries.forget(before=NOW + 1, most=9) == 0
    assert await counts(box.database) == (0, 0, 0)


async def test_what_is_not_delivered_is_never_forgotten(box: Box) -> None:
    """Pending, being sent, a dead letter, or one of two destinations: the whole event stays."""
    first = await box.add()
    dead = await box.tell()
    await finish_attempt(box, first, DeliveryMove.GIVEN_UP, failures=6)
    second = await box.add()
    await box.tell()
    await finish_attempt(box, first, DeliveryMove.ARRIVED)
    await box.tell()
    assert len(await box.claim(first)) == 1
    before = await counts(box.database)
    assert await box.deliveries.forget(before=NOW + 10**6, most=9) == 0
    assert await counts(box.database) == before
    assert await box.is_due(second)
    (delivery,) = [one for one in await box.deliveries.of_tenant(TENANT) if one.event_id == dead.id]
    assert await box.deliveries.retry(TENANT, delivery.id, now_ms=NOW * 1000)
    await finish_attempt(box, first, DeliveryMove.ARRIVED)
    assert await box.deliveries.forget(before=NOW + 10**6, most=9) == 1
    assert dead.id not in {one.event_id for one in await box.deliveries.of_tenant(TENANT)}


async def test_what_nobody_wants_any_more_is_forgotten(box: Box) -> None:
    """A delivery whose destination was deleted is dropped, and goes with its event."""
    destination = await box.add()
    await box.tell()
    assert await box.destinations.delete(TENANT, destination.id)
    await box.deliveries.drop(destination.id, now_ms=NOW * 1000)
    assert await box.deliveries.forget(before=NOW + 1, most=9) == 1
    assert await counts(box.database) == (0, 0, 0)


async def test_what_is_sent_again_while_others_are_forgotten_keeps_its_event(box: Box) -> None:
    """Both at one moment, many times: it is gone as a whole, or is due and has its event."""
    destination = await box.add()
    for _ in range(8):
        await box.tell()
    await finish_attempt(box, destination, DeliveryMove.ARRIVED)
    deliveries_listed = await box.deliveries.of_tenant(TENANT)
    retries = [box.deliveries.retry(TENANT, one.id, now_ms=NOW * 1000) for one in deliveries_listed]
    results = await asyncio.gather(*retries, box.deliveries.forget(before=NOW + 1, most=9))
    claim = await box.claim(destination)
    assert len(claim) == sum(one is True for one in results[:-1])
    assert (await counts(box.database))[:2] == (len(claim), len(claim))
