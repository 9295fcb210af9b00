"""The key `[payer] stock`: rows that do not apply to a payer that speaks plain x402 version 2, without a weld."""

from __future__ import annotations

from typing import Final

from conformance.ledger import Requirement
from conformance.target import Profile

_NO_RECEIPT: Final = "has no signed receipt of a call"
# What x402 version 2 lacks, by the row that is about it.
_ABSENT: Final = {
    "PAYER-PAY-05": "says nothing about a program's files and output",
    "PAYER-ONCE-07": "has no code for a payment that is not confirmed yet",
    "PAYER-OFFER-06": "has no hash of the request in its offers",
    "PAYER-OFFER-07": "has no time of issue in its offers",
    "PAYER-OFFER-08": "has the challenge in PAYMENT-REQUIRED alone, and leaves the body of a 402 open",
    "PAYER-OFFER-11": "has no challenge token in its offers",
    "PAYER-RCPT-01": _NO_RECEIPT,
    "PAYER-RCPT-02": _NO_RECEIPT,
    "PAYER-RCPT-03": _NO_RECEIPT,
}


def left_out(row: Requirement, profile: Profile) -> str | None:
    """Return why a row does not apply to a stock payer; None if it applies."""
    if not profile.payer.stock or row.id not in _ABSENT:
        return None
    return f"the payer is a stock client ([payer] stock), and x402 version 2 {_ABSENT[row.id]}"
