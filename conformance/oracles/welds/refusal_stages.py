"""Where a payment is refused, and the rules that the lanes share: outcome, finality, age."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

AGE_SKEW_SECONDS: Final = 60

TRANSACTION: Final = "transaction"
OUTCOME: Final = "outcome"
FINALITY: Final = "finality"
AGE: Final = "age"
KIND: Final = "kind"
ASSET: Final = "asset"
RECIPIENT: Final = "recipient"
AMOUNT: Final = "amount"
WELD: Final = "weld"
VALIDITY: Final = "validity"
SIGNATURE: Final = "signature"
SETTLEMENT: Final = "settlement"
# The order in which a payment is judged. The first stage that fails gives the code.
STAGES: Final = (
    TRANSACTION,
    OUTCOME,
    FINALITY,
    AGE,
    KIND,
    ASSET,
    RECIPIENT,
    AMOUNT,
    WELD,
    VALIDITY,
    SIGNATURE,
    SETTLEMENT,
)
INVALID_TRANSACTION: Final = "invalid_transaction"
UNSUPPORTED_CODE: Final = "unsupported_transaction"


class PaymentRefusal(Exception):
    """A payment that does not pay its challenge.

    Attributes:
        stage: One of `STAGES`.
        code: The code of specification 5.7, or `invalid_transaction`.
        why: What is wrong, in words.
    """

    def __init__(self, stage: str, code: str, why: str) -> None:
        super().__init__(why)
        self.stage = stage
        self.code = code
        self.why = why


def demand(holds: bool, stage: str, code: str, why: str) -> None:
    """Refuse a payment unless a rule holds.

    Raises:
        PaymentRefusal: It does not.
    """
    if not holds:
        raise PaymentRefusal(stage, code, why)


def demand_valid(holds: bool, why: str) -> None:
    """Refuse a transaction that no chain takes.

    Raises:
        PaymentRefusal: The rule does not hold.
    """
    demand(holds, TRANSACTION, INVALID_TRANSACTION, why)


def invalid_transaction(why: str) -> PaymentRefusal:
    """Return the refusal of a transaction that no chain takes."""
    return PaymentRefusal(TRANSACTION, INVALID_TRANSACTION, why)


def demand_age(challenge: Mapping[str, Any], block_time: int) -> None:
    """Refuse a payment made before the challenge was issued or after it ended, a minute of skew allowed each way.

    Raises:
        PaymentRefusal: Its block has another time.
    """
    issued_at, ends = challenge["issued_at"], challenge["issued_at"] + challenge["ttl_seconds"]
    # A payment older than its challenge was made for another one. Block times and clocks may
    # differ by a minute.
    demand(block_time >= issued_at - AGE_SKEW_SECONDS, AGE, "payment_too_old", "its block is older than the challenge")
    demand(block_time <= ends + AGE_SKEW_SECONDS, AGE, "challenge_expired", "its block is later than the challenge")
