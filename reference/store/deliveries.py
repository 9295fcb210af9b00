"""The outbox: events, their deliveries, and the attempts of each (P-WH-03, P-WH-08).

An event and its deliveries are inserted by the transaction that makes the event true. So a crash leaves neither a paid
link without an event nor an event of a link that is not paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Integer,
    Select,
    String,
    Update,
    bindparam,
    cast,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.sql.elements import ColumnElement

from reference.protocol.webhook_delivery import DELIVERY, DeliveryMove, DeliveryState, EventType, Outcome
from reference.store.change_tracker import Activity, activity_of
from reference.store.database import Change, Database, Row
from reference.store.group_commit import GroupCommit
from reference.store.paging import is_behind
from reference.store.webhook_tables import attempts, deliveries, destinations, events, subscriptions


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Attributes:
        id: `evt_` and a UUID.
        tenant_id: The tenant that owns it.
        link_id: The link that it is about.
        type: The type of the change that it reports.
        created_at: Unix seconds of that change.
        body: The bytes that every attempt sends.
    """

    id: str
    tenant_id: str
    link_id: str
    type: EventType
    created_at: int
    body: bytes


@dataclass(frozen=True, slots=True)
class ClaimedAttempt:
    """An attempt that only the caller may make, and its delivery.

    Attributes:
        id: The delivery.
        number: Of the attempt, counted from 1.
        failures: How many attempts failed before.
        delivered_before: Whether an earlier one was answered 2xx.
        url: Where it goes.
        event_id: The event.
        body: Its bytes.
        destination_id: The destination.
        sealed_secret: Its secret, sealed.
        started_ms: Unix milliseconds of the claim.
    """

    id: str
    number: int
    failures: int
    delivered_before: bool
    url: str
    event_id: str
    body: bytes
    destination_id: str
    sealed_secret: bytes
    started_ms: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """One finished attempt.

    Attributes:
        number: Counted from 1.
        started_ms: Unix milliseconds.
        ended_ms: Unix milliseconds.
        outcome: Its result.
        status: Status of the answer, None without one.
    """

    number: int
    started_ms: int
    ended_ms: int
    outcome: Outcome
    status: int | None


@dataclass(frozen=True, slots=True)
class Delivery:
    """The delivery of one event to one destination.

    Attributes:
        id: `dlv_`, 32 hex digits and a number.
        event_id: The event.
        type: Its type.
        destination_id: The destination, which may be deleted.
        url: Where it goes.
        state: Its state.
        created_at: Unix seconds of the event.
        due_ms: Unix milliseconds of the next attempt, None if none is planned.
        delivered_at: Unix seconds of the last 2xx, or None.
        attempts: The finished attempts, the first one first.
    """

    id: str
    event_id: str
    type: EventType
    destination_id: str
    url: str
    state: DeliveryState
    created_at: int
    due_ms: int | None
    delivered_at: int | None
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class AttemptInFlight:
    """An attempt that some worker has claimed. The worker may have died since.

    Attributes:
        delivery_id: Of which delivery.
        number: Its number.
        started_ms: Unix milliseconds of the claim.
        failures: How many attempts of the delivery failed before.
    """

    delivery_id: str
    number: int
    started_ms: int
    failures: int


_ROW = deliveries.c
_EVENT = tuple(Event.__slots__)
_ATTEMPT = tuple(Attempt.__slots__)


def build_transition(move: DeliveryMove) -> Update:
    """Return the update for a move: deliveries in a state where it can happen get the state that follows it."""
    # The states are written into the statement instead of passed as parameters, so the statement is compiled once.
    starts = (_ROW.state == literal_column(f"'{state}'") for state in DELIVERY.starts(move))
    return update(deliveries).where(or_(*starts)).values(state=DELIVERY.end(move).value)


_RECORD = insert(events).values({name: bindparam(name) for name in _EVENT})


def _text_parameter(name: str) -> ColumnElement[str]:
    return bindparam(name, type_=String())


