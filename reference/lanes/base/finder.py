"""Finding payments on Base: the asset's Transfer events to a payout address (3.5).

Both ways in which a payment is bound end in such an event, whoever sent the transaction: so one search an address finds
the payments of all its links. Zero transfers, which strangers can make in anybody's name, are left out.
"""

from __future__ import annotations

import re
from typing import Any

from reference.lanes.finding import BLOCK_SKEW_SECONDS, LEAST_LOOK_BACK, Candidate, Found, Head, last_before
from reference.lanes.json_rpc import JsonRpc, NodeRefused, member
from reference.lanes.lane import ChainUnavailable
from reference.lanes.node import AnswerTooLong
from reference.protocol.networks import Network

_TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
_BLOCKS_A_SEARCH = 5_000
_PARTS = 10
# A node's index of events may lag without saying so: the newest blocks, ten minutes of them, are searched every time.
LAG_BLOCKS = 300
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,16}", re.ASCII)


class BaseFinder:
    """Searches one EVM network."""

    def __init__(self, network: Network, rpc: JsonRpc, confirmations: int) -> None:
        self._asset = network.asset_id.lower()
        self._rpc = rpc
        self._confirmations = confirmations
        self._most = _BLOCKS_A_SEARCH

    async def head(self) -> Head:
        """Return the newest block; final are those with enough confirmations."""
        block = await self._rpc.ask("eth_getBlockByNumber", "latest", False)
        number = _quantity(member(block, "number", str))
        return Head(number, max(0, number - self._confirmations + 1), _quantity(member(block, "timestamp", str)))

    async def start(self, since: int, head: Head) -> int:
        """Search backwards by the times of blocks."""
        older = await last_before(since - BLOCK_SKEW_SECONDS, head.position, self._time_of)
        return max(0, min(older, head.position - LEAST_LOOK_BACK))

    async def find(self, address: str, after: int, head: Head) -> Found:
        """Search the events of the blocks after `after`, in parts that the node takes.

        Far from the head a search ends after some parts and goes on where it was; near it, it goes all the way.
        """
        found: list[Candidate] = []
        first, settled = min(after + 1, head.position), head.final - LAG_BLOCKS
        self._most = min(_BLOCKS_A_SEARCH, 2 * self._most)
        parts = 0
        while parts < _PARTS or first > settled:
            last = min(head.position, first + self._most - 1)
            try:
                logs = await self._rpc.call("eth_getLogs", self._wanted(address, first, last))
            except (NodeRefused, AnswerTooLong) as fault:
                if first == last:
                    raise ChainUnavailable(f"the node does not tell the events of a block: {_reason(fault)}") from fault
                self._most = (last - first + 1) // 2  # too many blocks or events at once
                continue
            found += _candidates(logs)
            if last >= head.position:
                return Found(tuple(dict.fromkeys(found)), max(after, settled), complete=True)
            first, parts = last + 1, parts + 1
        return Found(tuple(dict.fromkeys(found)), max(after, min(first - 1, settled)), complete=False)

    async def strays(self, address: str, after: int, head: Head) -> Found:
        """Search the Transfer events of all contracts in the newest blocks, with one question.

        A node that does not answer it, or too long, shows none: nothing is halved and asked again for them.
        """
        first = max(after + 1, head.position - _BLOCKS_A_SEARCH + 1)
        settled = max(after, head.final - LAG_BLOCKS)
        try:
            logs = await self._rpc.call("eth_getLogs", self._wanted(address, first, head.position, of_any_asset=True))
        except (NodeRefused, AnswerTooLong):
            return Found((), after, complete=False)
        if not isinstance(logs, list):
            raise ChainUnavailable("the node's events are no list")
        others = [log for log in logs if member(log, "address", str).lower() != self._asset]
        return Found(tuple(dict.fromkeys(_candidates(others))), settled, complete=True)

    async def waiting(self, address: str) -> tuple[str, ...]:
        """Return nothing: a pool tells nothing of events."""
        del address
        return ()

    def _wanted(self, address: str, first: int, last: int, *, of_any_asset: bool = False) -> dict[str, Any]:
        receiver = "0x" + address.lower().removeprefix("0x").rjust(64, "0")
        blocks = {"fromBlock": hex(first), "toBlock": hex(last), "topics": [_TRANSFER, None, receiver]}
        return blocks if of_any_asset else {"address": self._asset, **blocks}

    async def _time_of(self, number: int) -> int | None:
        block = await self._rpc.ask("eth_getBlockByNumber", hex(number), False)
        return None if block is None else _quantity(member(block, "timestamp", str))


def _reason(fault: NodeRefused | AnswerTooLong) -> str:
    return fault.message[:200] if isinstance(fault, NodeRefused) else str(fault)


def _candidates(logs: Any) -> list[Candidate]:
    if not isinstance(logs, list):
        raise ChainUnavailable("the node's events are no list")
    return [
        Candidate(member(log, "transactionHash", str).lower(), _quantity(member(log, "blockNumber", str)))
        for log in logs
        if int(member(log, "data", str).removeprefix("0x") or "0", 16)
    ]


def _quantity(value: str) -> int:
    if _QUANTITY.fullmatch(value) is None:
        raise ChainUnavailable("the node's answer holds no quantity where one belongs")
    return int(value, 16)
