"""What the checks of the Solana lane share: a challenge, the payment it asks for, and payments that differ from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from solders.instruction import Instruction
from solders.pubkey import Pubkey

from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.judging.rail.refusals import refused
from conformance.lanes.solana.instructions import TokenTransfer
from conformance.lanes.solana.payer import Order, SolanaPayer
from conformance.oracles.challenge_tokens import solana_reference
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.purchase import Challenge, challenge, name_live_values, present

Around = Callable[[TokenTransfer], Sequence[Instruction]]


async def solana_payer(case: Case) -> SolanaPayer:
    """Return the Solana payer with its lane's own powers."""
    payer = await case.session.payer("solana")
    if not isinstance(payer, SolanaPayer):
        raise Inconclusive("the Solana lane has no payer")
    return payer


@dataclass(frozen=True, slots=True)
class Quoted:
    """A live challenge and what it asks for on Solana."""

    case: Case
    payer: SolanaPayer
    quote: Challenge
    order: Order

    @classmethod
    async def ask(cls, case: Case, operation: Operation) -> Quoted:
        """Ask for a challenge."""
        return await cls.of(case, await challenge(case, operation))

    @classmethod
    async def of(cls, case: Case, quote: Challenge) -> Quoted:
        """Take a challenge that was asked for."""
        return cls(case, await solana_payer(case), quote, Order.of(quote.entry("solana")))

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

    def proof(self, tx_id: str, text: str | None = None) -> dict[str, Any]:
        """Return the proof that names a transaction for this challenge, or for the token `text`."""
        return {"tx_id": tx_id, "payment_reference": self.order.text if text is None else text}

    async def present(self, tx_id: str, text: str | None = None) -> Answer:
        """Present a transaction and return whatever comes back."""
        proof = self.proof(tx_id, text)
        name_live_values(self.case, proof)
        return await present(self.case, self.quote.operation, proof, body=self.quote.body)

    async def buys_nothing(self, row: str, tx_id: str, what: str, *, text: str | None = None) -> Answer:
        """Present a transaction that must buy nothing."""
        return await refused(self.case, row, self.quote, self.proof(tx_id, text), what)


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