# One delivery for each destination of the tenant that subscribes to the type. The database selects the destinations
# within the transaction of the event, so a destination that is added or deleted at that moment is either in or out.
_FAN_OUT = insert(deliveries).from_select(
    ["id", "event_id", "destination_id", "tenant_id", "url", "created_at", "state", "attempt", "failures", "due_ms"],
    select(
        _text_parameter("stem") + cast(destinations.c.place, String),
        cast(bindparam("of_event"), String),
        destinations.c.id,
        destinations.c.tenant_id,
        destinations.c.url,
        cast(bindparam("at"), _ROW.created_at.type),
        cast(bindparam("first_state"), String),
        cast(bindparam("none_yet"), Integer),
        cast(bindparam("none_yet"), Integer),
        cast(bindparam("at_ms"), _ROW.created_at.type),
    )
    .select_from(destinations.join(subscriptions, subscriptions.c.destination_id == destinations.c.id))
    .where(destinations.c.tenant_id == bindparam("owner"), subscriptions.c.type == bindparam("of_type")),
)
# The longest waiting destination first, so that much traffic at one destination does not starve another.
_DUE_DESTINATIONS = (
    select(_ROW.destination_id, func.min(_ROW.due_ms))
    .where(_ROW.due_ms.isnot(None), _ROW.due_ms <= bindparam("now_ms"))
    .group_by(_ROW.destination_id)
    .order_by(func.min(_ROW.due_ms))
)
# Each number is read from a partial index.
_MEASURE = select(
    select(func.count()).where(_ROW.due_ms.isnot(None)).scalar_subquery(),
    select(func.min(_ROW.due_ms)).where(_ROW.due_ms.isnot(None)).scalar_subquery(),
    select(func.count()).where(_ROW.started_ms.isnot(None)).scalar_subquery(),
)
_IS_DUE_THERE = (
    _ROW.destination_id == bindparam("destination"),
    _ROW.due_ms.isnot(None),
    _ROW.due_ms <= bindparam("now_ms"),
)
_ANY_DUE = select(_ROW.id).where(*_IS_DUE_THERE).limit(1)
_DUE = (
    select(
        *(_ROW.id, (_ROW.attempt + 1).label("number"), _ROW.failures, _ROW.delivered_at, _ROW.url),
        *(_ROW.event_id, events.c.body, _ROW.destination_id, destinations.c.sealed_secret),
    )
    .select_from(
        deliveries.join(events, events.c.id == _ROW.event_id).join(
            destinations, destinations.c.id == _ROW.destination_id
        )
    )
    .where(*_IS_DUE_THERE)
    .order_by(_ROW.due_ms)
    .limit(bindparam("most"))
    # PostgreSQL skips the rows that another worker is about to claim, so no worker waits for a lock. SQLite has one
    # writer and ignores the clause.
    .with_for_update(of=deliveries, skip_locked=True)
)
# An attempt belongs to the worker that raises the delivery's attempt number. This happens in the transaction that
# found the delivery due, so no two workers make the same attempt.
_CLAIM = (
    build_transition(DeliveryMove.CLAIMED)
    .where(_ROW.id == bindparam("row_key"))
    .values(attempt=_ROW.attempt + 1, due_ms=None, started_ms=bindparam("now_ms"))
)
_IS_CLAIMED = (_ROW.id == bindparam("delivery"), _ROW.attempt == bindparam("mine"), _ROW.started_ms.isnot(None))
# The row is inserted only for a claimed attempt. The number of an attempt is part of the primary key, so a superfluous
# row of a worker that was thought dead would block the next attempt.
_RECORD_ATTEMPT = insert(attempts).from_select(
    ["delivery_id", *_ATTEMPT],
    select(
        _ROW.id,
        _ROW.attempt,
        _ROW.started_ms,
        cast(bindparam("over_ms"), attempts.c.ended_ms.type),
        cast(bindparam("came"), String),
        cast(bindparam("answered"), Integer),
    ).where(*_IS_CLAIMED),
)
_FINISH = {
    move: build_transition(move)
    .where(*_IS_CLAIMED)
    .values(
        failures=bindparam("new_failures"),
        due_ms=bindparam("next_ms"),
        started_ms=None,
        delivered_at=func.coalesce(bindparam("arrived_at", type_=_ROW.delivered_at.type), _ROW.delivered_at),
    )
    for move in DeliveryMove
}
_IN_FLIGHT = select(_ROW.id, _ROW.attempt, _ROW.started_ms, _ROW.failures).where(_ROW.started_ms.isnot(None))
_HAS_DESTINATION = exists().where(destinations.c.id == _ROW.destination_id)
_DROP = build_transition(DeliveryMove.UNWANTED).where(*_IS_DUE_THERE, ~_HAS_DESTINATION).values(due_ms=None)
_RETRY = (
    build_transition(DeliveryMove.ASKED_FOR)
    .where(_ROW.tenant_id == bindparam("owner"), _ROW.id == bindparam("delivery"), _HAS_DESTINATION)
    .values(due_ms=bindparam("at_ms"))
)
_IS_SENDING = select(_ROW.id).where(
    _ROW.tenant_id == bindparam("owner"), _ROW.id == bindparam("delivery"), _ROW.started_ms.isnot(None)
)
# Deliveries that are finished. A dead letter is not among them: a tenant may send it again (P-WH-08).
_IS_OVER = or_(_ROW.state == DeliveryState.DELIVERED.value, _ROW.state == DeliveryState.DROPPED.value)
_IS_KEPT = exists().where(_ROW.event_id == events.c.id, or_(~_IS_OVER, _ROW.delivered_at >= bindparam("before")))
_OLD = (
    select(events.c.id)
    .where(events.c.created_at < bindparam("before"), ~_IS_KEPT)
    .order_by(events.c.created_at, events.c.id)
    .limit(bindparam("most"))
)
# One transaction, in this order: the event goes last, because attempts and deliveries are found through it. A delivery
# that is sent again meanwhile fails the condition `_IS_OVER`, and keeps its event.
_OF_OLD = select(_ROW.id).where(_ROW.event_id.in_(_OLD))
_FORGET = (
    delete(attempts).where(attempts.c.delivery_id.in_(_OF_OLD)),
    delete(deliveries).where(_ROW.event_id.in_(_OLD), _IS_OVER),
    delete(events).where(events.c.id.in_(_OLD)),
)
_MEMBERS = ("id", "event_id", "type", "destination_id", "url", "state", "created_at", "due_ms", "delivered_at")
_OF_TENANT = (
    select(*(events.c.type if name == "type" else _ROW[name] for name in _MEMBERS))
    .select_from(deliveries.join(events, events.c.id == _ROW.event_id))
    .where(_ROW.tenant_id == bindparam("owner"))
    .order_by(_ROW.created_at.desc(), _ROW.id)
    .limit(bindparam("most"))
)
_FURTHER = _OF_TENANT.where(is_behind(deliveries))


