"""Finding payments on Algorand: the newest rounds at algod, older ones at the indexer (3.5).

An indexer lags, and an algod may have forgotten old rounds; so each is asked for what it surely has. A search that the
indexer could not finish goes on where the indexer was, and never behind it.
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

from reference.lanes.finding import BLOCK_SKEW_SECONDS, LEAST_LOOK_BACK, Candidate, Found, Head, last_before
from reference.lanes.lane import ChainUnavailable
from reference.lanes.node import Node
from reference.protocol.networks import Network

_NOT_FOUND = 404
# So many rounds are read at algod, one by one; more are left to the indexer, as far as it goes.
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

    async def head(self) -> Head:
        """Return algod's last round; a round is final."""
        status = await _given(self._algod, "/v2/status")
        last = _integer(status, "last-round")
        header = await self._header(last)
        if not await self._same_chain(last, header):
            self._rounds.clear()
        return Head(last, last, None if header is None else _integer(header, "ts"))

    async def start(self, since: int, head: Head) -> int:
        """Search backwards by the times of blocks."""
        older = await last_before(since - BLOCK_SKEW_SECONDS, head.position, self._time_of)
        return max(0, min(older, head.position - LEAST_LOOK_BACK))

    async def find(self, address: str, after: int, head: Head) -> Found:
        """Read what is between `after` and the head."""
        found: list[Candidate] = []
        reached = after
        if head.position - after > _ROUNDS_AT_ALGOD and self._indexer is not None:
            listed, reached = await self._search(address, after, head.position)
            found += listed
        last = min(head.position, reached + _ROUNDS_A_SEARCH)
        for number in range(reached + 1, last + 1):
            found += await self._in_round(number, address, is_usdc=True)
        return Found(tuple(found), max(reached, last), last >= head.position)

    async def strays(self, address: str, after: int, head: Head) -> Found:
        """Read the newest rounds again, which `find` has kept; those before them are listed by the indexer."""
        kept = max(after, head.position - _ROUNDS_A_SEARCH)
        found: list[Candidate] = []
        if kept > after and self._indexer is not None:
            found, _ = await self._search(address, after, kept, is_usdc=False)
        for number in range(kept + 1, head.position + 1):
            found += await self._in_round(number, address, is_usdc=False)
        return Found(tuple(found), head.position, complete=True)

    async def _in_round(self, number: int, address: str, *, is_usdc: bool) -> list[Candidate]:
        return [
            Candidate(tx_id, number)
            for tx_id, receiver, moves_usdc in await self._round(number)
            if receiver == address and moves_usdc is is_usdc
        ]

    async def waiting(self, address: str) -> tuple[str, ...]:
        """Return what algod's pool holds for an address."""
        path = f"/v2/accounts/{address}/transactions/pending?format=json"
        told = await _given(self._algod, path)
        waiting = self._payments(told.get("top-transactions"))
        return tuple(tx_id for tx_id, receiver, is_usdc in waiting if receiver == address and is_usdc)

    # The indexer.

    async def _search(
        self, address: str, after: int, last: int, *, is_usdc: bool = True
    ) -> tuple[list[Candidate], int]:
        """Return what the indexer lists, and how far it knows its chain; nothing of it counts if it fails midway.

        Of other assets than USDC a few pages are read, and what they list counts.
        """
        indexer = self._indexer
        assert indexer is not None  # noqa: S101 - asked only where there is one
        wanted: dict[str, str | int] = {
            "address-role": "receiver",
            **({"asset-id": self._asset} if is_usdc else {}),
            "tx-type": "axfer",
            "min-round": after + 1,
            "limit": _PAGE,
        }
        found: list[Candidate] = []
        known = last
        try:
            for _ in range(_PAGES if is_usdc else _STRAY_PAGES):
                page = await _given(indexer, f"/v2/accounts/{address}/transactions?{urlencode(wanted)}")
                if "max-round" not in wanted:
                    # Pages are pinned to what the indexer knew at first: else new rounds would push others over.
                    known = min(last, _integer(page, "current-round"))
                    wanted["max-round"] = known
                found += [
                    Candidate(str(one.get("id")), _integer(one, "confirmed-round"))
                    for one in _objects(page, "transactions")
                    if one.get("note") and _integer(one, "confirmed-round") <= known
                    if is_usdc or self._is_stray(one)
                ]
                following = page.get("next-token")
                if not following or not page.get("transactions"):
                    return sorted(found, key=lambda one: one.position), max(after, known)
                wanted["next"] = str(following)
        except ChainUnavailable:
            return [], after  # algod goes on alone
        if not is_usdc:
            return sorted(found, key=lambda one: one.position), known
        raise ChainUnavailable("the indexer has no end of pages")

    def _is_stray(self, listed: Mapping[str, Any]) -> bool:
        """Return whether a transaction of the indexer moves something of another asset."""
        moved = listed.get("asset-transfer-transaction")
        told = moved if isinstance(moved, dict) else {}
        return told.get("asset-id") != self._asset and bool(told.get("amount"))

    # algod.

    async def _round(self, number: int) -> _Payments:
        """Return the payments of a round: ids and receivers."""
        async with self._reading:  # who searches another address meanwhile wants the same rounds
            if number in self._rounds:
                return self._rounds[number][1]
            answer = await _given(self._algod, f"/v2/blocks/{number}?format=json")
            block = answer.get("block")
            if not isinstance(block, dict) or _integer(block, "rnd") != number:
                raise ChainUnavailable("algod answered about another round")
            payments = self._payments(block.get("txns"), block)
            self._rounds[number] = _without_payments(block), payments
            if len(self._rounds) > _KEPT_ROUNDS:
                self._rounds.popitem(last=False)
            return payments

    def _payments(self, signed: Any, block: Mapping[str, Any] | None = None) -> _Payments:
        """Return the asset transfers with a note, among transactions in algod's short form.

        Of another asset, those that move something: an account that has not opted in can be sent nothing more.
        """
        found = []
        for one in _objects({"txns": signed}, "txns"):
            txn = one.get("txn")
            told = txn if isinstance(txn, dict) and isinstance(txn.get("arcv"), str) else {}
            is_usdc = told.get("xaid") == self._asset
            if told.get("type") == "axfer" and told.get("note") and (is_usdc or told.get("aamt")):
                found.append((_id_of(told, one, block), told["arcv"], is_usdc))
        return tuple(found)

    async def _same_chain(self, last: int, header: _Header | None) -> bool:
        """Tell whether the newest round kept is still the chain's; a header names the one before it, so all are then.

        A node that was set back may have grown past what is kept before it is asked again: its height says nothing.
        """
        if not self._rounds:
            return True
        newest = max(self._rounds)
        now = header if newest == last else await self._header(newest)
        return now == self._rounds[newest][0]

    async def _time_of(self, number: int) -> int | None:
        header = await self._header(number)
        return None if header is None else _integer(header, "ts")

    async def _header(self, number: int) -> _Header | None:
        """Return the header of a round; None where algod has no such round."""
        path = f"/v2/blocks/{number}?format=json&header-only=true"
        answer = await self._algod.get(path, absent=_NOT_FOUND)
        block = None if answer is None else answer.get("block")
        return _without_payments(block) if isinstance(block, dict) else None


