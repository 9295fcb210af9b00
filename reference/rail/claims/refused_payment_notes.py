"""Notes of refused proofs whose money has reached the payee; the chain is asked before the refusal (P-ST-11).

Money may have moved although a proof is refused: a payer may present too late, pay too little, or pay a challenge that
another payment has bought already. A third party may submit an authorization. Such payments are listed for the
operator, who can give the money back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reference.lanes.lane import ChainUnavailable
from reference.protocol.redemption import State
from reference.protocol.refusals import AGED, PaymentRefused
from reference.rail.availability.lane_health import LaneHealth
from reference.rail.claims.presented_proofs import Collectors, PresentedProof
from reference.store.redemption_rows import Redemption
from reference.store.refused_payments import RefusedPayments
from reference.web.clock import WpClock

# Refusals of an authorization for its window. If it was used, its contract has judged the window already (P-LN-03).
OF_THE_WINDOW: Final = frozenset({"authorization_expired", "authorization_not_yet_valid"})
# The same proof is served with the right request, so nothing is lost if the chain is not asked now.
_SERVABLE: Final = frozenset({"request_mismatch"})
_NOTED_CODES: Final = AGED | _SERVABLE | {"wrong_amount", "payment_already_spent"}


class RefusalNotes:
    """Notes the payments of one rail that arrived and were refused."""

    def __init__(
        self,
        collectors: Collectors,
        clock: WpClock,
        refused_payments: RefusedPayments,
        lane_health: LaneHealth | None = None,
    ) -> None:
        self._collectors = collectors
        self._clock = clock
        self._refused_payments = refused_payments
        self._lane_health = lane_health

    async def has_received(self, proof: PresentedProof, code: str, service_id: str) -> bool:
        """Ask the chain whether a proof that is refused with `code` moved money to the payee, and note that it did.

        A used authorization that is refused for its window is not noted, because it is served when it is final.

        Raises:
            PaymentRefused: `tx_not_confirmed`: it is on its way, so that nothing is decided yet.
            ChainUnavailable: The node could not be asked.
        """
        # For the other codes no money has reached the payee, or the proof is not one of this rail.
        if code not in _NOTED_CODES:
            return False
        network = proof.terms.network
        try:
            if self._lane_health is not None:
                self._lane_health.refuse_unchecked(network)
            payment = await self._collectors[network].find_received(proof)
        except PaymentRefused:  # on its way
            # On its way: a refusal for good would lose the payment, so the caller gets `tx_not_confirmed` and presents
            # again.
            if code in _SERVABLE or code in OF_THE_WINDOW:
                return code in OF_THE_WINDOW
            raise
        except ChainUnavailable:
            if code in _SERVABLE:
                return False
            raise
        if payment is not None and code not in OF_THE_WINDOW:
            await self._refused_payments.note(
                payment,
                payment_key=proof.payment_key,
                network=network,
                service_id=service_id,
                price=proof.terms.amount,
                pay_to=proof.terms.pay_to,
                code=code,
                now=self._clock.now(),
            )
        return payment is not None


def is_second_payment(rows: Sequence[Redemption], proof: PresentedProof) -> bool:
    """Return whether the token was bought by another payment, while this one has bought nothing."""
    # P-ST-09: a second payment for a token is its payer's loss. It is noted so that an operator can give it back.
    paid_rows = [row for row in rows if row.state is not State.UNPAID]
    of_this_payment = any(row.payment_key == proof.payment_key for row in paid_rows)
    return not of_this_payment and any(row.token == proof.token.text for row in paid_rows)
