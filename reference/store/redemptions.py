"""The redemption ledger: the few statements that decide who bought what, once (profile 5.7, 5.8)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, delete, exists, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.schema import CreateIndex, CreateTable

from reference.protocol.redemption import State
from reference.protocol.weld import Payment
from reference.store.tables import METADATA, redemptions, settlements

# PostgreSQL's "if not exists" is no protection against another session that creates the same table now.
_PREPARING = 0x7765_6C64


@dataclass(frozen=True, slots=True)
class Redemption:
    """One row: a claim, a payment, or a spent payment with its stored answer."""

    id: str
    token: str
    payment_key: str
    request_hash: str
    service_id: str
    network: str
    tx_id: str
    amount: str
    pay_to: str
    claimed_at: int
    expires_at: int
    lease: str | None
    lease_counter: int
    payer: str | None
    paid_at: int | None
    spent_at: int | None
    answer: bytes | None
    payment_response: str | None
    held_until: int | None = None
    transfer_key: str | None = None

    @property
    def state(self) -> State:
        """Where the row stands."""
        if self.spent_at is not None:
            return State.SPENT
        return State.UNPAID if self.paid_at is None else State.PAID


@dataclass(frozen=True, slots=True)
class NewClaim:
    """What a claim row is made of."""

    token: str
    payment_key: str
    request_hash: str
    service_id: str
    network: str
    tx_id: str
    amount: str
    pay_to: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What is stored with a spent payment: the body as it is sent, and its `PAYMENT-RESPONSE`."""

    body: bytes
    payment_response: str
    attestation: str


_COLUMNS = [redemptions.c[name] for name in Redemption.__slots__]


def _row(row: Row[Any] | None) -> Redemption | None:
    return None if row is None else Redemption(**row._mapping)  # noqa: SLF001 - SQLAlchemy's public mapping view