def _without_payments(block: _Header) -> _Header:
    return {name: value for name, value in block.items() if name != "txns"}


def _id_of(txn: Mapping[str, Any], signed: Mapping[str, Any], block: Mapping[str, Any] | None) -> str:
    """Return a transaction's id: the hash of its canonical bytes, with the genesis that its block leaves out."""
    members = {name: _raw(name, value) for name, value in txn.items()}
    if block is not None:
        members["gh"] = _raw("gh", block.get("gh"))
        if signed.get("hgi"):
            members["gen"] = block.get("gen")
    packed = base64.b64decode(encoding.msgpack_encode(dict(sorted(members.items()))))
    return base64.b32encode(encoding.checksum(b"TX" + packed)).decode().rstrip("=")


def _raw(name: str, value: Any) -> Any:
    try:
        if name in _ADDRESSES:
            return encoding.decode_address(value)
        return base64.b64decode(value, validate=True) if name in _BYTES else value
    except (binascii.Error, ValueError, TypeError, WrongChecksumError, WrongKeyLengthError) as fault:
        raise ChainUnavailable(f"algod's member {name} is not of its kind") from fault


async def _given(node: Node, path: str) -> dict[str, Any]:
    answer = await node.get(path)
    if answer is None:
        raise ChainUnavailable("the node has no answer")
    return answer


def _objects(value: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    found = value.get(name)
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ChainUnavailable(f"member {name} is no list of objects")
    return found


def _integer(value: Mapping[str, Any], name: str) -> int:
    """Return a member; the node leaves zeros out."""
    member = value.get(name, 0)
    if not isinstance(member, int) or isinstance(member, bool) or member < 0:
        raise ChainUnavailable(f"member {name} is no number")
    return member
