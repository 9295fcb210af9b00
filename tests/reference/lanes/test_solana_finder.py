"""Finding payments on Solana: no page and no lag of an index loses one (3.5)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from reference.lanes.json_rpc import JsonRpc
from reference.lanes.lane import ChainUnavailable
from reference.lanes.node import Node
from reference.lanes.payment_search import Candidate, Head
from reference.lanes.solana.finder import LAG_SLOTS, SolanaFinder
from reference.protocol.networks import NETWORKS
from reference.protocol.solana_transfers import associated_account
from tests.reference.lanes.json_rpc_node import SHAPES, UNSOUND, Refusal, RpcNode, serve_node

OWNER = "4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi"
ACCOUNT = associated_account(OWNER, NETWORKS["solana_devnet"].asset_id)


class Chain:
    """A node's signatures of one account, in pages, and its slots: every tenth has no block."""

    def __init__(self, node: RpcNode) -> None:
        self.listed: list[tuple[str, int, Any]] = []
        self.confirmed, self.final, self.first = 5_000, 4_968, 0
        node.results |= {
            "getSignaturesForAddress": self.signatures,
            "getSlot": lambda told: self.final if told["commitment"] == "finalized" else self.confirmed,
            "getBlockTime": self.time,
            "getFirstAvailableBlock": lambda: self.first,
        }

    def signatures(self, account: str, wanted_value: dict[str, Any]) -> Any:
        assert (account, wanted_value["commitment"]) == (ACCOUNT, "confirmed")
        newest_first = sorted(self.listed, key=lambda one: -one[1])
        names = [name for name, _, _ in newest_first]
        start = names.index(wanted_value["before"]) + 1 if "before" in wanted_value else 0
        page = newest_first[start : start + wanted_value["limit"]]
        return [{"signature": name, "slot": slot, "err": err} for name, slot, err in page]

    def time(self, slot: int) -> Any:
        known = self.first <= slot <= self.confirmed and slot % 10
        return 1_000_000 + slot if known else Refusal("slot was skipped", -32007)


@pytest.fixture
async def node() -> AsyncIterator[RpcNode]:
    async with serve_node(RpcNode()) as node:
        yield node


@pytest.fixture
def chain(node: RpcNode) -> Chain:
    return Chain(node)


@pytest.fixture
async def finder(node: RpcNode) -> AsyncIterator[SolanaFinder]:
    async with aiohttp.ClientSession() as session:
        yield SolanaFinder(NETWORKS["solana_devnet"], JsonRpc(Node(session, node.url, {})), "finalized")


async def test_the_head_tells_what_is_final(finder: SolanaFinder, chain: Chain) -> None:
    """The newest confirmed slot, the newest final one, and no time where that slot has no block."""
    assert await finder.read_head() == Head(5_000, 4_968, None)
    chain.confirmed = 5_001
    assert await finder.read_head() == Head(5_001, 4_968, 1_005_001)


async def test_signatures_are_found_oldest_first(finder: SolanaFinder, chain: Chain) -> None:
    """Every transaction after the position that did not fail is returned once."""
    chain.listed = [("a", 10, None), ("b", 11, {"InstructionError": []}), ("c", 12, None), ("d", 9, None)]
    search = await finder.find(OWNER, 9, await finder.read_head())
    assert search.candidates == (Candidate("a", 10), Candidate("c", 12))
    assert (search.searched_to, search.is_complete) == (4_968 - LAG_SLOTS, True)


async def test_a_page_limit_loses_nothing(finder: SolanaFinder, chain: Chain) -> None:
    """More than a page of transactions is read page by page, as far back as the position."""
    chain.listed = [(f"s{number}", number, None) for number in range(1, 2_501)]
    search = await finder.find(OWNER, 100, await finder.read_head())
    assert [one.position for one in search.candidates] == list(range(101, 2_501))


