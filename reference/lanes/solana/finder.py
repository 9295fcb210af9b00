"""Payment search on Solana: signatures that name the payout address's token account, newest first (3.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference.lanes.json_rpc import JsonRpc, NodeRefused, read_member
from reference.lanes.lane import ChainUnavailable
from reference.lanes.payment_search import (
    BLOCK_SKEW_SECONDS,
    LEAST_LOOK_BACK,
    Candidate,
    Head,
    SearchResult,
    find_last_before,
)
from reference.lanes.solana.block_times import read_block_time
from reference.protocol.networks import Network
from reference.protocol.solana_transfers import TOKEN_PROGRAM, associated_account

_PAGE = 1_000
_PAGES = 100
# A node's index of signatures may lag without reporting it, so the newest slots (ten minutes) are searched each time.
LAG_SLOTS = 1_500
_NEIGHBOURS = 4
_STRAY_ACCOUNTS = 8
_LIST_ACCOUNTS = {"encoding": "base64", "dataSlice": {"offset": 0, "length": 0}, "commitment": "confirmed"}
_NEWEST_SIGNATURES = {"limit": 100, "commitment": "confirmed"}


class SolanaFinder:
    """Searches one Solana network."""

    def __init__(self, network: Network, rpc: JsonRpc, commitment: str) -> None:
        self._mint = network.asset_id
        self._rpc = rpc
        self._commitment = commitment

    async def read_head(self) -> Head:
        """Return the newest confirmed slot, and the newest one that is final by the setting."""
        newest = await self._slot("confirmed")
        return Head(newest, min(newest, await self._slot(self._commitment)), await read_block_time(self._rpc, newest))

    async def find_start(self, since: int, head: Head) -> int:
        """Search backwards by the times of slots, as far as the node remembers them."""
        first = await self._first()

        async def time_of(slot: int) -> int | None:
            """Return the time of a slot, or of the block before it if it has none; unknown slots count as young."""
            if slot < first:
                return None
            # Leaders skip slots, so a slot need not have a block.
            for near in range(slot, max(first, slot - _NEIGHBOURS) - 1, -1):
                time = await read_block_time(self._rpc, near)
                if time is not None:
                    return time
            return since

        older = await find_last_before(since - BLOCK_SKEW_SECONDS, head.position, time_of)
        return max(0, min(older, head.position - LEAST_LOOK_BACK))

    async def find(self, address: str, after: int, head: Head) -> SearchResult:
        """List signatures page by page until they are older than `after`."""
        account = associated_account(address, self._mint)
        candidates: list[Candidate] = []
        options: dict[str, Any] = {"limit": _PAGE, "commitment": "confirmed"}
        # Signatures are listed from the newest. The search ends at the first one that was searched before.
        for _ in range(_PAGES):
            page = await self._rpc.ask("getSignaturesForAddress", account, options)
            if not isinstance(page, list):
                raise ChainUnavailable("the node's signatures are no list")
            entries = [(Candidate(read_member(one, "signature", str), _slot_of(one)), one) for one in page]
            candidates += [told for told, one in entries if told.position > after and one.get("err") is None]
            if len(page) < _PAGE or entries[-1][0].position <= after:
                searched_to = max(after, head.final - LAG_SLOTS)
                return SearchResult(tuple(dict.fromkeys(reversed(candidates))), searched_to, is_complete=True)
            # The next page begins after the last signature, so payments that arrive meanwhile do not shift the pages.
            options["before"] = entries[-1][0].tx_id
        raise ChainUnavailable("the node has no end of signatures")

    async def find_strays(self, address: str, after: int, head: Head) -> SearchResult:
        """List the newest signatures of a few further token accounts of the payout address.

        Each further account costs its sender rent, so there are few; still, only the first few are searched.
        """
        accounts_answer = await self._rpc.ask(
            "getTokenAccountsByOwner", address, {"programId": TOKEN_PROGRAM}, _LIST_ACCOUNTS
        )
        accounts = [read_member(one, "pubkey", str) for one in read_member(accounts_answer, "value", list)]
        # The account for USDC is searched by `find`, so it is left out here.
        own = associated_account(address, self._mint)
        candidates: list[Candidate] = []
        for account in [one for one in accounts if one != own][:_STRAY_ACCOUNTS]:
            page = await self._rpc.ask("getSignaturesForAddress", account, _NEWEST_SIGNATURES)
            if not isinstance(page, list):
                raise ChainUnavailable("the node's signatures are no list")
            entries = [(Candidate(read_member(one, "signature", str), _slot_of(one)), one) for one in page]
            candidates += [told for told, one in entries if told.position > after and one.get("err") is None]
        candidates.sort(key=lambda one: one.position)
        return SearchResult(tuple(dict.fromkeys(candidates)), max(after, head.final - LAG_SLOTS), is_complete=True)

    async def list_pool(self, address: str) -> tuple[str, ...]:
        """Return nothing: nodes list no transactions before `confirmed`."""
        del address
        return ()

    async def _slot(self, commitment: str) -> int:
        return _read_number(await self._rpc.ask("getSlot", {"commitment": commitment}))

    async def _first(self) -> int:
        try:
            return _read_number(await self._rpc.call("getFirstAvailableBlock"))
        except NodeRefused:
            return 0


def _slot_of(entry: Mapping[str, Any]) -> int:
    return _read_number(entry.get("slot"))


def _read_number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ChainUnavailable("the node's answer holds no slot where one belongs")
    return value
