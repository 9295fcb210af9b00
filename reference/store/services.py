"""Services that registered at the control plane (7.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, delete, func, insert, select, update

from reference.store.control_plane_tables import issuers, services
from reference.store.database import Change, Database


@dataclass(frozen=True, slots=True)
class Service:
    """One service.

    Attributes:
        name: Its name.
        place: Number of the audit entry that registered it.
        type: The type that it registered with.
        base_url: Its address.
        health_path: The path of its health check.
        registered_at: Unix seconds.
    """

    name: str
    place: int
    type: str
    base_url: str
    health_path: str
    registered_at: int


_NAMES = tuple(Service.__slots__)
_COLUMNS = tuple(services.c[name] for name in _NAMES)
_IS_IT = services.c.name == bindparam("named")
_GET = select(*_COLUMNS).where(_IS_IT)
_LIST = select(*_COLUMNS).order_by(services.c.place, services.c.name)
_ADD = insert(services).values({name: bindparam(name) for name in _NAMES})
_REPLACE = (
    update(services)
    .where(_IS_IT)
    .values(
        type=bindparam("new_type"),
        base_url=bindparam("new_base_url"),
        health_path=bindparam("new_health_path"),
        registered_at=bindparam("now"),
    )
)
_REMOVE = delete(services).where(_IS_IT)
_COUNTS = select(
    select(func.count()).select_from(issuers).scalar_subquery(),
    select(func.count()).select_from(services).scalar_subquery(),
)


class Services:
    """Statements over services."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, name: str) -> Service | None:
        """Return a service."""
        rows = await self._database.rows(_GET, named=name)
        return Service(*rows[0]) if rows else None

    async def list_all(self) -> Sequence[Service]:
        """Return every service in the order of registration."""
        return [Service(*row) for row in await self._database.rows(_LIST)]

    async def counts(self) -> tuple[int, int]:
        """Return how many issuers and how many services there are."""
        issuer_count, service_count = (await self._database.rows(_COUNTS))[0]
        return int(issuer_count), int(service_count)

    def build_insert(self, service: Service) -> Change:
        """Return the change that adds a service."""
        return Change(_ADD, {name: getattr(service, name) for name in _NAMES})

    def build_replacement(self, service: Service) -> Change:
        """Return the change that replaces the record of a service's name."""
        values = {
            "named": service.name,
            "new_type": service.type,
            "new_base_url": service.base_url,
            "new_health_path": service.health_path,
            "now": service.registered_at,
        }
        # If another worker has removed the service meanwhile, the whole change with its audit entry is undone.
        return Change(_REPLACE, values, is_needed=True)

    def build_removal(self, name: str) -> Change:
        """Return the change that removes a service."""
        return Change(_REMOVE, {"named": name}, is_needed=True)
