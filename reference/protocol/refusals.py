"""Why a call is not served: one code each (P-ER-00), with what the client may do about it."""

from __future__ import annotations

from dataclasses import dataclass

CODES_402 = frozenset(
    (
        "payment_required",
        "payment_not_welded",
        "method_not_payable",
        "invalid_payment_header",
        "unknown_challenge",
        "lane_mismatch",
        "request_mismatch",
        "challenge_expired",
        "wrong_recipient",
        "wrong_asset",
        "wrong_amount",
        "weld_mismatch",
        "authorization_not_yet_valid",
        "authorization_expired",
        "authorization_used",
        "invalid_signature",
        "insufficient_funds",
        "settlement_failed",
        "tx_not_found",
        "tx_not_confirmed",
        "tx_failed",
        "payment_too_old",
        "unsupported_transaction",
    )
)
RETRYABLE = frozenset({"tx_not_found", "tx_not_confirmed"})
RETRY_SECONDS = 2
# Judged by the age of something: they hold only where the time does.
AGED = frozenset({"challenge_expired", "payment_too_old", "authorization_expired", "authorization_not_yet_valid"})


@dataclass(eq=False)  # not frozen: Python sets __traceback__ on an exception that passes through `async with`
class PaymentRefused(Exception):
    """A proof that buys nothing, for one reason.

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
        return RETRY_SECONDS if self.code in RETRYABLE else None
