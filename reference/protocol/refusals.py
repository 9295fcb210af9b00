"""Refusals of a paid call: one code each (P-ER-00), and whether the client may try again."""

from __future__ import annotations

from dataclasses import dataclass

from reference.protocol.error_codes import RAIL

CODES_402 = frozenset(row.code for row in RAIL.values() if row.status == 402)
RETRYABLE = frozenset(code for code in CODES_402 if RAIL[code].retry is not None)
# Refusals that depend on a time. While the clock is in doubt they are answered 503 instead (decision 0043).
AGED = frozenset({"challenge_expired", "payment_too_old", "authorization_expired", "authorization_not_yet_valid"})


@dataclass(eq=False)  # not frozen: Python sets __traceback__ on an exception that passes through `async with`
class PaymentRefused(Exception):
    """A proof is refused, for one reason.

    Attributes:
        code: One of the 402 codes.
        transaction: The transaction that was named, canonical, or the empty string.
        network: CAIP-2 name of the lane where it is known, else the network that the payment itself names, or the empty
            string.
    """

    code: str
    transaction: str = ""
    network: str = ""

    @property
    def answers_payment(self) -> bool:
        """Whether a payment was presented, so that `PAYMENT-RESPONSE` reports its outcome (P-ER-01)."""
        return self.code != "payment_required"

    @property
    def retry_after(self) -> int | None:
        """Seconds after which the same proof may be sent again, or None when it will not be accepted (P-ER-02)."""
        return RAIL[self.code].retry
