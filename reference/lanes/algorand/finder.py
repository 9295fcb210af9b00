"""Payment search on Algorand: the newest rounds at algod, older ones at the indexer (3.5).

An indexer lags, and an algod may have deleted old rounds, so each is asked for the rounds that it certainly has. A
search that the indexer could not finish continues at the indexer's newest round, never after it.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from algosdk import encoding
from algosdk.error import WrongChecksumError, WrongKeyLengthError

from reference.lanes.lane import ChainUnavailable
from reference.lanes.node import Node
from reference.lanes.payment_search import (
    BLOCK_SKEW_SECONDS,
    LEAST_LOOK_BACK,
    Candidate,
    Head,
    SearchResult,
    find_last_before,
)
from reference.protocol.networks import Network

_NOT_FOUND = 404
# So many rounds are read at algod, one by one. If there are more, the indexer is asked first.
_ROUNDS_AT_ALGOD = 16
_ROUNDS_A_SEARCH = 128
_KEPT_ROUNDS = 512
_PAGE = 500
_PAGES = 1_000
_STRAY_PAGES = 4
_ADDRESSES = frozenset({"snd", "arcv", "asnd", "aclose", "rekey"})
_BYTES = frozenset({"note", "lx", "grp", "gh"})

_Header = Mapping[str, Any]
# Id and receiver of each transfer, and whether it moves the network's USDC.
_Payments = Sequence[tuple[str, str, bool]]


class AlgorandFinder:
    """Searches one Algorand network."""

    def __init__(self, network: Network, algod: Node, indexer: Node | None) -> None:
        self._asset = int(network.asset_id)
        self._algod = algod
        self._indexer = indexer
        self._rounds: OrderedDict[int, tuple[_Header, _Payments]] = OrderedDict()
        self._reading = asyncio.Lock()

    async def read_head(self) -> Head:
        """Return algod's last round, which is final."""
        status = await _get_answer(self._algod, "/v2/status")
        last = _integer(status, "last-round")
        # The head's time is read here, because a link ends by the time of its chain (3.5).
        header = await self._read_header(last)
        # A local node that was reset has other rounds with the same numbers; kept rounds of before would hide its
        # payments.
        if not await self._is_same_chain(last, header):
            self._rounds.clear()
        return Head(last, last, None if header is None else _integer(header, "ts"))

    async def find_start(self, since: int, head: Head) -> int:
        """Search backwards by the times of blocks."""
        older = await find_last_before(since - BLOCK_SKEW_SECONDS, head.position, self._time_of)
        return max(0, min(older, head.position - LEAST_LOOK_BACK))

    async def find(self, address: str, after: int, head: Head) -> SearchResult:
        """Read the rounds between `after` and the head."""
        candidates: list[Candidate] = []
        searched_to = after
        if head.position - after > _ROUNDS_AT_ALGOD and self._indexer is not None:
            indexed, searched_to = await self._search_indexer(address, after, head.position)
            candidates += indexed
        # Bounded, so that one search does not hold up the links of other addresses; the next one continues.
        last = min(head.position, searched_to + _ROUNDS_A_SEARCH)
        for number in range(searched_to + 1, last + 1):
            candidates += await self._find_in_round(number, address, is_usdc=True)
        return SearchResult(tuple(candidates), max(searched_to, last), last >= head.position)

    async def find_strays(self, address: str, after: int, head: Head) -> SearchResult:
        """Read the newest rounds, which `find` has kept; the indexer lists the rounds before them."""
        first_kept = max(after, head.position - _ROUNDS_A_SEARCH)
        candidates: list[Candidate] = []
        if first_kept > after and self._indexer is not None:
            candidates, _ = await self._search_indexer(address, after, first_kept, is_usdc=False)
        for number in range(first_kept + 1, head.position + 1):
            candidates += await self._find_in_round(number, address, is_usdc=False)
        return SearchResult(tuple(candidates), head.position, is_complete=True)

    async def _find_in_round(self, number: int, address: str, *, is_usdc: bool) -> list[Candidate]:
        return [
            Candidate(tx_id, number)
            for tx_id, receiver, moves_usdc in await self._read_round(number)
            if receiver == address and moves_usdc is is_usdc
        ]

    async def list_pool(self, address: str) -> tuple[str, ...]:
        """Return the payments to an address in algod's pool."""
        path = f"/v2/accounts/{address}/transactions/pending?format=json"
        answer = await _get_answer(self._algod, path)
        payments = self._read_payments(answer.get("top-transactions"))
        return tuple(tx_id for tx_id, receiver, is_usdc in payments if receiver == address and is_usdc)

    # The indexer.

    async def _search_indexer(
        self, address: str, after: int, last: int, *, is_usdc: bool = True
    ) -> tuple[list[Candidate], int]:
        """Return the indexer's payments and its newest round; if it fails midway, none of them count.

        Of other assets than USDC only a few pages are read, and what they list counts.
        """
        indexer = self._indexer
        assert indexer is not None  # noqa: S101 - asked only where there is one
        query: dict[str, str | int] = {
            "address-role": "receiver",
            **({"asset-id": self._asset} if is_usdc else {}),
            "tx-type": "axfer",
            "min-round": after + 1,
            "limit": _PAGE,
        }
        candidates: list[Candidate] = []
        last_known = last
        try:
            for _ in range(_PAGES if is_usdc else _STRAY_PAGES):
                page = await _get_answer(indexer, f"/v2/accounts/{address}/transactions?{urlencode(query)}")
                if "max-round" not in query:
                    # Pages are fixed to the rounds of the first page. Otherwise new rounds would shift the later pages.
                    last_known = min(last, _integer(page, "current-round"))
                    query["max-round"] = last_known
                candidates += [
                    Candidate(str(entry.get("id")), _integer(entry, "confirmed-round"))
                    for entry in _objects(page, "transactions")
                    if entry.get("note") and _integer(entry, "confirmed-round") <= last_known
                    if is_usdc or self._is_stray(entry)
                ]
                next_token = page.get("next-token")
                # An indexer may return a token with an empty last page; without this the search would not end.
                if not next_token or not page.get("transactions"):
                    return sorted(candidates, key=lambda entry: entry.position), max(after, last_known)
                query["next"] = str(next_token)
        # An indexer that fails midway has listed an unknown part of its pages, so none of them count.
        except ChainUnavailable:
            # The indexer is optional: algod continues alone from where the search began.
            return [], after
        if not is_usdc:
            return sorted(candidates, key=lambda entry: entry.position), last_known
        raise ChainUnavailable("the indexer has no end of pages")

    def _is_stray(self, transaction: Mapping[str, Any]) -> bool:
        """Return whether a transaction of the indexer moves something of another asset."""
        member = transaction.get("asset-transfer-transaction")
        transfer = member if isinstance(member, dict) else {}
        return transfer.get("asset-id") != self._asset and bool(transfer.get("amount"))

    # algod.

    async def _read_round(self, number: int) -> _Payments:
        """Return the payments of a round: ids and receivers."""
        # Searches for other addresses want the same rounds at the same time; the lock makes one of them read.
        async with self._reading:
            if number in self._rounds:
                return self._rounds[number][1]
            answer = await _get_answer(self._algod, f"/v2/blocks/{number}?format=json")
            block = answer.get("block")
            if not isinstance(block, dict) or _integer(block, "rnd") != number:
                raise ChainUnavailable("algod answered about another round")
            # Decoded once for all addresses: each round has the payments of every payout address.
            payments = self._read_payments(block.get("txns"), block)
            self._rounds[number] = _without_payments(block), payments
            if len(self._rounds) > _KEPT_ROUNDS:
                self._rounds.popitem(last=False)
            return payments

    def _read_payments(self, entries: Any, block: Mapping[str, Any] | None = None) -> _Payments:
        """Return the asset transfers with a note, among transactions in algod's short form.

        Of another asset, those that move something: an account that has not opted in can be sent nothing more.
        """
        payments = []
        for entry in _objects({"txns": entries}, "txns"):
            txn = entry.get("txn")
            transfer = txn if isinstance(txn, dict) and isinstance(txn.get("arcv"), str) else {}
            is_usdc = transfer.get("xaid") == self._asset
            if transfer.get("type") == "axfer" and transfer.get("note") and (is_usdc or transfer.get("aamt")):
                payments.append((_compute_id(transfer, entry, block), transfer["arcv"], is_usdc))
        return tuple(payments)

    async def _is_same_chain(self, last: int, header: _Header | None) -> bool:
        """Return whether the newest kept round is still on the chain; a header names its predecessor, so all are then.

        A node that was reset may have passed the kept rounds since, so its height says nothing.
        """
        if not self._rounds:
            return True
        newest = max(self._rounds)
        now = header if newest == last else await self._read_header(newest)
        return now == self._rounds[newest][0]

    async def _time_of(self, number: int) -> int | None:
        header = await self._read_header(number)
        return None if header is None else _integer(header, "ts")

    async def _read_header(self, number: int) -> _Header | None:
        """Return the header of a round, or None if algod does not have the round."""
        path = f"/v2/blocks/{number}?format=json&header-only=true"
        answer = await self._algod.get(path, absent=_NOT_FOUND)
        block = None if answer is None else answer.get("block")
        return _without_payments(block) if isinstance(block, dict) else None


