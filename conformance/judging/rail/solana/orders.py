"""What the checks of the Solana lane share: a challenge, the payment it asks for, and payments that differ from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from solders.instruction import Instruction
from solders.pubkey import Pubkey

from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.judging.rail.quoted import QuotedPayment
from conformance.lanes.solana.instructions import TokenTransfer
from conformance.lanes.solana.payer import Order, SolanaPayer
from conformance.lanes.solana.transaction_ids import invented_id
from conformance.oracles.challenge_tokens import solana_reference
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.purchase import Challenge, challenge

Around = Callable[[TokenTransfer], Sequence[Instruction]]


async def solana_payer(case: Case) -> SolanaPayer:
    """Return the payer of the check's lane with a Solana lane's own powers; Solana's, where it is of no lane."""
    payer = await case.session.payers.for_rail(case.check.lane or "solana")
    if not isinstance(payer, SolanaPayer):
        raise Inconclusive("the Solana lane has no payer")
    return payer


@dataclass(frozen=True, slots=True)
class Quoted(QuotedPayment):
    """A live challenge and what it asks for on Solana."""

    payer: SolanaPayer
    order: Order

    @classmethod
    async def ask(cls, case: Case, operation: Operation) -> Self:
        """Ask for a challenge."""
        return await cls.of(case, await challenge(case, operation))

    @classmethod
    async def of(cls, case: Case, quote: Challenge) -> Self:
        """Take a challenge that was asked for."""
        payer = await solana_payer(case)
        return cls(case, quote, payer, Order.of(quote.entry(payer.lane)))

    @property
    def token(self) -> str:
        """The challenge's token."""
        return self.order.text

    async def transfer(self, **changes: Any) -> TokenTransfer:
        """Return the transfer that is asked for, with `changes`."""
        return await self.payer.transfer(self.order, **changes)

    async def send(self, around: Around | None = None, /, *, how: dict[str, Any] | None = None, **changes: Any) -> str:
        """Send the transfer that is asked for, with `changes`, and return the transaction's id.

        Args:
            around: Makes the transaction's instructions of the transfer; it alone when None.
            how: Arguments of `SolanaPayer.send`.
            changes: Of the transfer.
        """
        made = await self.transfer(**changes)
        return await self.payer.send([made.instruction()] if around is None else around(made), **(how or {}))

    async def send_unwelded(self) -> str:
        """Send the transfer without a reference."""
        return await self.send(references=())

    def invented_id(self) -> str:
        """Return an id that nobody sent."""
        return invented_id()


def derived_reference(case: Case, quoted: Quoted, text: str) -> Pubkey | None:
    """Return the reference account that the target would derive from a token, where its derivation is known.

    How it is derived is the target's own matter; the one of the reference is tried on a live token first.
    """
    word = case.profile.service_word
    if word is None:
        return None

    def derive(token: str) -> Pubkey:
        return Pubkey.from_string(solana_reference(token, word))

    return derive(text) if derive(quoted.order.text) == quoted.order.reference else None
