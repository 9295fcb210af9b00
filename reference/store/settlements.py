"""Settlements: transactions that the rail sends to a chain, with their nonces and outcomes (P-LN-07, P-LN-08).

The signed bytes are stored before they are sent. So any worker can send them again after any crash (decision 0013).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson
from sqlalchemy import bindparam, func, insert, or_, select, update

from reference.store.database import Change, Database, DuplicateKey, Row
from reference.store.rail_tables import settlements


class Fate(StrEnum):
    """The outcome of a settlement.

    `open`: not final yet. `settled`: it moved the money. `overtaken`: mined as failed, because a stranger had used the
    same authorization first. `failed`: mined as failed, and nothing moved. `void`: another transaction used its nonce.
    """

    OPEN = "open"
    SETTLED = "settled"
    OVERTAKEN = "overtaken"
    FAILED = "failed"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class Settlement:
    """One nonce of the settler and the transaction that uses it.

    Attributes:
        caip2: The chain.
        settler: The account that sends.
        nonce: Its transaction count.
        token: The challenge token.
        payment_key: The payment (P-ST-03).
        payer: The payer who signed the authorization.
        authorization: Its members and signature, as JSON.
        raw: The transaction that was signed last.
        hashes: Every transaction that was sent with this nonce, the newest last.
        fee: The largest fee of the newest one, in wei for each unit of gas.
        tip: Tip of the newest one.
        attempt: How often it was replaced.
        sent_at: When the newest one was sent, in unix seconds.
        fate: Its outcome.
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
    """Another worker has reserved the nonce. The caller takes the next one."""


class TokenTaken(Exception):
    """A settlement for the challenge is open already."""


_ROW = settlements.c
_NAMES = tuple(Settlement.__slots__)
_OF_ACCOUNT = (_ROW.caip2 == bindparam("chain"), _ROW.settler == bindparam("account"))
_IS_IT = (*_OF_ACCOUNT, _ROW.nonce == bindparam("number"))
_IS_OPEN = _ROW.fate == Fate.OPEN.value

_SELECT = select(*(_ROW[name] for name in _NAMES)).order_by(_ROW.nonce)
_NONCES = select(_ROW.nonce).where(*_OF_ACCOUNT, _ROW.nonce >= bindparam("first"))
_OPEN_FOR = _SELECT.where(_ROW.token == bindparam("token"), _IS_OPEN)
_OPEN_ON = _SELECT.where(_ROW.caip2 == bindparam("chain"), _IS_OPEN)
_BETWEEN = _SELECT.where(*_OF_ACCOUNT, _ROW.nonce >= bindparam("first"), _ROW.nonce <= bindparam("last"))
# Failed settlements cost the rail gas, so they are counted for each payer and for all payers (decision 0069).
_FAILURES = (
    select(func.count())
    .select_from(settlements)
    .where(
        _ROW.caip2 == bindparam("chain"),
        _ROW.payer == bindparam("payer"),
        _ROW.fate == Fate.FAILED.value,
        _ROW.closed_at > bindparam("since"),
    )
)
_ALL_FAILURES = (
    select(_ROW.caip2, func.count())
    .where(_ROW.fate == Fate.FAILED.value, _ROW.closed_at > bindparam("since"))
    .group_by(_ROW.caip2)
)
# An overtaken settlement counts as a success: the payer's authorization moved the money. Otherwise a stranger who
# watches the pool could lock a payer out at the payer's price (decision 0013).
_HAS_SETTLED = (
    select(_ROW.nonce)
    .where(
        _ROW.caip2 == bindparam("chain"),
        _ROW.payer == bindparam("payer"),
        or_(_ROW.fate == Fate.SETTLED.value, _ROW.fate == Fate.OVERTAKEN.value),
    )
    .limit(1)
)
_RESERVE = insert(settlements).values({name: bindparam(name) for name in _NAMES})
# Compare and set by the number of the attempt: one worker replaces each attempt, so that no nonce gets two successors.
_REPLACE = (
    update(settlements)
    .where(*_IS_IT, _ROW.attempt == bindparam("seen_attempt"), _IS_OPEN)
    .values(
        raw=bindparam("sent"),
        hashes=bindparam("all_hashes"),
        fee=bindparam("most"),
        tip=bindparam("tipped"),
        attempt=_ROW.attempt + 1,
        sent_at=bindparam("now"),
    )
)
_CLOSE = update(settlements).where(*_IS_IT, _IS_OPEN).values(fate=bindparam("became"), closed_at=bindparam("now"))
_REOPEN = update(settlements).where(*_IS_IT, _ROW.fate == bindparam("was")).values(fate=Fate.OPEN.value, closed_at=None)


