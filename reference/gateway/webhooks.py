"""Administration of a tenant's webhooks, for the internal API and the dashboard (3.9, 4)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any

from reference.gateway import refusals
from reference.gateway.credentials import fresh_secret
from reference.gateway.idempotency import Keep, keep_nothing
from reference.gateway.settings import GatewaySettings
from reference.protocol.destination_address import BadDestination
from reference.protocol.time_text import utc_text
from reference.protocol.webhook_delivery import MOST_DESTINATIONS, EventType
from reference.store.deliveries import Attempt, Deliveries, Delivery
from reference.store.destinations import Destination, Destinations
from reference.store.tenants import Tenants
from reference.web.clock import WpClock
from reference.web.destination_dns import AddressCheck
from reference.web.errors import Unprocessable
from reference.web.sealing import Seal, webhook_place

MOST_LISTED = 200
_DAY = 86_400
# Events are deleted in batches of this size with pauses between them, so that the deletion of many delays no payment.
FORGET_BATCH = 200
_BATCHES = 50


class Webhooks:
    """Creates and changes destinations. Every method raises `Refused` 404 for an unknown tenant or record."""

    def __init__(
        self,
        settings: GatewaySettings,
        clock: WpClock,
        tenants: Tenants,
        destinations: Destinations,
        deliveries: Deliveries,
        *,
        seal: Seal,
        check: AddressCheck,
    ) -> None:
        """Take the parts.

        Args:
            settings: The settings of the process.
            clock: The service's clock.
            tenants: The tenants.
            destinations: Their destinations.
            deliveries: The deliveries of their events.
            seal: Encrypts secrets.
            check: Checks addresses.
        """
        self._settings = settings
        self._clock = clock
        self._tenants = tenants
        self._destinations = destinations
        self._deliveries = deliveries
        self._seal = seal
        self._check = check

    async def forget(self) -> None:
        """Delete old events whose deliveries are finished, in batches (P-WH-08)."""
        days = self._settings.webhook_keep_days
        if days == 0:
            return
        before = self._clock.lapsed_until() - days * _DAY
        for _ in range(_BATCHES):
            if await self._deliveries.forget(before=before, most=FORGET_BATCH) < FORGET_BATCH:
                return
            await asyncio.sleep(0.1)

    async def add(
        self, tenant_id: str, url: str, types: Sequence[EventType], keep: Keep = keep_nothing
    ) -> dict[str, Any]:
        """Create a destination. Its secret is in the answer, and is stored only in encrypted form.

        `keep` may store the answer in the same transaction.

        Raises:
            Unprocessable: No event may be sent there, or the tenant has nine already (P-WH-10, P-WH-11).
        """
        await self._find(tenant_id)
        try:
            # The address is checked now, so that the tenant sees the fault, and again at each attempt, as names change
            # (P-WH-10).
            await self._check.check_url(url)
        except BadDestination as fault:
            raise _unfit("url", str(fault), "destination_address") from fault
        destination = Destination(str(uuid.uuid4()), tenant_id, url, self._clock.now(), None, tuple(sorted(set(types))))
        secret = self._fresh_secret()
        answer = {"destination_id": destination.id, "secret": secret}
        if not await self._destinations.add(destination, self._seal_secret(destination.id, secret), write=keep(answer)):
            raise _unfit("url", f"a tenant has up to {MOST_DESTINATIONS} destinations; delete one", "too_many")
        return answer

    async def rotate(self, tenant_id: str, destination_id: str, keep: Keep = keep_nothing) -> dict[str, Any]:
        """Replace the secret of a destination; the new one signs at once (P-WH-07). `keep` as in `add`."""
        secret, now = self._fresh_secret(), self._clock.now()
        sealed_secret = self._seal_secret(destination_id, secret)
        answer = {"destination_id": destination_id, "secret": secret}
        if not await self._destinations.rotate(tenant_id, destination_id, sealed_secret, now=now, write=keep(answer)):
            raise refusals.not_found()
        return answer

    async def delete(self, tenant_id: str, destination_id: str) -> None:
        """Delete a destination. Its waiting deliveries are dropped."""
        if not await self._destinations.delete(tenant_id, destination_id):
            raise refusals.not_found()

    async def destinations(self, tenant_id: str) -> list[dict[str, Any]]:
        """Return a tenant's destinations without their secrets, the oldest first."""
        return [_destination_members(one) for one in await self._destinations.of_tenant(tenant_id)]

    async def deliveries(
        self, tenant_id: str, *, most: int = MOST_LISTED, after: str | None = None
    ) -> list[dict[str, Any]]:
        """Return a page of a tenant's deliveries with their attempts, newest first, from behind `after`."""
        await self._find(tenant_id)
        return [_delivery_members(one) for one in await self._deliveries.of_tenant(tenant_id, most=most, after=after)]

    async def retry(self, tenant_id: str, delivery_id: str) -> None:
        """Send a delivery again, in whatever state it is, unless its destination is deleted (P-WH-08)."""
        if not await self._deliveries.retry(tenant_id, delivery_id, now_ms=self._clock.now_ms()):
            raise refusals.not_found()

    async def _find(self, tenant_id: str) -> None:
        if await self._tenants.get(tenant_id) is None:
            raise refusals.not_found()

    def _fresh_secret(self) -> str:
        return fresh_secret(f"{self._settings.prefix}w_")

    def _seal_secret(self, destination_id: str, secret: str) -> bytes:
        # The id of the destination is authenticated with the secret, so a sealed secret cannot be moved to another
        # destination.
        return self._seal.seal(secret.encode(), webhook_place(destination_id))


def _destination_members(destination: Destination) -> dict[str, Any]:
    rotated_at = destination.rotated_at
    return {
        "destination_id": destination.id,
        "url": destination.url,
        "events": [one.value for one in destination.types],
        "created_at": utc_text(destination.created_at),
        "rotated_at": None if rotated_at is None else utc_text(rotated_at),
    }


def _delivery_members(delivery: Delivery) -> dict[str, Any]:
    due_ms, delivered_at = delivery.due_ms, delivery.delivered_at
    return {
        "delivery_id": delivery.id,
        "event_id": delivery.event_id,
        "type": delivery.type.value,
        "destination_id": delivery.destination_id,
        "url": delivery.url,
        "state": delivery.state.value,
        "created_at": utc_text(delivery.created_at),
        "next_attempt_at": None if due_ms is None else utc_text(due_ms // 1000),
        "delivered_at": None if delivered_at is None else utc_text(delivered_at),
        "attempts": [_attempt_members(one) for one in delivery.attempts],
    }


def _attempt_members(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "started_at": utc_text(attempt.started_ms // 1000),
        "ended_at": utc_text(attempt.ended_ms // 1000),
        "outcome": attempt.outcome.value,
        "status": attempt.status,
    }


def _unfit(member: str, message: str, kind: str) -> Unprocessable:
    return Unprocessable([{"loc": ["body", member], "msg": message, "type": kind}])
