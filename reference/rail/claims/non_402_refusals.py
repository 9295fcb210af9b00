"""How a proof is refused by another status than 402, which would tell its payer to pay again (P-ER-03, P-ER-04)."""

from __future__ import annotations

from reference.web.errors import Refused
from reference.web.logs import get_logger

_log = get_logger()
_CHAIN_RETRY_SECONDS = 5


def already_spent() -> Refused:
    """Return the refusal of a payment that already bought something; it tells nothing about what (P-ER-04)."""
    return Refused(409, "payment_already_spent", "this payment already bought something; pay for a new challenge")


def payment_refunded() -> Refused:
    """Return the refusal of a payment that the operator gave back: it buys nothing any more."""
    message = "this payment was given back by the operator; nothing is served for it, pay for a new challenge"
    return Refused(409, "payment_refunded", message)


def answer_unavailable(fault: Exception) -> Refused:
    """Return the refusal while a paid answer cannot be made: never a 500, and the same proof is served later."""
    _log.error("answer_unavailable", kind=type(fault).__name__)
    return Refused(
        503,
        "answer_unavailable",
        "the answer cannot be made now; do not pay again, send the same proof later",
        {"Retry-After": str(_CHAIN_RETRY_SECONDS)},
    )


def chain_unavailable() -> Refused:
    """Return the refusal while the chain is away: not a 402, which would tell the client to pay again (P-ER-03)."""
    return Refused(
        503,
        "chain_unavailable",
        "the chain cannot be consulted; do not pay again, send the same proof later",
        {"Retry-After": str(_CHAIN_RETRY_SECONDS)},
    )
