"""The states of a redemption as a table, and the keys that make a payment unique (5.8)."""

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
    """The events that move a redemption."""

    TTL_OVER = "lifetime over"
    CLAIMED = "claimed (step 13)"
    UNDECIDED = "chain undecided"
    BAD_PAYMENT = "bad payment"
    EVICTED = "evicted"
    WINDOW_OVER = "settle window over"
    PAYMENT_FINAL = "payment final (step 14b)"
    ANSWER_STORED = "answer stored (step 15)"
    GIVEN_BACK = "given back by the operator"


# The state machine of a redemption. A challenge is `issued` without being stored. A proof that presents it creates
# a claim row, which is settling and unpaid. Several claims may name one payment or one token, because before the
# payment is final any client may name a foreign transaction (P-ST-08). When the payment is final and no other claim
# was faster, one statement marks the row paid. The unique keys bind only here. When the service has run, answer and
# receipts are stored with the state `spent` in one database transaction. Nothing leaves `spent`, so one payment
# buys one execution. Before that, an operator who has given the money back may mark the row as `refunded`, which is
# final as well.
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
# A ninth claim evicts an old one and is never refused (P-ST-08). Otherwise a stranger could block a token with
# eight invented transactions.
UNPAID_CLAIMS_PER_TOKEN = 8


def mined_payment_key(caip2: str, tx_id: str) -> str:
    """Return the key that is unique to a mined payment (P-ST-03)."""
    return f"{caip2}|{tx_id}"


def authorized_payment_key(caip2: str, asset: str, payer: str, nonce: str) -> str:
    """Return the key that is unique to an authorized payment, in lower case (P-ST-03)."""
    return f"{caip2}|{asset}|{payer}|{nonce}".lower()


def transfer_key(caip2: str, tx_id: str, ordinal: int) -> str:
    """Return the key that is unique to one transfer of a transaction (P-LN-03)."""
    return f"{caip2}|{tx_id}|{ordinal}"
