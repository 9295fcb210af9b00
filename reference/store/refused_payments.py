"""Payments that reached the payee although their proof was refused, one row for each (5.8, decision 0067).

A row decides nothing. If the payment is served after all, its payment key takes it off the list.
"""

from __future__ import annotations

from contextlib import suppress

from sqlalchemy import bindparam, delete, insert

from reference.protocol.weld import Payment
from reference.store.database import Change, Database, DuplicateKey
from reference.store.rail_tables import refused_payments

# How long a payment without a claim is listed. It bounds the table, which refused proofs fill.
LISTED_SECONDS = 30 * 86_400

_ROW = refused_payments.c
_NOTE = insert(refused_payments).values({column.name: bindparam(column.name) for column in _ROW})
_FORGET = delete(refused_payments).where(_ROW.noted_at <= bindparam("before"))


class RefusedPayments:
    """Statements over refused payments. Each public method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(
        self,
        payment: Payment,
        *,
        payment_key: str,
        network: str,
        service_id: str,
        price: str,
        pay_to: str,
        code: str,
        now: int,
    ) -> None:
        """Add a payment, unless it is listed already.

        Args:
            payment: What the chain shows.
            payment_key: What makes it unique (P-ST-03).
            network: Network key.
            service_id: The service that was asked.
            price: The price in atomic units. It is taken as the amount if `payment` has none.
            pay_to: The payee.
            code: Why its proof was refused.
            now: Unix seconds.
        """
        row = {
            "payment_key": payment_key,
            "network": network,
            "service_id": service_id,
            "amount": str(payment.value or price),
            "pay_to": pay_to,
            "tx_id": payment.tx_id,
            "ordinal": payment.ordinal,
            "payer": payment.payer,
            "code": code,
            "noted_at": now,
        }
        with suppress(DuplicateKey):
            await self._database.change_all(Change(_NOTE, row))

    async def forget(self, *, now: int) -> None:
        """Delete the rows that are not listed any more."""
        await self._database.change(_FORGET, before=now - LISTED_SECONDS)
