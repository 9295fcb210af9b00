"""The settlement attestation of each paid link, as it was first returned (P-CK-06)."""

from __future__ import annotations

from sqlalchemy import bindparam, insert, select

from reference.store.checkout_tables import attestations
from reference.store.database import Database, DuplicateKey

_ROW = attestations.c
_GET = select(_ROW.jws).where(_ROW.payment_id == bindparam("of_payment"))
# The primary key is the payment, so each payment has one attestation (P-CK-06).
_KEEP = insert(attestations).values(payment_id=bindparam("payment_id"), jws=bindparam("jws"))


class Attestations:
    """Statements over attestations. Each public method is one transaction, or decided by one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_payment(self, payment_id: str) -> str | None:
        """Return the compact JWS of a payment's attestation, or None if none was requested yet."""
        rows = await self._database.rows(_GET, of_payment=payment_id)
        return str(rows[0][0]) if rows else None

    async def keep(self, payment_id: str, jws: str) -> str:
        """Store the attestation of a payment unless one is stored, and return the stored one."""
        try:
            await self._database.change(_KEEP, payment_id=payment_id, jws=jws)
        # Another worker has signed one at the same moment. Every caller gets the same bytes, so the first one counts.
        except DuplicateKey:
            return await self.of_payment(payment_id) or jws
        return jws
