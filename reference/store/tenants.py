"""Tenants, their payout addresses and keys, and the keys of administrators (3.3, 3.9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, delete, insert, or_, select, update

from reference.store.database import Change, Database, DuplicateKey, RowNotFound, Write
from reference.store.paging import is_behind
from reference.store.tenant_tables import METADATA, admin_keys, api_keys, payouts, tenants


@dataclass(frozen=True, slots=True)
class Tenant:
    """One tenant.

    Attributes:
        id: UUID.
        name: For people.
        kyc_status: The state of its verification, `trial`, `approved` or `rejected`.
        plan: `trial` or `paid`.
        trial_started_at: Unix seconds.
        trial_ends_at: Unix seconds.
    """

    id: str
    name: str
    kyc_status: str
    plan: str
    trial_started_at: int
    trial_ends_at: int


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One API key, without its text.

    Attributes:
        id: UUID.
        tenant_id: Whose it is.
        mode: `test` or `live`, for ever (P-AU-03).
        digest: SHA-256 of its text, bare hex.
        created_at: Unix seconds.
        valid_until: Unix seconds from which a rotated key is no longer accepted, or None.
        revoked_at: When it was deleted.
    """

    id: str
    tenant_id: str
    mode: str
    digest: str
    created_at: int
    valid_until: int | None = None
    revoked_at: int | None = None


_TENANT = tuple(Tenant.__slots__)
_KEY = tuple(ApiKey.__slots__)
_GET = select(*(tenants.c[name] for name in _TENANT)).where(tenants.c.id == bindparam("tenant_id"))
_NEWEST = (
    select(*(tenants.c[name] for name in _TENANT))
    .order_by(tenants.c.trial_started_at.desc(), tenants.c.id)
    .limit(bindparam("most"))
)
_FURTHER = _NEWEST.where(is_behind(tenants, "trial_started_at"))
_ADD = insert(tenants).values({name: bindparam(name) for name in _TENANT})
_JUDGE = (
    update(tenants)
    .where(tenants.c.id == bindparam("tenant_id"))
    .values(kyc_status=bindparam("status"), plan=bindparam("new_plan"))
)
_PAYOUTS = (
    select(payouts.c.network, payouts.c.payout_address)
    .where(payouts.c.tenant_id == bindparam("tenant_id"))
    .order_by(payouts.c.place)
)
# An update that changes nothing, as a lock of the tenant's row. Callers that replace a list of a tenant run one after
# another. Otherwise the rows of two lists could be mixed.
_HOLD = update(tenants).where(tenants.c.id == bindparam("owner")).values(name=tenants.c.name)
_CLEAR_PAYOUTS = delete(payouts).where(payouts.c.tenant_id == bindparam("owner"))
_ADD_PAYOUT = insert(payouts).values(
    {name: bindparam(name) for name in ("tenant_id", "network", "place", "payout_address")}
)
_ADD_KEY = insert(api_keys).values({name: bindparam(name) for name in _KEY})
_KEYS = (
    select(*(api_keys.c[name] for name in _KEY))
    .where(api_keys.c.tenant_id == bindparam("tenant_id"))
    .order_by(api_keys.c.created_at, api_keys.c.id)
)
# An API key that is accepted at the moment of the parameter `now`.
IS_ACCEPTED = (
    api_keys.c.revoked_at.is_(None),
    or_(api_keys.c.valid_until.is_(None), api_keys.c.valid_until > bindparam("now")),
)
# One query finds the key and its tenant, as every call of the API needs both.
_BEARER = (
    select(*(api_keys.c[name] for name in _KEY), *(tenants.c[name] for name in _TENANT))
    .select_from(api_keys.join(tenants, tenants.c.id == api_keys.c.tenant_id))
    .where(api_keys.c.digest == bindparam("digest"), *IS_ACCEPTED)
)
_IS_KEY = (api_keys.c.tenant_id == bindparam("owner"), api_keys.c.id == bindparam("key_id"))
_LAPSE = (
    update(api_keys)
    .where(*_IS_KEY, api_keys.c.revoked_at.is_(None), api_keys.c.valid_until.is_(None))
    .values(valid_until=bindparam("until"))
)
_REVOKE = update(api_keys).where(*_IS_KEY, api_keys.c.revoked_at.is_(None)).values(revoked_at=bindparam("now"))
_ADD_ADMIN = insert(admin_keys).values({name: bindparam(name) for name in ("digest", "scopes", "created_at")})
_SCOPES = select(admin_keys.c.scopes).where(admin_keys.c.digest == bindparam("digest"))


