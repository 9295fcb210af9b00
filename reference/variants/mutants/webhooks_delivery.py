"""Mutants of the delivery of events: each drops a rule of the interface's Events, or of P-WH-02, -03, -11 and -14."""

from __future__ import annotations

import asyncio
import dataclasses
import time
import uuid
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlencode

import orjson
from sqlalchemy import select

from reference.gateway.checkout import outbox
from reference.gateway.checkout.actions import Actions
from reference.gateway.checkout.outbox import Outbox
from reference.gateway.checkout.settling import Settling, Status
from reference.gateway.checkout.watcher import Watcher
from reference.protocol.checkout import LinkState
from reference.protocol.networks import NETWORKS
from reference.protocol.observed import ObservedTransaction, TxStatus
from reference.protocol.webhook_delivery import DeliveryMove, EventType, Following, Outcome
from reference.protocol.webhook_event import PaidBy
from reference.store.checkout_tables import links
from reference.store.deliveries import Claimed
from reference.store.links import Link
from reference.store.payments import Payment
from reference.store.webhook_tables import destinations
from reference.variants.mutants.mutant import Mutant
from reference.variants.mutants.webhooks_signature import requests
from reference.variants.seams import replace
from reference.webhooks import dispatcher
from reference.webhooks.dispatcher import Dispatcher
from reference.webhooks.sending import Sent

_PLACE = (destinations.c.id, destinations.c.tenant_id, destinations.c.url, destinations.c.sealed_secret)
_NO_TRANSACTION = "A" * 52


