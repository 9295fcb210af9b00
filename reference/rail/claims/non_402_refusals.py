"""Refusals of a proof with another status than 402: a 402 asks its payer to pay again (P-ER-03, P-ER-04)."""

from __future__ import annotations

from reference.protocol.error_codes import RAIL
from reference.web.errors import Refused, refusal
from reference.web.logs import get_logger

_log = get_logger()


def already_spent() -> Refused:
    """Return the refusal of a payment that already bought something; it does not say what (P-ER-04)."""
    return refusal(RAIL["payment_already_spent"])


def payment_refunded() -> Refused:
    """Return the refusal of a payment that the operator gave back; it is never served."""
    return refusal(RAIL["payment_refunded"])


def answer_unavailable(fault: Exception) -> Refused:
    """Return the refusal while a paid answer cannot be made: never a 500, and the same proof is served later."""
    _log.error("answer_unavailable", kind=type(fault).__name__)
    return refusal(RAIL["answer_unavailable"])


def chain_unavailable() -> Refused:
    """Return the refusal while the chain is away: not a 402, which would tell the client to pay again (P-ER-03)."""
    return refusal(RAIL["chain_unavailable"])