class Tenants:
    """Statements over tenants. Each public method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def prepare(self) -> None:
        """Create the missing tables, also those of stored answers and resources."""
        await self._database.create(METADATA)

    async def ping(self) -> None:
        """Ask the database for a constant.

        Raises:
            DatabaseUnavailable: It does not answer.
        """
        await self._database.rows(select(1))

    async def add(self, tenant: Tenant, key: ApiKey, *, write: Write | None = None) -> None:
        """Add a tenant with a first key. `write` may add changes to the transaction."""
        write = write or self._database.change_all
        await write(Change(_ADD, _members(tenant, _TENANT)), Change(_ADD_KEY, _members(key, _KEY)))

    async def get(self, tenant_id: str) -> Tenant | None:
        """Return a tenant."""
        rows = await self._database.rows(_GET, tenant_id=tenant_id)
        return Tenant(*rows[0]) if rows else None

    async def list_page(self, *, most: int, after: str | None = None) -> Sequence[Tenant]:
        """Return a page of tenants, the newest first, from behind the tenant `after`."""
        rows = await (
            self._database.rows(_NEWEST, most=most)
            if after is None
            else self._database.rows(_FURTHER, most=most, after=after)
        )
        return [Tenant(*row) for row in rows]

    async def judge(self, tenant_id: str, *, kyc_status: str, plan: str) -> None:
        """Set the decision about a tenant."""
        await self._database.change(_JUDGE, tenant_id=tenant_id, status=kyc_status, new_plan=plan)

    async def payouts(self, tenant_id: str) -> dict[str, str]:
        """Return payout addresses by network key, in the tenant's order."""
        return {str(network): str(address) for network, address in await self._rows_of(tenant_id)}

    async def _rows_of(self, tenant_id: str) -> Sequence[Sequence[object]]:
        return await self._database.rows(_PAYOUTS, tenant_id=tenant_id)

    async def replace_payouts(self, tenant_id: str, addresses: Mapping[str, str]) -> None:
        """Replace the ordered list of payout addresses."""
        insertions = (
            Change(_ADD_PAYOUT, {"tenant_id": tenant_id, "network": key, "place": place, "payout_address": address})
            for place, (key, address) in enumerate(addresses.items())
        )
        owner, lock = build_lock(tenant_id)
        await self._database.change_all(lock, Change(_CLEAR_PAYOUTS, owner), *insertions)

    async def keys(self, tenant_id: str) -> Sequence[ApiKey]:
        """Return every key that a tenant has or had, the oldest first."""
        return [ApiKey(*row) for row in await self._database.rows(_KEYS, tenant_id=tenant_id)]

    async def add_key(self, key: ApiKey, *, write: Write | None = None) -> None:
        """Add a key. `write` as in `add`."""
        write = write or self._database.change_all
        await write(Change(_ADD_KEY, _members(key, _KEY)))

    async def rotate_key(self, key_id: str, fresh: ApiKey, *, until: int, write: Write | None = None) -> bool:
        """Let a key lapse and add another one of its tenant, in one transaction. `write` as in `add`.

        Returns:
            False if the key is unknown, lapsing or deleted. Then nothing was added.
        """
        lapse = Change(_LAPSE, {"owner": fresh.tenant_id, "key_id": key_id, "until": until}, is_needed=True)
        try:
            await (write or self._database.change_all)(lapse, Change(_ADD_KEY, _members(fresh, _KEY)))
        except RowNotFound:
            return False
        return True

    async def revoke_key(self, tenant_id: str, key_id: str, *, now: int) -> bool:
        """Delete a key at once, also a lapsed one. Return False if it is unknown or deleted already."""
        return await self._database.change(_REVOKE, owner=tenant_id, key_id=key_id, now=now) == 1

    async def bearer(self, digest: str, *, now: int) -> tuple[ApiKey, Tenant] | None:
        """Return the accepted key of a digest and its tenant."""
        rows = await self._database.rows(_BEARER, digest=digest, now=now)
        return (ApiKey(*rows[0][: len(_KEY)]), Tenant(*rows[0][len(_KEY) :])) if rows else None

    async def admit(self, digest: str, scopes: Sequence[str], *, now: int) -> None:
        """Add an administrator's key unless it exists."""
        try:
            await self._database.change(_ADD_ADMIN, digest=digest, scopes=",".join(scopes), created_at=now)
        except DuplicateKey:
            return

    async def scopes(self, digest: str) -> frozenset[str] | None:
        """Return the scopes of an administrator's key, or None if it is unknown."""
        rows = await self._database.rows(_SCOPES, digest=digest)
        return frozenset(str(rows[0][0]).split(",")) if rows else None


def build_lock(tenant_id: str) -> tuple[Mapping[str, str], Change]:
    """Return the parameters that name a tenant, and the change that locks its row for a replacement."""
    owner = {"owner": tenant_id}
    return owner, Change(_HOLD, owner)


def _members(record: object, names: Sequence[str]) -> dict[str, object]:
    return {name: getattr(record, name) for name in names}
