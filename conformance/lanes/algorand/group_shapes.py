"""Transaction groups of wallets around one transfer: another transaction pays the fee, or opts in first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from algosdk import transaction

from conformance.lanes.algorand.payer import AlgorandPayer


async def send_with_pooled_fee(payer: AlgorandPayer, transfer: Any) -> str:
    """Send a transfer without a fee after a payment that pays for both, and return the transfer's id."""
    me = payer.address
    fee_payment = transaction.PaymentTxn(me, await payer.params(), me, 0)
    # Algorand pools the fees of a group: one transaction may pay for all.
    fee_payment.fee, transfer.fee = fee_payment.fee + transfer.fee, 0
    await payer.submit([fee_payment, transfer], payer.main)
    return str(transfer.get_txid())


async def send_after_opt_in(payer: AlgorandPayer, transfer: Any) -> str:
    """Send a transfer after an opt-in to its asset, and return the transfer's id."""
    me = payer.address
    opt_in_transfer = transaction.AssetTransferTxn(me, await payer.params(), me, 0, transfer.index)
    await payer.submit([opt_in_transfer, transfer], payer.main)
    return str(transfer.get_txid())


GROUPS: Final[Mapping[str, Callable[[AlgorandPayer, Any], Awaitable[str]]]] = {
    "in a group whose other transaction pays the fee": send_with_pooled_fee,
    "in a group after an opt-in": send_after_opt_in,
}
