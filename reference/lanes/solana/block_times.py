"""The times of Solana's blocks, as a node tells them (P-LN-06)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reference.lanes.json_rpc import JsonRpc, NodeRefused

_MOST_LISTED = 1000


async def block_time(rpc: JsonRpc, slot: int) -> int | None:
    """Return a slot's time in unix seconds, None where the node knows none.

    Raises:
        ChainUnavailable: The node does not answer, or out of form.
    """
    return _time(await _told(rpc, "getBlockTime", slot))


async def listed_time(rpc: JsonRpc, tx_id: str, addresses: Iterable[str]) -> int | None:
    """Return the time with which a transaction is listed under one of its addresses, also when its block is forgotten.

    Raises:
        ChainUnavailable: The node does not answer, or out of form.
    """
    for address in addresses:
        listed = await _told(rpc, "getSignaturesForAddress", address, {"limit": _MOST_LISTED})
        known = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        time = next((_time(one.get("blockTime")) for one in known if one.get("signature") == tx_id), None)
        if time is not None:
            return time
    return None


async def _told(rpc: JsonRpc, method: str, *params: Any) -> Any:
    """Return what a node tells, None where it refuses."""
    try:
        return await rpc.call(method, *params)
    except NodeRefused:
        return None


def _time(told: Any) -> int | None:
    return told if isinstance(told, int) and not isinstance(told, bool) else None
