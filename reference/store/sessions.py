"""Sessions of the dashboard, shared by all workers, and the forms that were sent already (3.9).

A session ends on every worker at once when its row or its key is deleted.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import bindparam, delete, insert, select, union_all

from reference.store.database import Change, Database, DuplicateKey
from reference.store.session_tables import METADATA, sent_forms, sessions, tenant_sessions
from reference.store.tenant_tables import admin_keys, api_keys
from reference.store.tenants import IS_ACCEPTED


@dataclass(frozen=True, slots=True)
class Session:
    """A signed-in session of a tenant or an administrator.

    Attributes:
        digest: SHA-256 of the cookie's text, bare hex.
        scopes: The present scopes of the administrator's key that opened it, empty for a tenant's key.
        expires_at: Unix seconds from which it is over.
        tenant_id: The tenant whose key opened it, None for an administrator's.
        mode: The mode of that key, `test` or `live`, empty for an administrator's.
    """

    digest: str
    scopes: frozenset[str]
    expires_at: int
    tenant_id: str | None = None
    mode: str = ""


_ROW, _TENANT = sessions.c, tenant_sessions.c
_BEGIN = insert(sessions).values({name: bindparam(name) for name in ("digest", "admin_digest", "expires_at")})
# A row for each session instead of a sealed cookie with a list of ended sessions (0022): a call has to query the
# database in both cases, and this query returns the present scopes of the key as well.
_FIND = (
    select(_ROW.digest, admin_keys.c.scopes, _ROW.expires_at)
    .select_from(sessions.join(admin_keys, admin_keys.c.digest == _ROW.admin_digest))
    .where(_ROW.digest == bindparam("digest"), _ROW.expires_at > bindparam("now"))
)
_BEGIN_TENANT = insert(tenant_sessions).values({name: bindparam(name) for name in ("digest", "key_id", "expires_at")})
_FIND_TENANT = (
    select(_TENANT.digest, _TENANT.expires_at, api_keys.c.tenant_id, api_keys.c.mode)
    .select_from(tenant_sessions.join(api_keys, api_keys.c.id == _TENANT.key_id))
    .where(_TENANT.digest == bindparam("digest"), _TENANT.expires_at > bindparam("now"), *IS_ACCEPTED)
)
_END_TENANT = delete(tenant_sessions).where(_TENANT.digest == bindparam("ended"))
_END = delete(sessions).where(_ROW.digest == bindparam("ended"))
_CLEAR = delete(sent_forms).where(sent_forms.c.session == bindparam("ended"))
_SEND = insert(sent_forms).values({name: bindparam(name) for name in ("session", "form")})
_FORGET = delete(sessions).where(_ROW.expires_at <= bindparam("now"))
_FORGET_TENANTS = delete(tenant_sessions).where(_TENANT.expires_at <= bindparam("now"))
_FORGET_FORMS = delete(sent_forms).where(
    sent_forms.c.session.notin_(union_all(select(_ROW.digest), select(_TENANT.digest)))
)


class Sessions:
    """Statements over sessions. Each public method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def prepare(self) -> None:
        """Create the missing tables."""
        await self._database.create(METADATA)

    async def begin(self, digest: str, admin_digest: str, *, expires_at: int) -> None:
        """Add a session of an administrator's key."""
        await self._database.change(_BEGIN, digest=digest, admin_digest=admin_digest, expires_at=expires_at)

    async def begin_tenant(self, digest: str, key_id: str, *, expires_at: int) -> None:
        """Add a session of a tenant's API key."""
        await self._database.change(_BEGIN_TENANT, digest=digest, key_id=key_id, expires_at=expires_at)

    async def find(self, digest: str, *, now: int) -> Session | None:
        """Return a session that is not over and whose key is still accepted."""
        rows = await self._database.rows(_FIND, digest=digest, now=now)
        if rows:
            return Session(str(rows[0][0]), frozenset(str(rows[0][1]).split(",")), int(rows[0][2]))
        rows = await self._database.rows(_FIND_TENANT, digest=digest, now=now)
        if rows:
            return Session(str(rows[0][0]), frozenset(), int(rows[0][1]), str(rows[0][2]), str(rows[0][3]))
        return None

    async def end(self, digest: str) -> None:
        """End a session at once."""
        key = {"ended": digest}
        await self._database.change_all(Change(_END, key), Change(_END_TENANT, key), Change(_CLEAR, key))

    async def send(self, digest: str, form: str) -> bool:
        """Record that a form of a session was sent, or return False if it was sent before, to any worker."""
        try:
            await self._database.change(_SEND, session=digest, form=form)
        except DuplicateKey:
            return False
        return True

    async def forget(self, *, now: int) -> None:
        """Delete expired sessions, and the forms of deleted sessions."""
        over = {"now": now}
        await self._database.change_all(Change(_FORGET, over), Change(_FORGET_TENANTS, over), Change(_FORGET_FORMS))
