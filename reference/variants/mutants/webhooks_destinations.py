"""Mutants that choose an event's destinations wrongly: each drops a rule of P-WH-08, P-WH-11 or 3.9."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

from sqlalchemy import delete, select

from reference.protocol.webhook_delivery import Outcome
from reference.store.database import Change
from reference.store.deliveries import Claimed, Deliveries, Event
from reference.store.destinations import Destination, Destinations
from reference.store.links import Link, Links
from reference.store.tenant_tables import payouts
from reference.store.webhook_tables import deliveries, destinations, subscriptions
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.webhooks.dispatcher import Dispatcher
from reference.webhooks.sending import Sent

_PLACE = (destinations.c.id, destinations.c.tenant_id, destinations.c.url, destinations.c.sealed_secret)
_FEW = 3


def _withheld(is_withheld: Callable[[Claimed], bool]) -> None:
    """Let some deliveries pass for delivered that nobody sends."""

    def changed(send: Callable[..., Awaitable[Sent]]) -> Callable[..., Awaitable[Sent]]:
        async def sent(self: Dispatcher, claimed: Claimed, sealed_secret: bytes) -> Sent:
            return Sent(Outcome.DELIVERED, 204) if is_withheld(claimed) else await send(self, claimed, sealed_secret)

        return sent

    replace(Dispatcher, "_sent", changed)


def _first_few_only() -> None:
    """A tenant's first destinations get each event."""
    _withheld(lambda claimed: int(claimed.id.rpartition("_")[2]) >= _FEW)


def _by_payout_address() -> None:
    """The destinations of every tenant with the same payout address get each event."""
    spread: set[str] = set()

    async def others(self: Dispatcher, claimed: Claimed) -> list[tuple[str, str, bytes]]:
        rows = await self._deliveries._database.rows(select(*_PLACE))  # noqa: SLF001 - a mutant reaches in
        owner = next(tenant for id_, tenant, _, _ in rows if id_ == claimed.destination_id)
        own = select(payouts.c.payout_address).where(payouts.c.tenant_id == owner)
        sharing = select(payouts.c.tenant_id).where(payouts.c.payout_address.in_(own))
        tenants = {row[0] for row in await self._deliveries._database.rows(sharing)} - {owner}  # noqa: SLF001 - as above
        return [(id_, url, sealed) for id_, tenant, url, sealed in rows if tenant in tenants]

    def spreading(send: Callable[..., Awaitable[Sent]]) -> Callable[..., Awaitable[Sent]]:
        async def sent(self: Dispatcher, claimed: Claimed, sealed_secret: bytes) -> Sent:
            if claimed.event_id not in spread:
                spread.add(claimed.event_id)
                for id_, url, sealed in await others(self, claimed):
                    await send(self, dataclasses.replace(claimed, url=url, destination_id=id_), sealed)
            return await send(self, claimed, sealed_secret)

        return sent

    replace(Dispatcher, "_sent", spreading)


def _older_than_the_link() -> None:
    """The destinations that were there when the link was made get its event."""
    order = itertools.count()
    made: dict[str, int] = {}
    link_of: dict[str, str] = {}

    def of_destination(add: Callable[..., Awaitable[bool]]) -> Callable[..., Awaitable[bool]]:
        async def added(self: Destinations, destination: Destination, *given: Any, **terms: Any) -> bool:
            made[destination.id] = next(order)
            return await add(self, destination, *given, **terms)

        return added

    def of_link(insertion: Callable[..., Change]) -> Callable[..., Change]:
        def inserted(self: Links, link: Link) -> Change:
            made[link.id] = next(order)
            return insertion(self, link)

        return inserted

    def of_event(recording: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(self: Deliveries, event: Event) -> Any:
            link_of[event.id] = event.link_id
            return recording(self, event)

        return recorded

    replace(Destinations, "add", of_destination)
    replace(Links, "insertion", of_link)
    replace(Deliveries, "recording", of_event)
    _withheld(
        lambda claimed: made.get(claimed.destination_id, 0) > made.get(link_of.get(claimed.event_id, ""), next(order))
    )


def _scheduled_all_the_same() -> None:
    """A deleted destination gets no new events, but what was planned for it before."""

    async def unasked(self: Destinations, tenant_id: str, destination_id: str) -> bool:
        if not any(one.id == destination_id for one in await self.of_tenant(tenant_id)):
            return False
        await self._database.change(delete(subscriptions).where(subscriptions.c.destination_id == destination_id))
        return True

    def refusing(retry: Callable[..., Awaitable[bool]]) -> Callable[..., Awaitable[bool]]:
        async def retried(self: Deliveries, tenant_id: str, delivery_id: str, **terms: Any) -> bool:
            wanted = select(deliveries.c.id).join(
                subscriptions, subscriptions.c.destination_id == deliveries.c.destination_id
            )
            rows = await self._database.rows(wanted.where(deliveries.c.id == delivery_id))
            return bool(rows) and await retry(self, tenant_id, delivery_id, **terms)

        return retried

    replace(Destinations, "delete", lambda _: unasked)
    replace(Deliveries, "retry", refusing)


def _deleted_in_the_process() -> None:
    """A destination is deleted in this process only."""
    gone: set[str] = set()

    async def noted(self: Destinations, tenant_id: str, destination_id: str) -> bool:
        is_there = any(one.id == destination_id for one in await self.of_tenant(tenant_id))
        gone.add(destination_id)
        return is_there

    def without(of_tenant: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def found(self: Destinations, tenant_id: str) -> Any:
            return [one for one in await of_tenant(self, tenant_id) if one.id not in gone]

        return found

    def refusing(retry: Callable[..., Awaitable[bool]]) -> Callable[..., Awaitable[bool]]:
        async def retried(self: Deliveries, tenant_id: str, delivery_id: str, **terms: Any) -> bool:
            wanted = select(deliveries.c.destination_id).where(deliveries.c.id == delivery_id)
            rows = await self._database.rows(wanted)
            return bool(rows) and rows[0][0] not in gone and await retry(self, tenant_id, delivery_id, **terms)

        return retried

    replace(Destinations, "delete", lambda _: noted)
    replace(Destinations, "of_tenant", without)
    replace(Deliveries, "retry", refusing)
    _withheld(lambda claimed: claimed.destination_id in gone)


MUTANTS: tuple[Mutant, ...] = tuple(
    Mutant(f"webhooks-{name}", rule, apply, "gateway")
    for name, rule, apply in (
        ("first-three", "every destination gets each event, however many there are (P-WH-11)", _first_few_only),
        (
            "by-payout",
            "an event goes to its tenant's destinations, whoever shares its address (3.9)",
            _by_payout_address,
        ),
        ("deleted-scheduled", "what waits for a deleted destination is dropped (P-WH-08)", _scheduled_all_the_same),
        ("deleted-until-restart", "a destination that is deleted stays so (3.9)", _deleted_in_the_process),
        ("not-to-newer", "a destination that is younger than the link gets its event (P-WH-11)", _older_than_the_link),
    )
)
