"""A challenge on Algorand, and the payments for it, as the lane's checks share them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from conformance.assertions.rail.challenge_payments import QuotedPayment
from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.lanes.algorand.transaction_ids import invented_id
from conformance.surfaces.rail.algorand.payments import algorand_payer, pay_welded
from conformance.surfaces.rail.purchase import Challenge, challenge

if TYPE_CHECKING:  # checks of every lane import this module, but the SDK comes with an extra
    from conformance.lanes.algorand.payer import AlgorandPayer


@dataclass(frozen=True, slots=True)
class AlgorandQuote(QuotedPayment):
    """A live challenge and its payments on Algorand."""

    payer: AlgorandPayer

    @classmethod
    async def ask(cls, case: Case, operation: Operation) -> Self:
        """Request a challenge."""
        return await cls.of(case, await challenge(case, operation))

    @classmethod
    async def of(cls, case: Case, quote: Challenge) -> Self:
        """Wrap a challenge that was requested before."""
        return cls(case, quote, await algorand_payer(case))

    @property
    def token(self) -> str:
        """The challenge's token."""
        return self.quote.reference(self.payer.lane)

    async def send(self, **changes: Any) -> str:
        """Send the requested transfer, with `changes`, and return the transaction's id."""
        return str((await pay_welded(self.payer, self.quote, **changes))["tx_id"])

    async def send_unwelded(self) -> str:
        """Send the transfer without a note."""
        # On Algorand the weld is in the note, so a payment without a weld is one with an empty note.
        return await self.send(note=b"")

    def invented_id(self) -> str:
        """Return the id of a transaction that was never sent."""
        return invented_id()
