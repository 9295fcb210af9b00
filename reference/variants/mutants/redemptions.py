"""The row of a paid claim: used by mutants in Python; those of this module are data in `mutants/rail.toml`."""

from __future__ import annotations

from typing import Any, Final

from reference.rail.challenges import Call
from reference.rail.redemption import Redeemer
from reference.store.redemption_rows import Redemption
from reference.variants.mutants.mutant import Mutant

MUTANTS: Final[tuple[Mutant, ...]] = ()


def row_of(self: Redeemer, presented: Any, call: Call, payer: str) -> Redemption:
    """Return the row that a paid claim would have."""
    now = self._clock.now()
    return Redemption(
        id=0,
        token=presented.token.text,
        payment_key=presented.payment_key,
        request_hash=call.request_hash,
        service_id=call.service.id,
        network=presented.terms.network,
        tx_id=presented.tx_id,
        amount=presented.terms.amount,
        pay_to=presented.terms.pay_to,
        claimed_at=now,
        expires_at=now,
        lease=None,
        lease_counter=0,
        payer=payer,
        paid_at=now,
        spent_at=None,
        answer=None,
        payment_response=None,
    )
