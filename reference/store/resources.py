"""Resources: price records of tenants, one for each id (3.8)."""

from __future__ import annotations

from sqlalchemy import bindparam, insert, select

from reference.store.database import Change, Database
from reference.store.tenant_tables import resources

_ROW = resources.c
_ADD = insert(resources).values({name: bindparam(name) for name in ("tenant_id", "resource_id", "record")})
_GET = select(_ROW.record).where(_ROW.tenant_id == bindparam("owner"), _ROW.resource_id == bindparam("named"))


class Resources:
    """Statements over resources."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def build_insert(self, tenant_id: str, resource_id: str, record: str) -> Change:
        """Return the change that stores a record. An id that the tenant uses already is refused as `DuplicateKey`."""
        return Change(_ADD, {"tenant_id": tenant_id, "resource_id": resource_id, "record": record})

    async def get(self, tenant_id: str, resource_id: str) -> str | None:
        """Return a tenant's record as it was stored."""
        rows = await self._database.rows(_GET, owner=tenant_id, named=resource_id)
        return str(rows[0][0]) if rows else None