class Redemptions:
    """Statements over the ledger. Each public method is one transaction."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def prepare(self) -> None:
        """Create the tables that are missing; workers that start at once do not get in each other's way."""
        async with self._engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                await connection.execute(select(func.pg_advisory_xact_lock(_PREPARING)))
            for table in METADATA.sorted_tables:
                await connection.execute(CreateTable(table, if_not_exists=True))
                for index in table.indexes:
                    await connection.execute(CreateIndex(index, if_not_exists=True))

    async def alive(self) -> None:
        """Ask the database for nothing.

        Raises:
            SQLAlchemyError: It does not answer.
        """
        async with self._engine.connect() as connection:
            await connection.execute(select(1))

    async def involved(self, token: str, payment_key: str) -> list[Redemption]:
        """Return every row with this token or this payment."""
        wanted = select(*_COLUMNS).where(or_(redemptions.c.token == token, redemptions.c.payment_key == payment_key))
        async with self._engine.connect() as connection:
            rows = (await connection.execute(wanted)).all()
        return [found for row in rows if (found := _row(row)) is not None]

    async def get(self, row_id: str) -> Redemption | None:
        """Return one row, or None when it is gone."""
        async with self._engine.connect() as connection:
            row = (await connection.execute(select(*_COLUMNS).where(redemptions.c.id == row_id))).one_or_none()
        return _row(row)

    async def claim(self, new: NewClaim, *, worker: str, now: int, order: int) -> str | None:
        """Insert a claim row under the worker's lease; the unique index decides.

        Returns:
            The row's id, or None when somebody has that claim already.
        """
        row_id = str(uuid.uuid4())
        members = {name: getattr(new, name) for name in NewClaim.__slots__}
        statement = insert(redemptions).values(
            id=row_id, claimed_at=now, claim_order=order, lease=worker, lease_counter=0, **members
        )
        try:
            async with self._engine.begin() as connection:
                await connection.execute(statement)
        except IntegrityError:
            return None
        return row_id

    async def unpaid_claims(self, token: str) -> list[Redemption]:
        """Return the unpaid claims on a token, the oldest first."""
        wanted = (
            select(*_COLUMNS)
            .where(redemptions.c.token == token, redemptions.c.paid_at.is_(None))
            .order_by(redemptions.c.claim_order)
        )
        async with self._engine.connect() as connection:
            rows = (await connection.execute(wanted)).all()
        return [found for row in rows if (found := _row(row)) is not None]

    async def take_lease(self, row: Redemption, *, worker: str) -> bool:
        """Take a row over, unless its lease was renewed or taken since `row` was read."""
        return await self._one(
            update(redemptions)
            .where(redemptions.c.id == row.id, redemptions.c.lease_counter == row.lease_counter)
            .values(lease=worker, lease_counter=row.lease_counter + 1)
        )

    async def renew_lease(self, row_id: str, *, worker: str) -> bool:
        """Raise the counter of a row that this worker still holds."""
        return await self._one(
            update(redemptions)
            .where(redemptions.c.id == row_id, redemptions.c.lease == worker)
            .values(lease_counter=redemptions.c.lease_counter + 1)
        )

    async def release(self, row_id: str, *, worker: str) -> None:
        """Give the lease back: the next call with the same proof goes on where the row stands."""
        await self._one(
            update(redemptions)
            .where(redemptions.c.id == row_id, redemptions.c.lease == worker)
            .values(lease=None, lease_counter=redemptions.c.lease_counter + 1)
        )

    async def drop_unpaid(self, row_id: str) -> bool:
        """Delete a claim that was not paid; a paid row stays."""
        return await self._one(delete(redemptions).where(redemptions.c.id == row_id, redemptions.c.paid_at.is_(None)))

    async def hold(self, row_id: str, *, until: int) -> bool:
        """Keep an unpaid claim until a time: the rail has sent something to the chain for it (5.8)."""
        return await self._one(
            update(redemptions)
            .where(redemptions.c.id == row_id, redemptions.c.paid_at.is_(None))
            .values(held_until=until)
        )

    async def mark_paid(self, row_id: str, payment: Payment, *, worker: str, now: int) -> bool:
        """Mark a claim paid: one statement, decided by the unique indexes over paid rows (step 14b).

        Returns:
            False when another row holds this token, this payment or this very transfer, or the claim is not this
            worker's any more.
        """
        try:
            return await self._one(
                update(redemptions)
                .where(redemptions.c.id == row_id, redemptions.c.lease == worker, redemptions.c.paid_at.is_(None))
                .values(paid_at=now, payer=payment.payer, tx_id=payment.tx_id, transfer_key=payment.transfer_key)
            )
        except IntegrityError:
            return False

    async def spend(self, row_id: str, answer: Answer, *, worker: str, now: int, recheck_at: int | None) -> bool:
        """Store answer and receipts and end the redemption, in one transaction; only the first to do so does."""
        return await self._one(
            update(redemptions)
            .where(redemptions.c.id == row_id, redemptions.c.lease == worker, redemptions.c.spent_at.is_(None))
            .values(
                spent_at=now,
                answer=answer.body,
                payment_response=answer.payment_response,
                attestation=answer.attestation,
                recheck_at=recheck_at,
                lease=None,
            )
        )

    async def forget(self, *, unpaid_before: int, answers_before: int) -> None:
        """Delete claims whose window is over, and the answers that are past their time; spent rows stay.

        A claim for which a settlement is on its way stays too: only the chain can say that nothing moved (5.8).
        """
        on_its_way = exists().where(
            settlements.c.token == redemptions.c.token,
            settlements.c.payment_key == redemptions.c.payment_key,
            settlements.c.fate == "open",
        )
        async with self._engine.begin() as connection:
            await connection.execute(
                delete(redemptions).where(
                    redemptions.c.paid_at.is_(None),
                    redemptions.c.expires_at < unpaid_before,
                    or_(redemptions.c.held_until.is_(None), redemptions.c.held_until < unpaid_before),
                    ~on_its_way,
                )
            )
            await connection.execute(
                update(redemptions)
                .where(redemptions.c.spent_at < answers_before, redemptions.c.answer.isnot(None))
                .values(answer=None, payment_response=None)
            )

    async def due_for_recheck(self, now: int) -> Sequence[Redemption]:
        """Return the spent payments that are to be looked at once more (P-ST-07)."""
        wanted = select(*_COLUMNS).where(redemptions.c.recheck_at <= now).limit(100)
        async with self._engine.connect() as connection:
            rows = (await connection.execute(wanted)).all()
        return [found for row in rows if (found := _row(row)) is not None]

    async def rechecked(self, row_id: str, *, attestation: str | None) -> None:
        """Note that a payment was looked at again; `attestation` replaces the stored one when it was reversed."""
        values: dict[str, Any] = {"recheck_at": None}
        if attestation is not None:
            values["attestation"] = attestation
        await self._one(update(redemptions).where(redemptions.c.id == row_id).values(**values))

    async def _one(self, statement: Any) -> bool:
        async with self._engine.begin() as connection:
            done = await connection.execute(statement)
        return bool(done.rowcount == 1)