def _read_settlement(row: Row) -> Settlement:
    columns = dict(zip(_NAMES, row, strict=True))
    columns |= {"fee": int(columns["fee"]), "tip": int(columns["tip"]), "fate": Fate(columns["fate"])}
    return Settlement(**{**columns, "hashes": tuple(orjson.loads(columns["hashes"]))})


def build_close(settlement: Settlement, fate: Fate, *, now: int) -> Change:
    """Return the change that records the outcome of an open settlement."""
    return Change(_CLOSE, {**_bind_key(settlement), "became": fate.value, "now": now})


def _bind_key(settlement: Settlement) -> dict[str, Any]:
    return {"chain": settlement.caip2, "account": settlement.settler, "number": settlement.nonce}


class Settlements:
    """Statements over what was sent. Each public method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def free_nonce(self, caip2: str, settler: str, *, at_least: int) -> int:
        """Return the lowest free nonce from `at_least` on."""
        rows = await self._database.rows(_NONCES, chain=caip2, account=settler, first=at_least)
        # The lowest one, because a gap would keep all later nonces from being mined.
        used_nonces = {row[0] for row in rows}
        return next(nonce for nonce in itertools.count(at_least) if nonce not in used_nonces)

    async def reserve(self, new: Settlement, *further: Change) -> None:
        """Reserve a nonce for a settlement, together with further changes. The primary key decides between workers.

        Raises:
            NonceTaken: Another settlement has the nonce.
            TokenTaken: A settlement for the token is open.
        """
        members = {name: getattr(new, name) for name in _NAMES}
        members |= {"hashes": orjson.dumps(new.hashes).decode(), "fee": str(new.fee), "tip": str(new.tip)}
        try:
            await self._database.change_all(Change(_RESERVE, {**members, "fate": new.fate.value}), *further)
        except DuplicateKey as fault:
            # Two unique indexes may have refused it. Which one is read off the rows, because databases report it
            # differently.
            if await self.open_for(new.token) is not None:
                raise TokenTaken from fault
            raise NonceTaken from fault

    async def open_for(self, token: str) -> Settlement | None:
        """Return the open settlement for a challenge."""
        rows = await self._database.rows(_OPEN_FOR, token=token)
        return _read_settlement(rows[0]) if rows else None

    async def open_on(self, caip2: str) -> Sequence[Settlement]:
        """Return every open settlement on a chain, of all accounts, in the order of nonces."""
        return [_read_settlement(row) for row in await self._database.rows(_OPEN_ON, chain=caip2)]

    async def between(self, caip2: str, settler: str, first: int, last: int) -> Sequence[Settlement]:
        """Return the settlements of a range of nonces, with any outcome, in their order."""
        rows = await self._database.rows(_BETWEEN, chain=caip2, account=settler, first=first, last=last)
        return [_read_settlement(row) for row in rows]

    async def replace(self, old: Settlement, *, raw: bytes, tx_id: str, fee: int, tip: int, now: int) -> bool:
        """Store a replacement with the same nonce, before it is sent. For each attempt only one worker succeeds."""
        count = await self._database.change(
            _REPLACE,
            **_bind_key(old),
            seen_attempt=old.attempt,
            sent=raw,
            all_hashes=orjson.dumps((*old.hashes, tx_id)).decode(),
            most=str(fee),
            tipped=str(tip),
            now=now,
        )
        return count == 1

    async def close(self, settlement: Settlement, fate: Fate, *, now: int) -> bool:
        """Record the outcome of an open settlement."""
        [count] = await self._database.change_all(build_close(settlement, fate, now=now))
        return count == 1

    async def reopen(self, settlement: Settlement) -> bool:
        """Reopen a closed settlement after a reorganisation, unless its token has another open one."""
        try:
            return await self._database.change(_REOPEN, **_bind_key(settlement), was=settlement.fate.value) == 1
        except DuplicateKey:
            return False

    async def failures(self, caip2: str, payer: str, *, since: int) -> int:
        """Return how many settlements of a payer were mined as failed after `since`."""
        rows = await self._database.rows(_FAILURES, chain=caip2, payer=payer, since=since)
        return int(rows[0][0])

    async def all_failures(self, *, since: int) -> Mapping[str, int]:
        """Return how many settlements of all payers were mined as failed after `since`, by chain, without zeros."""
        return {str(caip2): int(count) for caip2, count in await self._database.rows(_ALL_FAILURES, since=since)}

    async def has_settled(self, caip2: str, payer: str) -> bool:
        """Return whether a settlement of a payer has moved money before (decision 0069)."""
        return bool(await self._database.rows(_HAS_SETTLED, chain=caip2, payer=payer))
