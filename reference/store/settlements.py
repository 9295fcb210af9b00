"""What the rail sent to a chain: nonces that are safe across workers, and what became of each (P-LN-07, P-LN-08)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson
from sqlalchemy import Row, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from reference.store.tables import settlements


class Fate(StrEnum):
    """What became of a settlement.

    `open`: not final yet. `settled`: it moved the money. `overtaken`: mined as failed because a stranger had moved the
    money already. `failed`: mined as failed and nothing moved. `void`: its nonce went to something else.
    """

    OPEN = "open"
    SETTLED = "settled"
    OVERTAKEN = "overtaken"
    FAILED = "failed"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class Settlement:
    """One nonce of the settler and what it is used for.

    Attributes:
        caip2: The chain.
        settler: The account that sends.
        nonce: Its transaction count.
        token: The challenge token.
        payment_key: The payment (P-ST-03).
        payer: Whose authorization it is.
        authorization: Its members and signature, as JSON.
        raw: The transaction that was sent last.
        hashes: Every transaction that was sent with this nonce, the newest last.
        fee: Most wei a unit of gas of the newest one.
        tip: Tip of the newest one.
        attempt: How often it was replaced.
        sent_at: When the newest one was sent, in unix seconds.
        fate: What became of it.
    """

    caip2: str
    settler: str
    nonce: int
    token: str
    payment_key: str
    payer: str
    authorization: str
    raw: bytes
    hashes: tuple[str, ...]
    fee: int
    tip: int
    attempt: int
    sent_at: int
    fate: Fate = Fate.OPEN


class NonceTaken(Exception):
    """Another worker has that nonce: take the next one."""


class TokenTaken(Exception):
    """A settlement for that challenge is on its way already."""


_COLUMNS = [settlements.c[name] for name in Settlement.__slots__]


def _settlement(row: Row[Any]) -> Settlement:
    found = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public mapping view
    found |= {"fee": int(found["fee"]), "tip": int(found["tip"]), "fate": Fate(found["fate"])}
    return Settlement(**{**found, "hashes": tuple(orjson.loads(found["hashes"]))})


class Settlements:
    """Statements over what was sent. Each public method is one transaction."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def free_nonce(self, caip2: str, settler: str, *, at_least: int) -> int:
        """Return the lowest nonce from `at_least` on that nobody here has: none is left out, or the rest would wait."""
        wanted = select(settlements.c.nonce).where(*_of(caip2, settler), settlements.c.nonce >= at_least)
        async with self._engine.connect() as connection:
            taken = set((await connection.execute(wanted)).scalars())
        return next(nonce for nonce in itertools.count(at_least) if nonce not in taken)

    async def reserve(self, new: Settlement) -> None:
        """Take a nonce for a settlement; the primary key decides between workers.

        Raises:
            NonceTaken: Somebody has the nonce.
            TokenTaken: A settlement for the token is open.
        """
        members = {name: getattr(new, name) for name in Settlement.__slots__}
        members |= {"hashes": orjson.dumps(new.hashes).decode(), "fee": str(new.fee), "tip": str(new.tip)}
        try:
            async with self._engine.begin() as connection:
                await connection.execute(insert(settlements).values(**{**members, "fate": new.fate.value}))
        except IntegrityError as fault:
            if await self.open_for(new.token) is not None:
                raise TokenTaken from fault
            raise NonceTaken from fault

    async def open_for(self, token: str) -> Settlement | None:
        """Return the settlement that is on its way for a challenge."""
        found = await self._where(settlements.c.token == token, settlements.c.fate == Fate.OPEN.value)
        return found[0] if found else None

    async def open_on(self, caip2: str) -> Sequence[Settlement]:
        """Return every settlement that is on its way on a chain, whichever account sent it, in the order of nonces."""
        return await self._where(settlements.c.caip2 == caip2, settlements.c.fate == Fate.OPEN.value)

    async def between(self, caip2: str, settler: str, first: int, last: int) -> Sequence[Settlement]:
        """Return the settlements of a range of nonces, whatever became of them, in their order."""
        return await self._where(*_of(caip2, settler), settlements.c.nonce >= first, settlements.c.nonce <= last)

    async def replace(self, old: Settlement, *, raw: bytes, tx_id: str, fee: int, tip: int, now: int) -> bool:
        """Note a replacement with the same nonce, before it is sent; only one worker's does, each attempt."""
        statement = (
            update(settlements)
            .where(*_is(old), settlements.c.attempt == old.attempt, settlements.c.fate == Fate.OPEN.value)
            .values(
                raw=raw,
                hashes=orjson.dumps((*old.hashes, tx_id)).decode(),
                fee=str(fee),
                tip=str(tip),
                attempt=old.attempt + 1,
                sent_at=now,
            )
        )
        return await self._one(statement)

    async def close(self, settlement: Settlement, fate: Fate, *, now: int) -> bool:
        """Note what became of an open settlement."""
        statement = (
            update(settlements)
            .where(*_is(settlement), settlements.c.fate == Fate.OPEN.value)
            .values(fate=fate.value, closed_at=now)
        )
        return await self._one(statement)

    async def reopen(self, settlement: Settlement) -> bool:
        """Note that a closed settlement is on its way again, unless its token has another one that is."""
        statement = (
            update(settlements)
            .where(*_is(settlement), settlements.c.fate == settlement.fate.value)
            .values(fate=Fate.OPEN.value, closed_at=None)
        )
        try:
            return await self._one(statement)
        except IntegrityError:
            return False

    async def failures(self, caip2: str, payer: str, *, since: int) -> int:
        """Return how many settlements of a payer were mined as failed since then."""
        wanted = (
            select(func.count())
            .select_from(settlements)
            .where(
                settlements.c.caip2 == caip2,
                settlements.c.payer == payer,
                settlements.c.fate == Fate.FAILED.value,
                settlements.c.closed_at > since,
            )
        )
        async with self._engine.connect() as connection:
            return int((await connection.execute(wanted)).scalar_one())

    async def _where(self, *conditions: Any) -> list[Settlement]:
        wanted = select(*_COLUMNS).where(*conditions).order_by(settlements.c.nonce)
        async with self._engine.connect() as connection:
            return [_settlement(row) for row in (await connection.execute(wanted)).all()]

    async def _one(self, statement: Any) -> bool:
        async with self._engine.begin() as connection:
            done = await connection.execute(statement)
        return bool(done.rowcount == 1)


def _of(caip2: str, settler: str) -> tuple[Any, Any]:
    return settlements.c.caip2 == caip2, settlements.c.settler == settler


def _is(settlement: Settlement) -> tuple[Any, Any, Any]:
    return (*_of(settlement.caip2, settlement.settler), settlements.c.nonce == settlement.nonce)
