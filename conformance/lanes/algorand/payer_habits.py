"""Ways in which honest wallets on Algorand make the one transfer that a challenge asks for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from algosdk import transaction

from conformance.lanes.algorand.group_shapes import send_after_opt_in, send_with_pooled_fee
from conformance.lanes.algorand.payer import AlgorandPayer

_LEASE_SIZE: Final = 32
_FEW_ROUNDS, _HIGH_FEE = 20, 5000
# A group may hold sixteen transactions.
_GROUP_SIZE: Final = 16


async def _send_with_lease(payer: AlgorandPayer, transfer: Any) -> str:
    transfer.lease = bytes(range(1, _LEASE_SIZE + 1))
    return await payer.submit([transfer], payer.main)


async def _send_in_short_window(payer: AlgorandPayer, transfer: Any) -> str:
    transfer.last_valid_round = transfer.first_valid_round + _FEW_ROUNDS
    return await payer.submit([transfer], payer.main)


async def _send_with_high_fee(payer: AlgorandPayer, transfer: Any) -> str:
    transfer.fee = _HIGH_FEE
    return await payer.submit([transfer], payer.main)


async def _send_last_of_many(payer: AlgorandPayer, transfer: Any) -> str:
    """Send a transfer as the last of a full group of transfers to the payer itself, and return its id."""
    me = payer.address
    params = await payer.params()
    # Each needs other bytes, since a chain refuses two equal transactions.
    others = [
        transaction.AssetTransferTxn(me, params, me, 0, transfer.index, note=b"%d" % number)
        for number in range(_GROUP_SIZE - 1)
    ]
    await payer.submit([*others, transfer], payer.main)
    return str(transfer.get_txid())


async def _send_first_of_two(payer: AlgorandPayer, transfer: Any) -> str:
    me = payer.address
    tip = transaction.AssetTransferTxn(me, await payer.params(), me, 1, transfer.index, note=b"thank you")
    return await payer.submit([transfer, tip], payer.main)


async def _send_alone(payer: AlgorandPayer, transfer: Any) -> str:
    return await payer.submit([transfer], payer.main)


HABITS: Final[Mapping[str, Callable[[AlgorandPayer, Any], Awaitable[str]]]] = {
    "a transfer alone": _send_alone,
    "in a group whose other transaction pays the fee": send_with_pooled_fee,
    "in a group after an opt-in": send_after_opt_in,
    "the first of two transfers": _send_first_of_two,
    "the last of sixteen transactions": _send_last_of_many,
    "with a lease": _send_with_lease,
    "valid for few rounds": _send_in_short_window,
    "with a high fee": _send_with_high_fee,
}
