"""Webhook destinations of tenants, each with its event types and its sealed secret (P-WH-07, P-WH-11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update

from reference.protocol.webhook_delivery import MOST_DESTINATIONS, DeliveryMove, EventType
from reference.store.database import Change, Database, DuplicateKey, Row, RowNotFound, Write
from reference.store.deliveries import build_transition
from reference.store.webhook_tables import METADATA, deliveries, destinations, subscriptions


@dataclass(frozen=True, slots=True)
class Destination:
    """One destination, without its secret.

    Attributes:
        id: UUID.
        tenant_id: Whose it is.
        url: Where events are posted.
        created_at: Unix seconds.
        rotated_at: Unix seconds of the last rotation of its secret, or None if the secret is the first one.
        types: The types of events that it receives, in alphabetical order.
    """

    id: str
    tenant_id: str
    url: str
    created_at: int
    rotated_at: int | None
    types: tuple[EventType, ...]


_ROW = destinations.c
_NAMES = ("id", "tenant_id", "url", "created_at", "rotated_at")
_IS_IT = (_ROW.tenant_id == bindparam("owner"), _ROW.id == bindparam("destination"))
_OF_TENANT = (
    select(*(_ROW[name] for name in _NAMES), subscriptions.c.type)
    .select_from(destinations.join(subscriptions, subscriptions.c.destination_id == _ROW.id))
    .where(_ROW.tenant_id == bindparam("owner"))
    .order_by(_ROW.created_at, _ROW.place, subscriptions.c.type)
)
_PLACES = select(_ROW.place).where(_ROW.tenant_id == bindparam("owner"))
_GET_ID = select(_ROW.id).where(_ROW.id == bindparam("destination"))
_ADD = insert(destinations).values(
    {name: bindparam(name) for name in ("id", "tenant_id", "place", "url", "sealed_secret", "created_at")}
)
_SUBSCRIBE = insert(subscriptions).values({name: bindparam(name) for name in ("destination_id", "type")})
_ROTATE = update(destinations).where(*_IS_IT).values(sealed_secret=bindparam("new_secret"), rotated_at=bindparam("now"))
_DELETE = delete(destinations).where(*_IS_IT)
_UNSUBSCRIBE = delete(subscriptions).where(subscriptions.c.destination_id == bindparam("destination"))
_DROP = (
    build_transition(DeliveryMove.UNWANTED)
    .where(deliveries.c.destination_id == bindparam("destination"), deliveries.c.due_ms.isnot(None))
    .values(due_ms=None)
)


class Destinations:
    """Statements over destinations. Each public method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def prepare(self) -> None:
        """Create the missing tables, also those of events and deliveries."""
        await self._database.create(METADATA)

    async def add(self, destination: Destination, sealed_secret: bytes, *, write: Write | None = None) -> bool:
        """Add a destination, or return False if the tenant has the largest allowed number (P-WH-11).

        `write` may add changes to the transaction.

        Raises:
            Taken: A destination with this id exists already.
        """
        members = {name: getattr(destination, name) for name in ("id", "tenant_id", "url", "created_at")}
        wishes = [
            Change(_SUBSCRIBE, {"destination_id": destination.id, "type": one.value}) for one in destination.types
        ]
        # A tenant has nine numbered places, and a unique index on (tenant, place). Counting rows would let two requests
        # that come at the same moment add a tenth destination.
        while True:
            used_places = {int(row[0]) for row in await self._database.rows(_PLACES, owner=destination.tenant_id)}
            place = next((one for one in range(MOST_DESTINATIONS) if one not in used_places), None)
            if place is None:
                return False
            insertion = Change(_ADD, {**members, "place": place, "sealed_secret": sealed_secret})
            try:
                await (write or self._database.change_all)(insertion, *wishes)
            except DuplicateKey:
                if await self._database.rows(_GET_ID, destination=destination.id):
                    raise
                continue  # another request took the place at the same moment; choose another one
            return True

    async def of_tenant(self, tenant_id: str) -> Sequence[Destination]:
        """Return a tenant's destinations, the oldest first."""
        rows_by_id: dict[str, list[Row]] = {}
        for row in await self._database.rows(_OF_TENANT, owner=tenant_id):
            rows_by_id.setdefault(row[0], []).append(row)
        return [_read_destination(rows) for rows in rows_by_id.values()]

    async def rotate(
        self, tenant_id: str, destination_id: str, sealed_secret: bytes, *, now: int, write: Write | None = None
    ) -> bool:
        """Replace the secret at once, or return False if the destination is unknown. `write` as in `add`."""
        values = {"owner": tenant_id, "destination": destination_id, "new_secret": sealed_secret, "now": now}
        try:
            await (write or self._database.change_all)(Change(_ROTATE, values, is_needed=True))
        except RowNotFound:
            return False
        return True

    async def delete(self, tenant_id: str, destination_id: str) -> bool:
        """Delete a destination with its secret and drop its waiting deliveries, or return False if it is unknown."""
        if not any(one.id == destination_id for one in await self.of_tenant(tenant_id)):
            return False
        key = {"destination": destination_id}
        deletion = Change(_DELETE, {"owner": tenant_id, **key})
        await self._database.change_all(deletion, Change(_UNSUBSCRIBE, key), Change(_DROP, key))
        return True


def _read_destination(rows: Sequence[Row]) -> Destination:
    """Return the destination of rows that differ only in the event type."""
    members: dict[str, Any] = dict(zip(_NAMES, rows[0], strict=False))
    return Destination(**members, types=tuple(EventType(row[-1]) for row in rows))
