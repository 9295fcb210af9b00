"""Times of Solana's blocks, as nodes report them (P-LN-06)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reference.lanes.json_rpc import JsonRpc, NodeRefused

_MOST_LISTED = 1000


async def read_block_time(rpc: JsonRpc, slot: int) -> int | None:
    """Return a slot's time in unix seconds, or None if the node does not know it.

    Raises:
        ChainUnavailable: The node does not answer, or out of form.
    """
    return _parse_time(await _ask_or_none(rpc, "getBlockTime", slot))


async def find_listed_time(rpc: JsonRpc, tx_id: str, addresses: Iterable[str]) -> int | None:
    """Return the time with which a transaction is listed under one of its addresses, also when its block is forgotten.

    Raises:
        ChainUnavailable: The node does not answer, or out of form.
    """
    # A node forgets blocks before it forgets its index of signatures, so an old payment still has a time there.
    for address in addresses:
        rows = await _ask_or_none(rpc, "getSignaturesForAddress", address, {"limit": _MOST_LISTED})
        entries = [one for one in rows if isinstance(one, dict)] if isinstance(rows, list) else []
        time = next((_parse_time(one.get("blockTime")) for one in entries if one.get("signature") == tx_id), None)
        if time is not None:
            return time
    return None


async def _ask_or_none(rpc: JsonRpc, method: str, *params: Any) -> Any:
    """Return a method's result, or None if the node refuses it."""
    try:
        return await rpc.call(method, *params)
    except NodeRefused:
        return None


def _parse_time(time: Any) -> int | None:
    return time if isinstance(time, int) and not isinstance(time, bool) else None
