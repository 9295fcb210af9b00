"""Stored answers of calls with an Idempotency-Key, one row for each key (P-ID).

The row is inserted by the transaction that carries out the call.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import bindparam, delete, insert, select, tuple_

from reference.store.batched_deletion import delete_in_batches
from reference.store.database import Change, Database
from reference.store.tenant_tables import answers


@dataclass(frozen=True, slots=True)
class Scope:
    """What an Idempotency-Key belongs to (P-ID-02)."""

    tenant_id: str
    method: str
    path: str
    key: str


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The answer to the first call with a key.

    Attributes:
        body_hash: Hash of the request body that it answers.
        status: Its status.
        sealed_body: Its body, encrypted.
        expires_at: Unix seconds from which the key is free again.
    """

    body_hash: str
    status: int
    sealed_body: bytes
    expires_at: int


_SCOPE = tuple(Scope.__slots__)
_ANSWER = tuple(StoredAnswer.__slots__)
_ROW = answers.c
_IS_IT = tuple(_ROW[name] == bindparam(f"in_{name}") for name in _SCOPE)
# An expired row counts as absent, even before the housekeeping has deleted it.
_GET = select(*(_ROW[name] for name in _ANSWER)).where(*_IS_IT, _ROW.expires_at > bindparam("now"))
_FREE = delete(answers).where(*_IS_IT, _ROW.expires_at <= bindparam("now"))
_STORE = insert(answers).values({name: bindparam(name) for name in (*_SCOPE, *_ANSWER)})
_KEY = tuple(_ROW[name] for name in _SCOPE)
_EXPIRED = select(*_KEY).where(_ROW.expires_at <= bindparam("now")).order_by(_ROW.expires_at).limit(bindparam("most"))
_FORGET = delete(answers).where(tuple_(*_KEY).in_(_EXPIRED))


class Answers:
    """Statements over stored answers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, scope: Scope, *, now: int) -> StoredAnswer | None:
        """Return the answer of a key that has not expired."""
        rows = await self._database.rows(_GET, **_bind_scope(scope), now=now)
        return StoredAnswer(*rows[0]) if rows else None

    def build_store(self, scope: Scope, answer: StoredAnswer, *, now: int) -> tuple[Change, Change]:
        """Return the changes that store an answer. A key that has not expired refuses them as `DuplicateKey`."""
        members = {name: getattr(scope, name) for name in _SCOPE} | {name: getattr(answer, name) for name in _ANSWER}
        # An expired row of the key is deleted first. Both changes are in the transaction of the call, so the primary
        # key lets one of several calls with this key through (P-ID-05).
        return Change(_FREE, {**_bind_scope(scope), "now": now}), Change(_STORE, members)

    async def forget(self, *, now: int) -> None:
        """Delete the expired answers, in batches."""
        await delete_in_batches(self._database, _FORGET, now=now)


def _bind_scope(scope: Scope) -> dict[str, str]:
    return {f"in_{name}": getattr(scope, name) for name in _SCOPE}