def _swap(owner: Any, name: str, made: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Callable[[], None]:
    return lambda: replace(owner, name, made)


# How it is sent.


def _as_form(asked: dict[str, Any]) -> dict[str, Any]:
    encoded = urlencode({"payload": asked["data"].decode()}).encode()
    headers = {**asked["headers"], "Content-Type": "application/x-www-form-urlencoded"}
    return {**asked, "data": encoded, "headers": headers}


def _in_query(asked: dict[str, Any]) -> dict[str, Any]:
    return {**asked, "url": asked["url"].update_query(payload=asked["data"].decode()), "data": b""}


def _at_root(asked: dict[str, Any]) -> dict[str, Any]:
    return {**asked, "url": asked["url"].with_path("/")}


# What is sent, to whom, and again.


def _sending(change: Callable[[Claimed], Claimed | None]) -> Callable[[], None]:
    """Return what changes a delivery before each attempt; None is not sent and passes for delivered."""

    def changed(send: Callable[..., Awaitable[Sent]]) -> Callable[..., Awaitable[Sent]]:
        async def sent(self: Dispatcher, claimed: Claimed, sealed_secret: bytes) -> Sent:
            other = change(claimed)
            return Sent(Outcome.DELIVERED, 204) if other is None else await send(self, other, sealed_secret)

        return sent

    return _swap(Dispatcher, "_sent", changed)


def _rewritten(change: Callable[[Claimed, dict[str, Any]], None]) -> Callable[[], None]:
    """Return what changes the event that an attempt sends, which is signed as it is sent."""

    def changed(claimed: Claimed) -> Claimed:
        event = orjson.loads(claimed.body)
        change(claimed, event)
        return dataclasses.replace(claimed, body=orjson.dumps(event))

    return _sending(changed)


def _first_only(claimed: Claimed) -> Claimed | None:
    return claimed if claimed.id.endswith("_0") else None


def _new_id(claimed: Claimed, event: dict[str, Any]) -> None:
    if claimed.number > 1:
        event["id"] = f"evt_{uuid.uuid4()}"


def _id_of_destination(claimed: Claimed, event: dict[str, Any]) -> None:
    event["id"] = f"evt_{uuid.uuid5(uuid.UUID(claimed.destination_id), event['id'])}"


def _mark_redelivery(claimed: Claimed, event: dict[str, Any]) -> None:
    if claimed.number > 1:
        event["data"]["redelivery"] = True


def _without_payer(claimed: Claimed, event: dict[str, Any]) -> None:
    if claimed.number > 1:
        del event["data"]["payer_address"]


_SPREAD: set[str] = set()


def _to_everybody(send: Callable[..., Awaitable[Sent]]) -> Callable[..., Awaitable[Sent]]:
    """The destinations of other tenants get each event too."""

    async def sent(self: Dispatcher, claimed: Claimed, sealed_secret: bytes) -> Sent:
        if claimed.event_id not in _SPREAD:
            _SPREAD.add(claimed.event_id)
            rows = await self._deliveries._database.rows(select(*_PLACE))  # noqa: SLF001 - a mutant reaches in
            owner = next(tenant for id_, tenant, _, _ in rows if id_ == claimed.destination_id)
            for id_, tenant, url, sealed in rows:
                if tenant != owner:
                    await send(self, dataclasses.replace(claimed, url=url, destination_id=id_), sealed)
        return await send(self, claimed, sealed_secret)

    return sent


def _one_key(send: Callable[..., Awaitable[Sent]]) -> Callable[..., Awaitable[Sent]]:
    """Every destination of a tenant is signed for with the key of its first one."""

    async def sent(self: Dispatcher, claimed: Claimed, _: bytes) -> Sent:
        rows = await self._deliveries._database.rows(select(*_PLACE).order_by(destinations.c.place))  # noqa: SLF001 - as above
        owner = next(tenant for id_, tenant, _, _ in rows if id_ == claimed.destination_id)
        first, _, _, sealed = next(row for row in rows if row[1] == owner)
        return await send(self, dataclasses.replace(claimed, destination_id=first), sealed)

    return sent


def _in_turn(send: Callable[..., Awaitable[Sent]]) -> Callable[..., Awaitable[Sent]]:
    """The other destinations wait until the first one has taken the event."""
    taken: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def sent(self: Dispatcher, claimed: Claimed, sealed_secret: bytes) -> Sent:
        if not claimed.id.endswith("_0"):
            await taken[claimed.event_id].wait()
            return await send(self, claimed, sealed_secret)
        result = await send(self, claimed, sealed_secret)
        if result.outcome is Outcome.DELIVERED:
            taken[claimed.event_id].set()
        return result

    return sent


def _time_out_ends(follow: Callable[..., Following]) -> Callable[..., Following]:
    def following(outcome: Outcome, **known: Any) -> Following:
        ends = outcome is Outcome.TIMEOUT
        return Following(DeliveryMove.GIVEN_UP, 1, None) if ends else follow(outcome, **known)

    return following


# When there is an event.

_TOLD: set[str] = set()


async def _tell(settling: Settling, link: Link, paid: PaidBy) -> None:
    """Write an event of a link that is not paid, once."""
    if link.id in _TOLD:
        return
    _TOLD.add(link.id)
    unpaid = dataclasses.replace(link, id=str(uuid.uuid4()))  # so that its own event may still be written
    changes = settling._outbox._telling(unpaid, EventType.PAYMENT_CONFIRMED, paid, int(time.time()))  # noqa: SLF001 - a mutant reaches in
    await settling._database.change_all(*changes)  # noqa: SLF001 - as above


def _early(apply: Callable[[], None]) -> Callable[[], None]:
    """Return a mutant that tells of links before they are paid, and then no more."""

    def once(confirm: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, link, payment, *, now: () if link.id in _TOLD else confirm(self, link, payment, now=now)

    def both() -> None:
        apply()
        replace(Outbox, "confirmed", once)

    return both


async def _active(settling: Settling, network: str) -> Sequence[Link]:
    wanted = select(*(links.c[name] for name in Link.__slots__)).where(
        links.c.network == network, links.c.watched_until.is_(None)
    )
    return [Link(*row) for row in await settling.links._database.rows(wanted)]  # noqa: SLF001 - as above


def _moved(seen: ObservedTransaction, tx_id: str) -> PaidBy | None:
    first = next(iter(seen.transfers), None)
    return None if first is None else PaidBy(tx_id, first.sender, first.value)


def _at_once(go_round: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """An event tells of each link as soon as there is one."""

    async def round_(self: Watcher) -> None:
        for link in await _active(self._settling, self.network):
            await _tell(self._settling, link, PaidBy(_NO_TRANSACTION, link.pay_to, link.amount_microunits))
        await go_round(self)

    return round_


def _from_pool(search: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """A transaction that waits in the node's pool is told of."""

    async def found(self: Watcher, address: str, *given: Any) -> Any:
        for tx_id in await self._lane.finder.waiting(address):
            seen = await self._lane.observe(tx_id)
            for link in await self._settling.bound(self.network, seen):
                paid = _moved(seen, tx_id)
                if paid is not None:
                    await _tell(self._settling, link, paid)
        return await search(self, address, *given)

    return found


def _too_little(settle: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """A transaction with a link's memo is told of, whatever it moved."""

    async def settled(self: Watcher, link: Link, tx_id: str, seen: ObservedTransaction) -> None:
        await settle(self, link, tx_id, seen)
        paid = _moved(seen, tx_id)
        if paid is not None and await self._settling.links.state(link.id) == LinkState.ACTIVE:
            await _tell(self._settling, link, paid)

    return settled


def _any_memo(settle: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """A transfer to a payout address is told of for each link that was there by then, whosever memo it bears."""

    async def settled(self: Watcher, tx_id: str, seen: ObservedTransaction) -> None:
        await settle(self, tx_id, seen)
        if await self._settling.bound(self.network, seen) or seen.status is not TxStatus.CONFIRMED:
            return
        for link in await _active(self._settling, self.network):
            fitting = [one for one in seen.transfers if one.receiver == link.pay_to]
            if fitting and seen.block_time >= link.created_at:
                await _tell(self._settling, link, PaidBy(tx_id, fitting[0].sender, fitting[0].value))

    return settled


def _again_by_status(status: Callable[..., Awaitable[Status]]) -> Callable[..., Awaitable[Status]]:
    """Whoever asks for the status of a paid link has it told anew."""

    async def status_and_event(self: Settling, link: Link) -> Status:
        found = await status(self, link)
        payment = await self.payments.of_link(link.id) if found.state is LinkState.PAID else None
        if payment is not None:
            _TOLD.discard(link.id)
            await _tell(self, link, PaidBy(payment.tx_id, payment.payer, payment.value))
        return found

    return status_and_event


def _cancellation_as_payment(make: Callable[..., bytes]) -> Callable[..., bytes]:
    def body(event_id: str, _: EventType, *given: Any, **named: Any) -> bytes:
        return make(event_id, EventType.PAYMENT_CONFIRMED, *given, **named)

    return body


def _untold(confirm: Callable[..., Any]) -> Callable[..., Any]:
    """Payments on chains other than Algorand are not told of."""

    def confirmed(self: Outbox, link: Link, payment: Payment, *, now: int) -> Any:
        return confirm(self, link, payment, now=now) if NETWORKS[link.network].family == "algorand" else ()

    return confirmed


def _untold_where_named() -> None:
    """A payment whose transaction somebody named to the gateway is not told of."""
    is_named: ContextVar[bool] = ContextVar("is_named", default=False)

    def naming(pay: Callable[..., Awaitable[Payment]]) -> Callable[..., Awaitable[Payment]]:
        async def paid(self: Actions, link: Link, tx_id: str) -> Payment:
            before = is_named.set(True)
            try:
                return await pay(self, link, tx_id)
            finally:
                is_named.reset(before)

        return paid

    def silent(confirm: Callable[..., Any]) -> Callable[..., Any]:
        def confirmed(self: Outbox, link: Link, payment: Payment, *, now: int) -> Any:
            return () if is_named.get() else confirm(self, link, payment, now=now)

        return confirmed

    replace(Actions, "_pay", naming)
    replace(Outbox, "confirmed", silent)


# From elsewhere.


async def _no_look(_: Dispatcher) -> None:
    """Deliver nothing."""


MUTANTS: tuple[Mutant, ...] = (
    *(
        Mutant(f"webhooks-{name}", rule, apply, "gateway")
        for name, rule, apply in (
            ("never-sent", "an event is delivered", _swap(Dispatcher, "look", lambda _: _no_look)),
            ("by-put", "an event is sent by POST", requests(lambda asked: {**asked, "method": "PUT"})),
            ("by-get", "an event is sent by POST, not read", requests(lambda asked: {**asked, "method": "GET"})),
            ("as-form", "the body is JSON, not a form", requests(_as_form)),
            ("in-query", "the event is the body, not the query", requests(_in_query)),
            ("at-root", "an event goes to the destination's address", requests(_at_root)),
            ("first-only", "every destination gets each event (P-WH-11)", _sending(_first_only)),
            (
                "in-turn",
                "a destination gets its event whatever the others do (P-WH-11)",
                _swap(Dispatcher, "_sent", _in_turn),
            ),
            ("one-key", "each destination has its own key (P-WH-11)", _swap(Dispatcher, "_sent", _one_key)),
            (
                "to-everybody",
                "an event goes to its tenant's destinations (3.9)",
                _swap(Dispatcher, "_sent", _to_everybody),
            ),
            (
                "time-out-ends",
                "a time-out is followed by another attempt (P-WH-08)",
                _swap(dispatcher, "following", _time_out_ends),
            ),
            ("new-id", "a redelivery has the same id (P-WH-03)", _rewritten(_new_id)),
            ("new-data", "a redelivery has the same data: nothing is added (P-WH-03)", _rewritten(_mark_redelivery)),
            ("less-data", "a redelivery has the same data: nothing is left out (P-WH-03)", _rewritten(_without_payer)),
            ("id-of-destination", "a payment has one event id (P-WH-03)", _rewritten(_id_of_destination)),
            ("told-by-status", "a payment is told once (3.5)", _swap(Settling, "status", _again_by_status)),
            ("told-at-once", "a link that is not paid is not told of (3.5)", _early(_swap(Watcher, "round", _at_once))),
            (
                "told-from-pool",
                "a payment is told when it is final (3.5)",
                _early(_swap(Watcher, "_search", _from_pool)),
            ),
            (
                "too-little-told",
                "a payment of less is not told of (3.5)",
                _early(_swap(Watcher, "_settle", _too_little)),
            ),
            (
                "any-memo-told",
                "a payment without the memo is not told of (3.5)",
                _early(_swap(Watcher, "_settle_all", _any_memo)),
            ),
            (
                "cancelled-as-paid",
                "a link that is cancelled is not told as paid (P-WH-12)",
                _swap(outbox, "event_body", _cancellation_as_payment),
            ),
            ("named-untold", "a payment is told, whoever sees it first (4)", _untold_where_named),
            ("base-untold", "payments on every chain are told of (3.5)", _swap(Outbox, "confirmed", _untold)),
        )
    ),
)
