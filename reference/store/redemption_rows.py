"""The rows of the redemption ledger, as they are created, stored and read (5.8)."""

from __future__ import annotations

from sqlalchemy import exists, select
from sqlalchemy.sql.elements import ColumnElement

from reference.fast_records import record
from reference.protocol.redemption import State
from reference.store.rail_tables import kept_claims, redemptions, refunds, unfetched_answers


@record
class Redemption:
    """One row: a claim, a payment, or a spent payment with its stored answer.

    `is_kept`: the last check of the claim reached no node, so that the claim does not lapse (5.8). `is_refunded`: an
    operator gave the money back, so that nothing is served for it. `is_unfetched`: an operator had the answer made,
    and the payer has not fetched it yet.
    """

    id: int
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
    is_kept: bool = False
    is_refunded: bool = False
    is_unfetched: bool = False

    @property
    def is_over(self) -> bool:
        """Whether it was served or refunded, so that its state is final."""
        return self.spent_at is not None

    @property
    def state(self) -> State:
        """The state of the row."""
        if self.is_refunded:
            return State.REFUNDED
        if self.is_over:
            return State.SPENT
        return State.UNPAID if self.paid_at is None else State.PAID


@record
class NewClaim:
    """The members of a new claim row."""

    token: str
    payment_key: str
    request_hash: str
    service_id: str
    network: str
    tx_id: str
    amount: str
    pay_to: str
    expires_at: int


@record
class Answer:
    """The answer that is stored with a spent payment: the body as it is sent, and its `PAYMENT-RESPONSE`."""

    body: bytes
    payment_response: str
    attestation: str


_ROW = redemptions.c
# Whether a row is kept, refunded or unfetched is a row of another table, so that an existing ledger needs no change.
MARKS: dict[str, ColumnElement[bool]] = {
    name: exists().where(table.c.claim_id == _ROW.id).correlate(redemptions)
    for name, table in (("is_kept", kept_claims), ("is_refunded", refunds), ("is_unfetched", unfetched_answers))
}
SELECT = select(*(_ROW[name] if name not in MARKS else MARKS[name] for name in Redemption.__annotations__))
