"""Groups as wallets make them around one transfer: another transaction pays the fee, or opts in to the asset first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from algosdk import transaction

from conformance.lanes.algorand.payer import AlgorandPayer


async def with_pooled_fee(payer: AlgorandPayer, made: Any) -> str:
    """Send a transfer without a fee after a payment that pays for both, and return the transfer's id."""
    me = payer.address
    paying = transaction.PaymentTxn(me, await payer.params(), me, 0)
    paying.fee, made.fee = paying.fee + made.fee, 0
    await payer.submit([paying, made], payer.main)
    return str(made.get_txid())


async def after_opt_in(payer: AlgorandPayer, made: Any) -> str:
    """Send a transfer after an opt-in to its asset, and return the transfer's id."""
    me = payer.address
    opting = transaction.AssetTransferTxn(me, await payer.params(), me, 0, made.index)
    await payer.submit([opting, made], payer.main)
    return str(made.get_txid())


GROUPS: Final[Mapping[str, Callable[[AlgorandPayer, Any], Awaitable[str]]]] = {
    "in a group whose other transaction pays the fee": with_pooled_fee,
    "in a group after an opt-in": after_opt_in,
}
