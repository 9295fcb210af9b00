"""Refused proofs whose money has reached the payee: the chain is asked before the refusal, and the payment is noted.

A refusal is no statement that nothing moved: a payer may present too late, pay too little, or pay a challenge that
another payment has bought already, and a third party may submit an authorization. What has arrived is listed for the
operator, who decides about it (P-ST-11).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reference.lanes.lane import ChainUnavailable
from reference.protocol.redemption import State
from reference.protocol.refusals import AGED, PaymentRefused
from reference.rail.availability.lane_health import LaneHealth
from reference.rail.claims.presented_proof import Collectors, PresentedProof
from reference.store.redemption_rows import Redemption
from reference.store.refused_payments import RefusedPayments
from reference.web.clock import WpClock

# Refusals of an authorization for its own window, which its contract judged when it was used.
OF_THE_WINDOW: Final = frozenset({"authorization_expired", "authorization_not_yet_valid"})
# The same proof buys something with the right request, so that nothing is lost if the chain is not asked now.
_SERVABLE: Final = frozenset({"request_mismatch"})
_NOTED: Final = AGED | _SERVABLE | {"wrong_amount", "payment_already_spent"}


class RefusalNotes:
    """Notes the payments of one rail that arrived and were refused."""

    def __init__(
        self, collectors: Collectors, clock: WpClock, refused: RefusedPayments, lane_health: LaneHealth | None = None
    ) -> None:
        self._collectors = collectors
        self._clock = clock
        self._refused = refused
        self._presence = lane_health

    async def has_received(self, presented: PresentedProof, code: str, service_id: str) -> bool:
        """Ask the chain whether a proof that is refused with `code` moved money to the payee, and note that it did.

        What is refused for the window of an authorization is not noted, as it is served, once it is final.

        Raises:
            PaymentRefused: `tx_not_confirmed`: it is on its way, so that nothing is decided yet.
            ChainUnavailable: The node could not be asked.
        """
        if code not in _NOTED:
            return False
        network = presented.terms.network
        try:
            if self._presence is not None:
                self._presence.refuse_unchecked(network)
            payment = await self._collectors[network].received(presented)
        except PaymentRefused:  # on its way
            if code in _SERVABLE or code in OF_THE_WINDOW:
                return code in OF_THE_WINDOW
            raise
        except ChainUnavailable:
            if code in _SERVABLE:
                return False
            raise
        if payment is not None and code not in OF_THE_WINDOW:
            await self._refused.note(
                payment,
                payment_key=presented.payment_key,
                network=network,
                service_id=service_id,
                price=presented.terms.amount,
                pay_to=presented.terms.pay_to,
                code=code,
                now=self._clock.now(),
            )
        return payment is not None


def is_second_payment(rows: Sequence[Redemption], presented: PresentedProof) -> bool:
    """Return whether the token was bought by another payment, while this one has bought nothing."""
    paid = [row for row in rows if row.state is not State.UNPAID]
    of_this_payment = any(row.payment_key == presented.payment_key for row in paid)
    return not of_this_payment and any(row.token == presented.token.text for row in paid)