def _without_payments(block: _Header) -> _Header:
    return {name: value for name, value in block.items() if name != "txns"}


def _compute_id(txn: Mapping[str, Any], entry: Mapping[str, Any], block: Mapping[str, Any] | None) -> str:
    """Return a transaction's id: the hash of its canonical bytes, with the genesis members that blocks omit."""
    members = {name: _decode_member(name, value) for name, value in txn.items()}
    if block is not None:
        # Blocks leave out the genesis hash that all their transactions share. The id is computed over the transaction
        # with it.
        members["gh"] = _decode_member("gh", block.get("gh"))
        if entry.get("hgi"):
            members["gen"] = block.get("gen")
    message = base64.b64decode(encoding.msgpack_encode(dict(sorted(members.items()))))
    return base64.b32encode(encoding.checksum(b"TX" + message)).decode().rstrip("=")


def _decode_member(name: str, value: Any) -> Any:
    try:
        if name in _ADDRESSES:
            return encoding.decode_address(value)
        return base64.b64decode(value, validate=True) if name in _BYTES else value
    except (binascii.Error, ValueError, TypeError, WrongChecksumError, WrongKeyLengthError) as fault:
        raise ChainUnavailable(f"algod's member {name} is not of its kind") from fault


async def _get_answer(node: Node, path: str) -> dict[str, Any]:
    answer = await node.get(path)
    if answer is None:
        raise ChainUnavailable("the node has no answer")
    return answer


def _objects(value: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    objects = value.get(name)
    if objects is None:
        return ()
    if not isinstance(objects, list) or not all(isinstance(one, dict) for one in objects):
        raise ChainUnavailable(f"member {name} is no list of objects")
    return objects


def _integer(value: Mapping[str, Any], name: str) -> int:
    """Return a member; the node leaves zeros out."""
    member = value.get(name, 0)
    if not isinstance(member, int) or isinstance(member, bool) or member < 0:
        raise ChainUnavailable(f"member {name} is no number")
    return member