async def test_several_in_one_slot_survive_the_edge_of_a_page(finder: SolanaFinder, chain: Chain) -> None:
    """A slot that a page cuts in two is returned whole."""
    chain.listed = [(f"s{number}", 50, None) for number in range(1_500)]
    assert len((await finder.find(OWNER, 49, await finder.read_head())).candidates) == 1_500


async def test_an_index_that_lags_loses_nothing(finder: SolanaFinder, chain: Chain) -> None:
    """A signature of an older slot that shows up late is found all the same."""
    first = await finder.find(OWNER, 0, await finder.read_head())
    chain.listed = [("late", 4_900, None)]
    search = await finder.find(OWNER, first.searched_to, await finder.read_head())
    assert search.candidates == (Candidate("late", 4_900),)


async def test_a_search_begins_before_the_link_was_created(finder: SolanaFinder, chain: Chain) -> None:
    """Slots without a block lead nowhere wrong, and what the node has forgotten counts as older."""
    start = await finder.find_start(1_003_000, await finder.read_head())
    assert 2_860 <= start <= 2_880  # which has no block
    assert await finder.find_start(10**10, await finder.read_head()) == chain.confirmed - 50
    chain.first = 4_000
    assert await finder.find_start(1_003_000, await finder.read_head()) == 3_999


@pytest.mark.parametrize("name", [*UNSOUND, *SHAPES])
async def test_an_answer_that_is_none_is_no_answer(
    finder: SolanaFinder, node: RpcNode, chain: Chain, name: str
) -> None:
    """Whatever the node says instead of a list, the chain counts as unavailable."""
    document = {**UNSOUND, **SHAPES}[name]
    if document == []:
        return
    node.results["getSignaturesForAddress"] = document
    with pytest.raises(ChainUnavailable):
        await finder.find(OWNER, 0, Head(chain.confirmed, chain.final, None))


async def test_other_token_accounts_are_listed_a_few_of_them(finder: SolanaFinder, node: RpcNode) -> None:
    """Never the payment account, no failed or old transaction; a flood of accounts costs eight questions."""
    accounts_asked: list[str] = []

    def signatures(account: str, wanted_value: dict[str, Any]) -> Any:
        accounts_asked.append(account)
        assert wanted_value == {"limit": 100, "commitment": "confirmed"}
        listed: list[tuple[str, int, Any]] = [
            (f"{account}-new", 4_000, None),
            (f"{account}-failed", 3_999, {}),
            (f"{account}-old", 10, None),
        ]
        return [{"signature": name, "slot": slot, "err": err} for name, slot, err in listed]

    accounts = [ACCOUNT, *(f"a{number}" for number in range(20))]
    node.results["getSignaturesForAddress"] = signatures
    node.results["getTokenAccountsByOwner"] = lambda *_: {"value": [{"pubkey": one, "account": {}} for one in accounts]}
    search = await finder.find_strays(OWNER, 1_000, Head(5_000, 4_968, None))
    assert accounts_asked == [f"a{number}" for number in range(8)]
    assert [one.tx_id for one in search.candidates] == [f"a{number}-new" for number in range(8)]
    assert search.searched_to == 4_968 - LAG_SLOTS


@pytest.mark.parametrize("name", [*UNSOUND, *SHAPES])
@pytest.mark.parametrize("method", ["getTokenAccountsByOwner", "getSignaturesForAddress"])
async def test_an_answer_about_strays_that_is_none_is_no_answer(
    finder: SolanaFinder, node: RpcNode, method: str, name: str
) -> None:
    """Whatever the node says instead of accounts or signatures, the chain counts as unavailable."""
    document = {**UNSOUND, **SHAPES}[name]
    if document == []:
        return
    node.results["getTokenAccountsByOwner"] = {"value": [{"pubkey": "a"}]}
    node.results["getSignaturesForAddress"] = []
    node.results[method] = document
    with pytest.raises(ChainUnavailable):
        await finder.find_strays(OWNER, 0, Head(100, 98, None))
