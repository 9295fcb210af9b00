"""The life of a redemption, as a table (5.8).

A challenge is `issued` without being stored. A proof that presents it creates a claim row, `settling` and unpaid. When
the payment is final and no other claim was faster, one statement marks the row paid. When the service has run, answer
and receipts are stored and the row is `spent`, which is final. So one payment buys one execution. Before that, an
operator who has given the money back may mark the row as `refunded`, which is also final.
"""

from __future__ import annotations

from enum import StrEnum

from reference.protocol.state_table import StateTable


class State(StrEnum):
    """States of a challenge and its redemption."""

    ISSUED = "issued"
    EXPIRED = "expired"
    UNPAID = "settling_unpaid"
    PAID = "settling_paid"
    SPENT = "spent"
    REFUNDED = "refunded"


class RedemptionEvent(StrEnum):
    """What moves a redemption."""

    TTL_OVER = "lifetime over"
    CLAIMED = "claimed (step 13)"
    UNDECIDED = "chain undecided"
    BAD_PAYMENT = "bad payment"
    EVICTED = "evicted"
    WINDOW_OVER = "settle window over"
    PAYMENT_FINAL = "payment final (step 14b)"
    ANSWER_STORED = "answer stored (step 15)"
    GIVEN_BACK = "given back by the operator"


REDEMPTION = StateTable(
    State.ISSUED,
    "402 answered",
    {
        (State.ISSUED, RedemptionEvent.TTL_OVER): State.EXPIRED,
        (State.ISSUED, RedemptionEvent.CLAIMED): State.UNPAID,
        (State.UNPAID, RedemptionEvent.UNDECIDED): State.UNPAID,
        (State.UNPAID, RedemptionEvent.BAD_PAYMENT): State.ISSUED,
        (State.UNPAID, RedemptionEvent.EVICTED): State.ISSUED,
        (State.UNPAID, RedemptionEvent.WINDOW_OVER): State.EXPIRED,
        (State.UNPAID, RedemptionEvent.PAYMENT_FINAL): State.PAID,
        (State.PAID, RedemptionEvent.ANSWER_STORED): State.SPENT,
        (State.PAID, RedemptionEvent.GIVEN_BACK): State.REFUNDED,
    },
)
UNPAID_CLAIMS_PER_TOKEN = 8


def mined_payment_key(caip2: str, tx_id: str) -> str:
    """Return the key that is unique to a mined payment, regardless of the client that presents it (P-ST-03)."""
    return f"{caip2}|{tx_id}"


def authorized_payment_key(caip2: str, asset: str, payer: str, nonce: str) -> str:
    """Return what makes an authorized payment unique, in lower case (P-ST-03)."""
    return f"{caip2}|{asset}|{payer}|{nonce}".lower()


def transfer_key(caip2: str, tx_id: str, ordinal: int) -> str:
    """Return what makes one transfer of a transaction unique (P-LN-03)."""
    return f"{caip2}|{tx_id}|{ordinal}"
