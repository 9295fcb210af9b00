"""What the checkout page shows of tenants: name, contact, logo, and the addresses of the shop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, delete, insert, select

from reference.store.database import Change, Database
from reference.store.merchant_tables import METADATA, contacts, logos, merchants, return_addresses
from reference.store.tenant_tables import tenants
from reference.store.tenants import build_lock


@dataclass(frozen=True, slots=True)
class Merchant:
    """What the checkout page shows of a tenant.

    Attributes:
        name: Its name for payers, empty if it has none.
        logo: SHA-256 of its logo, bare hex, or None.
        addresses: Addresses of its shop, in its order.
        contact: E-mail address for payers, empty if it has none.
        tenant_name: The name that the operator gave it.
    """

    name: str = ""
    logo: str | None = None
    addresses: tuple[str, ...] = ()
    contact: str = ""
    tenant_name: str = ""


_GET = (
    select(merchants.c.name, logos.c.digest, contacts.c.email, tenants.c.name)
    .select_from(
        tenants.outerjoin(merchants, merchants.c.tenant_id == tenants.c.id)
        .outerjoin(logos, logos.c.tenant_id == tenants.c.id)
        .outerjoin(contacts, contacts.c.tenant_id == tenants.c.id)
    )
    .where(tenants.c.id == bindparam("tenant_id"))
)
_ADDRESSES = (
    select(return_addresses.c.address)
    .where(return_addresses.c.tenant_id == bindparam("tenant_id"))
    .order_by(return_addresses.c.place)
)
_LOGO = select(logos.c.png).where(logos.c.digest == bindparam("digest")).limit(1)
_CLEAR_NAME = delete(merchants).where(merchants.c.tenant_id == bindparam("owner"))
_CLEAR_LOGO = delete(logos).where(logos.c.tenant_id == bindparam("owner"))
_CLEAR_ADDRESSES = delete(return_addresses).where(return_addresses.c.tenant_id == bindparam("owner"))
_CLEAR_CONTACT = delete(contacts).where(contacts.c.tenant_id == bindparam("owner"))
_ADD_CONTACT = insert(contacts).values(tenant_id=bindparam("tenant_id"), email=bindparam("email"))
_ADD_NAME = insert(merchants).values(tenant_id=bindparam("tenant_id"), name=bindparam("name"))
_ADD_LOGO = insert(logos).values({name: bindparam(name) for name in ("tenant_id", "digest", "png")})
_ADD_ADDRESS = insert(return_addresses).values({name: bindparam(name) for name in ("tenant_id", "place", "address")})


class Merchants:
    """Statements over what the checkout page shows of tenants. Each public change is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def prepare(self) -> None:
        """Create the tables that are missing."""
        await self._database.create(METADATA)

    async def get(self, tenant_id: str) -> Merchant:
        """Return what the page shows of a tenant, all empty if the tenant does not exist."""
        rows = await self._database.rows(_GET, tenant_id=tenant_id)
        if not rows:
            return Merchant()
        name, logo, contact, tenant_name = rows[0]
        addresses = tuple(await self.addresses(tenant_id))
        return Merchant(str(name or ""), logo, addresses, str(contact or ""), str(tenant_name))

    async def addresses(self, tenant_id: str) -> Sequence[str]:
        """Return the addresses of a tenant's shop, in its order."""
        return [str(row[0]) for row in await self._database.rows(_ADDRESSES, tenant_id=tenant_id)]

    async def logo(self, digest: str) -> bytes | None:
        """Return the PNG with a digest, or None if no tenant has it now."""
        rows = await self._database.rows(_LOGO, digest=digest)
        return bytes(rows[0][0]) if rows else None

    async def save(self, tenant_id: str, name: str, addresses: Sequence[str], contact: str = "") -> None:
        """Replace a tenant's name and contact for payers and the addresses of its shop."""
        owner, lock = build_lock(tenant_id)
        insertions = [Change(_ADD_NAME, {"tenant_id": tenant_id, "name": name})] if name else []
        insertions += [Change(_ADD_CONTACT, {"tenant_id": tenant_id, "email": contact})] if contact else []
        address_insertions = (
            Change(_ADD_ADDRESS, {"tenant_id": tenant_id, "place": place, "address": address})
            for place, address in enumerate(addresses)
        )
        deletions = (Change(_CLEAR_NAME, owner), Change(_CLEAR_CONTACT, owner), Change(_CLEAR_ADDRESSES, owner))
        await self._database.change_all(lock, *deletions, *insertions, *address_insertions)

    async def save_logo(self, tenant_id: str, digest: str, png: bytes) -> None:
        """Replace a tenant's logo."""
        owner, lock = build_lock(tenant_id)
        logo = {"tenant_id": tenant_id, "digest": digest, "png": png}
        await self._database.change_all(lock, Change(_CLEAR_LOGO, owner), Change(_ADD_LOGO, logo))

    async def delete_logo(self, tenant_id: str) -> None:
        """Delete a tenant's logo, if it has one."""
        await self._database.change(_CLEAR_LOGO, owner=tenant_id)
