"""Payment search on Base: the asset's Transfer events to a payout address (3.5).

Every payment ends in such an event, from any sender, so one search for an address finds the payments of all its links.
Transfers of zero, which strangers can make in the name of any account, are left out.
"""

from __future__ import annotations

import re
from typing import Any

from reference.lanes.json_rpc import JsonRpc, NodeRefused, read_member
from reference.lanes.lane import ChainUnavailable
from reference.lanes.node import AnswerTooLong
from reference.lanes.payment_search import (
    BLOCK_SKEW_SECONDS,
    LEAST_LOOK_BACK,
    Candidate,
    Head,
    SearchResult,
    find_last_before,
)
from reference.protocol.networks import Network

_TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
_BLOCKS_A_SEARCH = 5_000
_PARTS = 10
# A node's index of events may lag without reporting it, so the newest blocks (ten minutes) are searched each time.
LAG_BLOCKS = 300
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,16}", re.ASCII)


class BaseFinder:
    """Searches one EVM network."""

    def __init__(self, network: Network, rpc: JsonRpc, confirmations: int) -> None:
        self._asset = network.asset_id.lower()
        self._rpc = rpc
        self._confirmations = confirmations
        self._most = _BLOCKS_A_SEARCH

    async def read_head(self) -> Head:
        """Return the newest block, and the newest one with enough confirmations."""
        block = await self._rpc.ask("eth_getBlockByNumber", "latest", False)
        number = _read_quantity(read_member(block, "number", str))
        return Head(
            number, max(0, number - self._confirmations + 1), _read_quantity(read_member(block, "timestamp", str))
        )

    async def find_start(self, since: int, head: Head) -> int:
        """Search backwards by the times of blocks."""
        # Blocks carry times that may differ from the clock, so the search begins earlier than the link.
        older = await find_last_before(since - BLOCK_SKEW_SECONDS, head.position, self._time_of)
        return max(0, min(older, head.position - LEAST_LOOK_BACK))

    async def find(self, address: str, after: int, head: Head) -> SearchResult:
        """Search the events of the blocks after `after`, in parts that the node takes.

        Far from the head a search ends after some parts, and the next one continues; near the head it reaches it.
        """
        candidates: list[Candidate] = []
        first, last_settled = min(after + 1, head.position), head.final - LAG_BLOCKS
        # Halved on refusal and doubled afterwards: the size settles near what this node takes, without a setting.
        self._most = min(_BLOCKS_A_SEARCH, 2 * self._most)
        # A search far from the head is divided, so that one address does not hold up the others.
        parts = 0
        while parts < _PARTS or first > last_settled:
            # The range is what this node took last time; nodes bound blocks, events or bytes in different ways.
            last = min(head.position, first + self._most - 1)
            try:
                logs = await self._rpc.call("eth_getLogs", self._build_filter(address, first, last))
            except (NodeRefused, AnswerTooLong) as fault:
                if first == last:
                    raise ChainUnavailable(
                        f"the node does not list the events of a block: {_reason_of(fault)}"
                    ) from fault
                # Too many blocks or events at once; nodes have different limits.
                self._most = (last - first + 1) // 2
                continue
            candidates += _read_candidates(logs)
            if last >= head.position:
                return SearchResult(tuple(dict.fromkeys(candidates)), max(after, last_settled), is_complete=True)
            first, parts = last + 1, parts + 1
        return SearchResult(
            tuple(dict.fromkeys(candidates)), max(after, min(first - 1, last_settled)), is_complete=False
        )

    async def find_strays(self, address: str, after: int, head: Head) -> SearchResult:
        """Search the Transfer events of all contracts in the newest blocks, with one question.

        If the node refuses it or the answer is too long, none are listed: they pay nothing, so it is not asked again.
        """
        first = max(after + 1, head.position - _BLOCKS_A_SEARCH + 1)
        last_settled = max(after, head.final - LAG_BLOCKS)
        try:
            logs = await self._rpc.call(
                "eth_getLogs", self._build_filter(address, first, head.position, of_any_asset=True)
            )
        except (NodeRefused, AnswerTooLong):
            return SearchResult((), after, is_complete=False)
        if not isinstance(logs, list):
            raise ChainUnavailable("the node's events are no list")
        stray_logs = [log for log in logs if read_member(log, "address", str).lower() != self._asset]
        return SearchResult(tuple(dict.fromkeys(_read_candidates(stray_logs))), last_settled, is_complete=True)

    async def list_pool(self, address: str) -> tuple[str, ...]:
        """Return nothing: a pool has no events."""
        del address
        return ()

    def _build_filter(self, address: str, first: int, last: int, *, of_any_asset: bool = False) -> dict[str, Any]:
        receiver = "0x" + address.lower().removeprefix("0x").rjust(64, "0")
        blocks = {"fromBlock": hex(first), "toBlock": hex(last), "topics": [_TRANSFER, None, receiver]}
        return blocks if of_any_asset else {"address": self._asset, **blocks}

    async def _time_of(self, number: int) -> int | None:
        block = await self._rpc.ask("eth_getBlockByNumber", hex(number), False)
        return None if block is None else _read_quantity(read_member(block, "timestamp", str))


def _reason_of(fault: NodeRefused | AnswerTooLong) -> str:
    return fault.message[:200] if isinstance(fault, NodeRefused) else str(fault)


def _read_candidates(logs: Any) -> list[Candidate]:
    if not isinstance(logs, list):
        raise ChainUnavailable("the node's events are no list")
    return [
        Candidate(
            read_member(log, "transactionHash", str).lower(), _read_quantity(read_member(log, "blockNumber", str))
        )
        for log in logs
        # A transfer of zero costs a stranger only gas and can name any sender.
        if int(read_member(log, "data", str).removeprefix("0x") or "0", 16)
    ]


def _read_quantity(value: str) -> int:
    if _QUANTITY.fullmatch(value) is None:
        raise ChainUnavailable("the node's answer holds no quantity where one belongs")
    return int(value, 16)
