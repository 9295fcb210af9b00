"""Solana's JSON-RPC over the chain: the methods that solana-py, web3.js and kit call, and surfpool's cheat names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sim.json_rpc import METHOD_NOT_FOUND, RpcError
from sim.solana import cluster_methods, history_methods, reads, sending, surfpool_methods
from sim.solana.chain import Chain
from sim.solana.rpc_call import Ask, Method
from sim.solana.slots import Standing

# Answers that have a commitment: these show the fault early_finality.
_COMMITMENT_METHODS: Mapping[str, Method] = {
    **reads.METHODS,
    **history_methods.METHODS,
    **{name: cluster_methods.METHODS[name] for name in ("getSlot", "getBlockHeight", "getEpochInfo", "getBlocks")},
}
METHODS: Mapping[str, Method] = {
    **_COMMITMENT_METHODS,
    **cluster_methods.METHODS,
    **sending.METHODS,
    **surfpool_methods.METHODS,
}


class Rpc:
    """Answers calls on one chain."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    async def call(self, method: str, params: list[Any]) -> Any:
        """Return a method's result.

        Raises:
            RpcError: What the node answers instead.
        """
        carried_out = METHODS.get(method)
        if carried_out is None:
            raise RpcError(METHOD_NOT_FOUND, "Method not found")
        chain = self._chain
        final_slots = chain.final_slots() if method in _COMMITMENT_METHODS else Standing(chain.head.number)
        return carried_out(Ask(chain, params, final_slots))
