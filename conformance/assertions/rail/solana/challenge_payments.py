"""A challenge on Solana, the payment that it requests, and payments that differ from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from solders.instruction import Instruction
from solders.pubkey import Pubkey

from conformance.assertions.rail.challenge_payments import QuotedPayment
from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.lanes.solana.instructions import TokenTransfer
from conformance.lanes.solana.payer import Order, SolanaPayer
from conformance.lanes.solana.transaction_ids import invented_id
from conformance.oracles.challenge_tokens import solana_reference
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.purchase import Challenge, challenge

Around = Callable[[TokenTransfer], Sequence[Instruction]]


async def get_solana_payer(case: Case) -> SolanaPayer:
    """Return the Solana payer of the check's lane, or of Solana if the check has no lane."""
    payer = await case.session.payers.for_rail(case.check.lane or "solana")
    if not isinstance(payer, SolanaPayer):
        raise Inconclusive("the Solana lane has no payer")
    return payer


@dataclass(frozen=True, slots=True)
class Quoted(QuotedPayment):
    """A live challenge on Solana, and the order that it contains."""

    payer: SolanaPayer
    order: Order

    @classmethod
    async def ask(cls, case: Case, operation: Operation) -> Self:
        """Request a challenge."""
        return await cls.of(case, await challenge(case, operation))

    @classmethod
    async def of(cls, case: Case, quote: Challenge) -> Self:
        """Wrap a challenge that was requested before."""
        payer = await get_solana_payer(case)
        return cls(case, quote, payer, Order.of(quote.entry(payer.lane)))

    @property
    def token(self) -> str:
        """The challenge's token."""
        return self.order.text

    async def transfer(self, **changes: Any) -> TokenTransfer:
        """Return the requested transfer, with `changes`."""
        return await self.payer.transfer(self.order, **changes)

    async def send(
        self, arrange: Around | None = None, /, *, send_arguments: dict[str, Any] | None = None, **changes: Any
    ) -> str:
        """Send the requested transfer, with `changes`, and return the transaction's id.

        Args:
            arrange: Returns the transaction's instructions for the transfer; None for the transfer alone.
            send_arguments: Arguments of `SolanaPayer.send`.
            changes: Changes of the transfer.
        """
        transfer = await self.transfer(**changes)
        return await self.payer.send(
            [transfer.instruction()] if arrange is None else arrange(transfer), **(send_arguments or {})
        )

    async def send_unwelded(self) -> str:
        """Send the transfer without a reference."""
        # On Solana the weld is a reference account of the transfer, so this leaves it out.
        return await self.send(references=())

    def invented_id(self) -> str:
        """Return the id of a transaction that was never sent."""
        return invented_id()


def derive_reference(case: Case, challenge: Quoted, text: str) -> Pubkey | None:
    """Return the reference account that the target would derive from a token, if its derivation is known."""
    word = case.profile.service_word
    if word is None:
        return None

    def derive(token: str) -> Pubkey:
        return Pubkey.from_string(solana_reference(token, word))

    # The derivation is the target's choice. The reference's is tried on a live token first, whose account the challenge
    # shows.
    return derive(text) if derive(challenge.order.text) == challenge.order.reference else None
