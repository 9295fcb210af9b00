"""Sender of signed Algorand payments, which also reads their state."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Self

from algosdk import encoding

from conformance.http.client import Names
from conformance.lanes.algorand.node import AlgorandNode, Refused
from conformance.lanes.signed_payment import Fate, NotAPayment, NotTaken, SignedPayment
from conformance.target import Budgets
from conformance.target.lanes.algorand import AlgorandChain


@dataclass(slots=True)
class AlgorandSender:
    """Sends to one node; see `PaymentSender`."""

    node: AlgorandNode

    @classmethod
    def open(cls, chain: AlgorandChain, budgets: Budgets, names: Names) -> Self:
        """Open the node that a profile's table gives."""
        return cls(AlgorandNode(chain, budgets, names))

    async def close(self) -> None:
        """Close connections and threads."""
        await self.node.close()

    async def send(self, payment: SignedPayment) -> None:
        """Give the node the transaction; see `PaymentSender`."""
        tx_id, _ = _read_transaction(payment)
        try:
            await self.node.send(tx_id, bytes.fromhex(payment.transaction))
        except Refused as refusal:
            # The transaction is in a block already, which is not a refusal.
            if "already in ledger" not in str(refusal):
                raise NotTaken(str(refusal)) from refusal

    async def fate(self, payment: SignedPayment) -> Fate:
        """Return the state of a payment; see `PaymentSender`."""
        tx_id, last_valid = _read_transaction(payment)
        newest = await self.node.newest_round()
        info = await self.node.info(tx_id)
        if info.get("confirmed-round"):
            return Fate.LANDED
        # The node knows the transaction and has not dropped it: it waits for its block.
        if info and not info.get("pool-error"):
            return Fate.SEEN
        # A node forgets transactions after a thousand rounds, so an unknown id does not show that the transfer never
        # happened. The balance does: the account makes only this transfer, and still holds what it held when it
        # signed.
        is_over = newest > last_valid
        if is_over and (await self.node.balance(payment.payer, int(payment.asset)) or 0) >= payment.held > 0:
            return Fate.LAPSED
        return Fate.SEEN if is_over else Fate.UNSEEN

    async def transaction(self, payment: SignedPayment) -> str | None:
        """Return the payment's id, which was known when it was signed."""
        return payment.tx_id


def _read_transaction(payment: SignedPayment) -> tuple[str, int]:
    """Return the id of a signed transaction and the last round that takes it.

    Raises:
        NotAPayment: It cannot be read, is not the payer's transfer, or does not have the payment's id.
    """
    try:
        raw = base64.b64encode(bytes.fromhex(payment.transaction)).decode()
        transfer: Any = encoding.msgpack_decode(raw).transaction
        tx_id, last_valid, is_named = (
            str(transfer.get_txid()),
            int(transfer.last_valid_round),
            transfer.sender == payment.payer,
        )
    except Exception as fault:
        # Broad, because the SDK raises any exception that it meets in bytes that are not a transaction.
        raise NotAPayment("the signed transaction is not an Algorand transaction") from fault
    if tx_id != payment.tx_id or not is_named or not payment.asset.isdecimal():
        raise NotAPayment("the signed transaction is another one than its id, payer and asset say")
    return tx_id, last_valid