def _with_attempts(query: Select[Any]) -> Select[Any]:
    """Return the query for a page of deliveries with a row for each attempt."""
    # One statement reads states and attempts. With two, a worker could record an attempt in between.
    page = query.subquery()
    return (
        select(*(page.c[name] for name in _MEMBERS), *(attempts.c[name] for name in _ATTEMPT))
        .select_from(page.outerjoin(attempts, attempts.c.delivery_id == page.c.id))
        .order_by(page.c.created_at.desc(), page.c.id, attempts.c.number)
    )


_PAGE, _FURTHER_PAGE = _with_attempts(_OF_TENANT), _with_attempts(_FURTHER)


class Deliveries:
    """Statements over events and deliveries. Each public method is one transaction, or part of the caller's."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._group_commit = GroupCommit(database)
        self.activity: Activity = activity_of(database)

    # Writes of a link's change of state.

    def build_event(self, event: Event) -> tuple[Change, Change]:
        """Return the changes that add an event and its deliveries, due at once.

        A second event of the same link and type is refused as `DuplicateKey`.
        """
        self.activity.note()
        members = {name: getattr(event, name) for name in _EVENT}
        fan_out = {
            "stem": f"dlv_{event.id.removeprefix('evt_').replace('-', '')}_",
            "of_event": event.id,
            "of_type": event.type.value,
            "owner": event.tenant_id,
            "at": event.created_at,
            "at_ms": event.created_at * 1000,
            "first_state": DELIVERY.first.value,
            "none_yet": 0,
        }
        return Change(_RECORD, {**members, "type": event.type.value}), Change(_FAN_OUT, fan_out)

    # Operations of workers.

    async def due_destinations(self, *, now_ms: int) -> Sequence[tuple[str, int]]:
        """Return the destinations with deliveries that are due by a time, the longest waiting first.

        Each comes with the time of its first one, in unix milliseconds.
        """
        return [(str(row[0]), int(row[1])) for row in await self._database.rows(_DUE_DESTINATIONS, now_ms=now_ms)]

    async def measure(self, *, now_ms: int) -> tuple[dict[DeliveryState, int], float]:
        """Return how many deliveries wait or are on their way, and by how many seconds the oldest is overdue."""
        waiting, oldest_ms, sending = (await self._database.rows(_MEASURE))[0]
        overdue_seconds = 0.0 if oldest_ms is None else max(0.0, (now_ms - oldest_ms) / 1000)
        return {DeliveryState.PENDING: int(waiting), DeliveryState.SENDING: int(sending)}, overdue_seconds

    async def is_due(self, destination_id: str, *, now_ms: int) -> bool:
        """Return whether a delivery is due for a destination."""
        return bool(await self._database.rows(_ANY_DUE, destination=destination_id, now_ms=now_ms))

    async def claim(self, destination_id: str, *, now_ms: int, most: int) -> list[ClaimedAttempt]:
        """Claim the next attempts for a destination, the longest waiting first, in one transaction.

        Returns:
            The attempts that now belong to the caller. Attempts of other workers and of a deleted destination are
            not among them.
        """
        rows = await self._database.take(_DUE, _CLAIM, destination=destination_id, now_ms=now_ms, most=most)
        return [
            ClaimedAttempt(
                delivery_id, number, failures, delivered_at is not None, url, event_id, body, target_id, secret, now_ms
            )
            for delivery_id, number, failures, delivered_at, url, event_id, body, target_id, secret in rows
        ]

    async def finish(
        self, delivery_id: str, attempt: Attempt, *, move: DeliveryMove, failures: int, due_ms: int | None
    ) -> None:
        """Record the result of a claimed attempt. If it is recorded already, or was never claimed, nothing changes.

        Results recorded at the same time share a transaction; those that arrive while it runs share the next one. The
        result is on the disk when this returns.

        Args:
            delivery_id: The delivery.
            attempt: The attempt.
            move: What has happened to the delivery.
            failures: How many attempts have failed.
            due_ms: When the next one is due, None for never.
        """
        claim_key = {"delivery": delivery_id, "mine": attempt.number}
        outcome = {"over_ms": attempt.ended_ms, "came": attempt.outcome.value, "answered": attempt.status}
        arrived_at = attempt.ended_ms // 1000 if attempt.outcome is Outcome.DELIVERED else None
        after = {"new_failures": failures, "next_ms": due_ms, "arrived_at": arrived_at}
        changes = Change(_RECORD_ATTEMPT, {**claim_key, **outcome}), Change(_FINISH[move], {**claim_key, **after})
        await self._group_commit.write(delivery_id, changes)

    async def in_flight(self) -> Sequence[AttemptInFlight]:
        """Return the attempts of every worker that are claimed and have no recorded result."""
        rows = await self._database.rows(_IN_FLIGHT)
        return [AttemptInFlight(str(row[0]), *(int(one) for one in row[1:])) for row in rows]

    async def drop(self, destination_id: str, *, now_ms: int) -> None:
        """Drop the due deliveries of a destination if it is deleted."""
        await self._database.change(_DROP, destination=destination_id, now_ms=now_ms)

    async def forget(self, *, before: int, most: int) -> int:
        """Delete the oldest events whose deliveries are all finished, with the deliveries and their attempts.

        Kept are events with a delivery that is not over: pending, being sent, or a dead letter. That a link has one
        event of a type does not depend on the event: the row of the link's end decides it.

        Args:
            before: Unix seconds. Only events that are older, and were last delivered before, are deleted.
            most: The largest number of events to delete.

        Returns:
            How many events were deleted.
        """
        values = {"before": before, "most": most}
        return (await self._database.change_all(*(Change(one, values) for one in _FORGET)))[-1]

    # Operations of tenants.

    async def retry(self, tenant_id: str, delivery_id: str, *, now_ms: int) -> bool:
        """Make a delivery due now, in whatever state it is. One that is being sent stays as it is.

        Returns:
            False if the tenant has no such delivery, or its destination is deleted.
        """
        key = {"owner": tenant_id, "delivery": delivery_id}
        self.activity.note()
        if await self._database.change(_RETRY, **key, at_ms=now_ms) == 1:
            return True
        return bool(await self._database.rows(_IS_SENDING, **key))

    async def of_tenant(self, tenant_id: str, *, most: int = 200, after: str | None = None) -> Sequence[Delivery]:
        """Return a page of a tenant's deliveries with their attempts, newest first, from behind `after`."""
        values = {"owner": tenant_id, "most": most, **({} if after is None else {"after": after})}
        rows_by_id: dict[str, list[Row]] = {}
        for row in await self._database.rows(_PAGE if after is None else _FURTHER_PAGE, **values):
            rows_by_id.setdefault(row[0], []).append(row)
        return [_read_delivery(rows) for rows in rows_by_id.values()]


def _read_delivery(rows: Sequence[Row]) -> Delivery:
    """Return the delivery of rows that differ only in the attempt. A delivery without an attempt has one row."""
    width = len(_MEMBERS)
    members: dict[str, Any] = dict(zip(_MEMBERS, rows[0], strict=False))
    members |= {"type": EventType(members["type"]), "state": DeliveryState(members["state"])}
    tries = [dict(zip(_ATTEMPT, row[width:], strict=True)) for row in rows if row[width] is not None]
    return Delivery(**members, attempts=tuple(Attempt(**{**one, "outcome": Outcome(one["outcome"])}) for one in tries))
