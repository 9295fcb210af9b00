"""Sender of signed Solana payments, which also reads their state."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final, Self

from solders.message import MessageV0
from solders.transaction import VersionedTransaction
from solders.transaction_status import TransactionConfirmationStatus

from conformance.http.client import Names
from conformance.lanes.signed_payment import Fate, NotAPayment, NotTaken, OutdatedPayment, SignedPayment
from conformance.lanes.solana.instructions import amount_in, associated_account, pubkey
from conformance.lanes.solana.node import SolanaNode
from conformance.lanes.solana.refusals import Refused, UnknownBlockhash
from conformance.target import Budgets
from conformance.target.lanes.solana import SolanaChain

# A blockhash is valid for 150 blocks, which take about a minute. A node that is behind its neighbours does not know a
# fresh one, so its answer that a blockhash is invalid counts only after this time.
_SURELY_OVER_SECONDS: Final = 150


@dataclass(slots=True)
class SolanaSender:
    """Sends to one node; see `PaymentSender`."""

    node: SolanaNode

    @classmethod
    def open(cls, chain: SolanaChain, budgets: Budgets, names: Names) -> Self:
        """Open the node that a profile's table gives."""
        return cls(SolanaNode(chain, budgets, names))

    async def close(self) -> None:
        """Close connections."""
        await self.node.close()

    async def send(self, payment: SignedPayment) -> None:
        """Give the node the transaction; see `PaymentSender`."""
        transaction, _ = read_signed(payment)
        try:
            await self.node.submit(transaction)
        except UnknownBlockhash as refusal:
            raise OutdatedPayment(str(refusal)) from refusal
        except Refused as refusal:
            raise NotTaken(str(refusal)) from refusal

    async def fate(self, payment: SignedPayment) -> Fate:
        """Return the state of a payment; see `PaymentSender`."""
        transaction, message = read_signed(payment)
        is_over = time.time() > payment.signed_at + _SURELY_OVER_SECONDS and not await self.node.may_land(message)
        status = await self.node.status(str(transaction.signatures[0]))
        if status is not None:
            if status.err is not None:
                return Fate.FAILED
            is_final = status.confirmation_status == TransactionConfirmationStatus.Finalized
            return Fate.LANDED if is_final else Fate.SEEN
        if not is_over:
            return Fate.UNSEEN
        # Nodes keep old statuses only for a while, so an unknown transaction may still have happened. The balance
        # decides: the account makes only this transfer, and still holds what it held when it signed.
        place = associated_account(pubkey(payment.payer, "payer"), pubkey(payment.asset, "asset"))
        is_untouched = amount_in(await self.node.data(place)) >= payment.held > 0
        return Fate.LAPSED if is_untouched else Fate.SEEN

    async def transaction(self, payment: SignedPayment) -> str | None:
        """Return the payment's id, which was known when it was signed."""
        return payment.tx_id


def read_signed(payment: SignedPayment) -> tuple[VersionedTransaction, MessageV0]:
    """Return a signed transaction and its message.

    Raises:
        NotAPayment: It cannot be read, is not paid by the payer, or does not have the payment's id.
    """
    try:
        transaction = VersionedTransaction.from_bytes(bytes.fromhex(payment.transaction))
        message = transaction.message
        tx_id, first = str(transaction.signatures[0]), str(message.account_keys[0])
    except Exception as fault:
        # Broad, because the SDK raises any exception that it meets in bytes that are not a transaction.
        raise NotAPayment("the signed transaction is not a Solana transaction") from fault
    if tx_id != payment.tx_id or first != payment.payer or not isinstance(message, MessageV0):
        raise NotAPayment("the signed transaction is another one than its id and payer say")
    return transaction, message
