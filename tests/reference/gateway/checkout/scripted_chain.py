"""A chain that a test writes: what happened in which block, what is final, and whether the node answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from reference.lanes.lane import ChainUnavailable, Lane, LaneFacts
from reference.lanes.payment_search import Candidate, Head, SearchResult
from reference.protocol.eip3009 import nonce_of
from reference.protocol.networks import NETWORKS
from reference.protocol.observed_transaction import ABSENT, AuthorizationUsed, ObservedTransaction, Transfer, TxStatus
from reference.protocol.solana_transfers import associated_account
from tests.reference.gateway.gateway_stack import PAYOUTS

AMOUNT = 8_410_000
PAYER = {"algorand": "PAYER", "base": "0x" + "2" * 40, "solana": "9HpamAXHxUgoepffkFnhSjmGsf6yqacwUtcsNzSyLyzn"}


@dataclass(frozen=True, slots=True)
class Placed:
    """A transaction in its block."""

    position: int
    seen: ObservedTransaction


@dataclass
class ScriptedChain:
    """One network.

    Attributes:
        network: Its key.
        now: Time of its newest block.
        confirmations: Blocks until one is final.
        away: Whether its node answers nothing.
        deaf: Transactions that searches know and nothing else does.
        unreadable: Transactions that the node cannot tell of.
        hidden: Transactions that searches do not know.
        lists_pool: Whether its node lists what waits for a block.
        reach: How many blocks one search covers.
        asked: How many questions it was asked.
        meanwhile: What happens while its node looks for its head.
    """

    network: str
    now: int = 0
    confirmations: int = 1
    away: bool = False
    deaf: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    pool: dict[str, ObservedTransaction] = field(default_factory=dict)
    placed: dict[str, Placed] = field(default_factory=dict)
    position: int = 100
    lists_pool: bool = True
    reach: int = 10**9
    started: list[int] = field(default_factory=list)
    asked: int = 0
    meanwhile: Callable[[], None] = lambda: None

    @property
    def lane(self) -> Lane:
        """The chain as the gateway knows it."""
        return cast("Lane", ScriptedLane(self))

    @property
    def kind(self) -> str:
        """Which chain it is: algorand, base or solana."""
        return self.network.partition("_")[0]

    def tx_id(self, number: int) -> str:
        """Return the canonical id of the `number`-th transaction."""
        if self.kind == "algorand":
            return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number] + "A" * 51
        if self.kind == "base":
            return f"0x{number:064x}"
        return "1" * 63 + "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"[number]

    def transfer(self, memos: tuple[str, ...], *values: int, **members: Any) -> ObservedTransaction:
        """Return a transaction of this chain with transfers to the payout address, each bound to the memos."""
        payout, payer = PAYOUTS[self.network], PAYER[self.kind]
        asset = NETWORKS[self.network].asset_id
        receiver = associated_account(payout, asset) if self.kind == "solana" else payout.lower()
        receiver = payout if self.kind == "algorand" else receiver
        transfers = tuple(
            Transfer(1 + 2 * place, asset.lower() if self.kind == "base" else asset, payer, receiver, value)
            for place, value in enumerate(values or (AMOUNT,))
        )
        transaction = ObservedTransaction(
            TxStatus.CONFIRMED, final=True, block_time=self.now, sender=payer, transfers=transfers
        )
        if self.kind == "algorand":
            transaction = replace(transaction, note=memos[0].encode() if memos else b"")
        elif self.kind == "solana":
            transaction = replace(transaction, memos=tuple(memo.encode() for memo in memos))
        else:
            uses = tuple(AuthorizationUsed(2 * n, asset.lower(), payer, nonce_of(memo)) for n, memo in enumerate(memos))
            transaction = replace(transaction, authorizations_used=uses)
        return replace(transaction, **members)

    def mine(self, number: int | None = None, seen: ObservedTransaction | None = None) -> str:
        """Put a transaction, or nothing, into a new block and return its id."""
        self.position += 1
        if number is None or seen is None:
            return ""
        self.placed[self.tx_id(number)] = Placed(self.position, seen)
        return self.tx_id(number)

    def pay(self, number: int, *memos: str, values: tuple[int, ...] = (AMOUNT,), **members: Any) -> str:
        """Mine a payment."""
        return self.mine(number, self.transfer(memos, *values, **members))

    def undo(self, tx_id: str) -> None:
        """Take a transaction back, as a reorganisation does."""
        del self.placed[tx_id]

    @property
    def final(self) -> int:
        """Its newest final block."""
        return self.position - self.confirmations + 1


class ScriptedLane:
    """The lane and the finder of a scripted chain."""

    def __init__(self, chain: ScriptedChain) -> None:
        self.chain = chain
        self.facts = LaneFacts(NETWORKS[chain.network], "", "", "USDC")
        self.finder = self

    def _ask(self) -> None:
        self.chain.asked += 1
        if self.chain.away:
            raise ChainUnavailable("away")

    def is_address(self, text: str) -> bool:
        return text in PAYOUTS.values()

    def build_live_members(self, token: str) -> Mapping[str, str]:
        del token
        return {}

    async def check_node(self) -> bool:
        return True

    async def observe(self, tx_id: str) -> ObservedTransaction:
        self._ask()
        if tx_id in self.chain.unreadable:
            raise ChainUnavailable("the node cannot tell of it")
        if tx_id in self.chain.pool:
            return replace(self.chain.pool[tx_id], status=TxStatus.PENDING, final=False, block_time=0)
        placement = self.chain.placed.get(tx_id)
        if placement is None or tx_id in self.chain.deaf:
            return ABSENT
        return replace(placement.seen, final=placement.position <= self.chain.final and placement.seen.final)

    async def read_head(self) -> Head:
        self._ask()
        self.chain.meanwhile()
        return Head(self.chain.position, self.chain.final, self.chain.now)

    async def find_start(self, since: int, head: Head) -> int:
        self._ask()
        self.chain.started.append(since)
        return max(0, head.position - 50)

    async def find(self, address: str, after: int, head: Head) -> SearchResult:
        self._ask()
        last = min(head.position, after + self.chain.reach)
        candidates = tuple(
            Candidate(tx_id, one.position)
            for tx_id, one in sorted(self.chain.placed.items(), key=lambda item: item[1].position)
            if after < one.position <= last
            and tx_id not in self.chain.hidden
            and address == PAYOUTS[self.chain.network]
            and self._moves_usdc(one.seen)
        )
        return SearchResult(candidates, min(last, head.final), last == head.position)

    def _moves_usdc(self, seen: ObservedTransaction) -> bool:
        asset = NETWORKS[self.chain.network].asset_id.lower()
        return any(one.asset.lower() in {"", asset} for one in seen.transfers)

    async def find_strays(self, address: str, after: int, head: Head) -> SearchResult:
        self._ask()
        told = tuple(
            Candidate(tx_id, one.position)
            for tx_id, one in self.chain.placed.items()
            if one.position > after and address == PAYOUTS[self.chain.network] and not self._moves_usdc(one.seen)
        )
        return SearchResult(told, head.final, is_complete=True)

    async def list_pool(self, address: str) -> tuple[str, ...]:
        self._ask()
        listed = self.chain.lists_pool and address == PAYOUTS[self.chain.network]
        return tuple(self.chain.pool) if listed else ()
