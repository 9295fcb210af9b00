"""Stored answers of calls with an Idempotency-Key: one row a key, inserted together with what the call made (P-ID)."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import bindparam, delete, insert, select

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
    """The first answer.

    Attributes:
        body_hash: Hash of the body that was answered.
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
_GET = select(*(_ROW[name] for name in _ANSWER)).where(*_IS_IT, _ROW.expires_at > bindparam("now"))
_FREE = delete(answers).where(*_IS_IT, _ROW.expires_at <= bindparam("now"))
_STORE = insert(answers).values({name: bindparam(name) for name in (*_SCOPE, *_ANSWER)})
_FORGET = delete(answers).where(_ROW.expires_at <= bindparam("now"))


class Answers:
    """Statements over stored answers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, scope: Scope, *, now: int) -> StoredAnswer | None:
        """Return the answer of a key whose window is open."""
        rows = await self._database.rows(_GET, **_bind_scope(scope), now=now)
        return StoredAnswer(*rows[0]) if rows else None

    def build_store(self, scope: Scope, answer: StoredAnswer, *, now: int) -> tuple[Change, Change]:
        """Return the changes that store an answer; a key whose window is open refuses them as `Taken`."""
        members = {name: getattr(scope, name) for name in _SCOPE} | {name: getattr(answer, name) for name in _ANSWER}
        return Change(_FREE, {**_bind_scope(scope), "now": now}), Change(_STORE, members)

    async def forget(self, *, now: int) -> None:
        """Drop the answers whose window is over."""
        await self._database.change(_FORGET, now=now)


def _bind_scope(scope: Scope) -> dict[str, str]:
    return {f"in_{name}": getattr(scope, name) for name in _SCOPE}
