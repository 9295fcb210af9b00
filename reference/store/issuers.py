"""The trust set: issuers with one key each (7.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, delete, insert, select, update

from reference.store.control_plane_tables import issuers
from reference.store.database import Change, Database


@dataclass(frozen=True, slots=True)
class Issuer:
    """One issuer.

    Attributes:
        did: Its DID.
        place: Number of the audit entry that registered it.
        public_key_b64: Its Falcon-1024 key, standard base64.
        kid: The id of the key.
        created_at: Unix seconds.
    """

    did: str
    place: int
    public_key_b64: str
    kid: str
    created_at: int


_NAMES = tuple(Issuer.__slots__)
_COLUMNS = tuple(issuers.c[name] for name in _NAMES)
_IS_IT = issuers.c.did == bindparam("named")
_GET = select(*_COLUMNS).where(_IS_IT)
_LIST = select(*_COLUMNS).order_by(issuers.c.place, issuers.c.did)
_ADD = insert(issuers).values({name: bindparam(name) for name in _NAMES})
_ROTATE = (
    update(issuers)
    .where(_IS_IT)
    .values(public_key_b64=bindparam("new_key"), kid=bindparam("new_kid"), created_at=bindparam("now"))
)
_REVOKE = delete(issuers).where(_IS_IT)


class Issuers:
    """Statements over issuers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, did: str) -> Issuer | None:
        """Return an issuer."""
        rows = await self._database.rows(_GET, named=did)
        return Issuer(*rows[0]) if rows else None

    async def list_all(self) -> Sequence[Issuer]:
        """Return every issuer in the order of registration."""
        return [Issuer(*row) for row in await self._database.rows(_LIST)]

    def build_insert(self, issuer: Issuer) -> Change:
        """Return the change that adds an issuer."""
        return Change(_ADD, {name: getattr(issuer, name) for name in _NAMES})

    def build_rotation(self, issuer: Issuer) -> Change:
        """Return the change that replaces the key of an issuer. The old key is deleted."""
        values = {
            "named": issuer.did,
            "new_key": issuer.public_key_b64,
            "new_kid": issuer.kid,
            "now": issuer.created_at,
        }
        # If another worker has removed the issuer meanwhile, the whole change with its audit entry is undone.
        return Change(_ROTATE, values, is_needed=True)

    def build_revocation(self, did: str) -> Change:
        """Return the change that removes an issuer."""
        return Change(_REVOKE, {"named": did}, is_needed=True)
