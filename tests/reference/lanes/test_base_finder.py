"""Finding payments on Base: no limit of a node and no lag of its index loses one (3.5)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from reference.lanes.base.finder import LAG_BLOCKS, BaseFinder
from reference.lanes.json_rpc import JsonRpc
from reference.lanes.lane import ChainUnavailable
from reference.lanes.node import Node
from reference.lanes.payment_search import Candidate, Head
from reference.protocol.networks import NETWORKS
from tests.reference.lanes.json_rpc_node import SHAPES, UNSOUND, Refusal, RpcNode, serve_node

ADDRESS = "0x00000000000000000000000000000000000000Aa"
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
USDC = NETWORKS["base_sepolia"].asset_id.lower()


class Chain:
    """A node's events, by block, with a limit on the range of a search and on its events."""

    def __init__(self, node: RpcNode) -> None:
        self.paid: dict[int, int] = {}
        self.most_blocks = 10**9
        self.most_events = 10**9
        self.searches: list[tuple[int, int]] = []
        node.results |= {"eth_getLogs": self.logs, "eth_getBlockByNumber": self.block}
        self.head = 20_000

    def logs(self, wanted_value: dict[str, Any]) -> Any:
        first, last = int(wanted_value["fromBlock"], 16), int(wanted_value["toBlock"], 16)
        assert wanted_value["address"] == USDC
        assert wanted_value["topics"] == [TRANSFER, None, "0x" + "0" * 62 + "aa"]
        match = [one for one in self.paid if first <= one <= last]
        if last - first + 1 > self.most_blocks or len(match) > self.most_events:
            return Refusal("query exceeds max results")
        self.searches.append((first, last))
        return [event(one, self.paid[one]) for one in sorted(match)]

    def block(self, tag: str, full: bool) -> Any:
        assert full is False
        number = self.head if tag == "latest" else int(tag, 16)
        return None if number > self.head else {"number": hex(number), "timestamp": hex(1_000_000 + 2 * number)}


def tx_id(block: int) -> str:
    return "0x" + f"{block:064x}"


def event(block: int, value: int) -> dict[str, Any]:
    return {
        "transactionHash": tx_id(block).upper().replace("X", "x"),
        "blockNumber": hex(block),
        "data": f"0x{value:064x}",
    }


@pytest.fixture
async def node() -> AsyncIterator[RpcNode]:
    async with serve_node(RpcNode()) as node:
        yield node


@pytest.fixture
def chain(node: RpcNode) -> Chain:
    return Chain(node)


@pytest.fixture
async def finder(node: RpcNode) -> AsyncIterator[BaseFinder]:
    async with aiohttp.ClientSession() as session:
        yield BaseFinder(NETWORKS["base_sepolia"], JsonRpc(Node(session, node.url, {})), 3)


async def test_the_head_tells_what_is_final(finder: BaseFinder, chain: Chain) -> None:
    """With three confirmations the last two blocks are not final."""
    chain.head = 100
    assert await finder.read_head() == Head(100, 98, 1_000_200)


async def test_transfers_to_the_address_are_found_oldest_first(finder: BaseFinder, chain: Chain) -> None:
    """Every transfer after the position is returned, with its block; transfers of zero are no payments."""
    chain.paid = {500: 7, 501: 0, 19_999: 1, 20_000: 2, 400: 9}
    search = await finder.find(ADDRESS, 400, await finder.read_head())
    assert search.candidates == tuple(Candidate(tx_id(one), one) for one in (500, 19_999, 20_000))
    assert search.is_complete
    assert search.searched_to == 20_000 - 2 - LAG_BLOCKS


@pytest.mark.parametrize(("most_blocks", "most_events"), [(700, 10**9), (10, 10**9), (1, 10**9), (10**9, 1)])
async def test_a_node_that_takes_little_at_once_loses_nothing(
    finder: BaseFinder, chain: Chain, most_blocks: int, most_events: int
) -> None:
    """A search that the node refuses as too large is made smaller, down to one block, and still reaches the head."""
    chain.head, chain.most_blocks, chain.most_events = 1_000, most_blocks, most_events
    chain.paid = {900: 1, 901: 1, 902: 1, 903: 1, 300: 1, 1_000: 1}
    position, candidates, complete = 0, set(), False
    while not complete:
        search_result = await finder.find(ADDRESS, position, await finder.read_head())
        assert search_result.is_complete or search_result.searched_to > position
        position, complete = search_result.searched_to, search_result.is_complete
        candidates |= {one.position for one in search_result.candidates}
    assert candidates == set(chain.paid)


async def test_a_block_with_more_events_than_the_node_tells_is_no_answer(finder: BaseFinder, chain: Chain) -> None:
    """What cannot be asked about in any part counts as unavailable, and never as searched."""
    chain.most_blocks = 0
    with pytest.raises(ChainUnavailable, match="exceed"):
        await finder.find(ADDRESS, 0, await finder.read_head())


async def test_a_long_way_is_gone_in_steps(finder: BaseFinder, chain: Chain) -> None:
    """A search that cannot reach the head in one go says so, and the next one goes on where it was."""
    chain.head, chain.paid = 200_000, {10: 1, 49_999: 1, 50_001: 1, 199_999: 1}
    position, candidates, rounds, complete = 0, set(), 0, False
    while not complete:
        search_result = await finder.find(ADDRESS, position, await finder.read_head())
        assert search_result.searched_to > position
        position, complete, rounds = search_result.searched_to, search_result.is_complete, rounds + 1
        candidates |= {one.position for one in search_result.candidates}
    assert candidates == set(chain.paid)
    assert rounds == 4


async def test_an_index_that_lags_loses_nothing(finder: BaseFinder, chain: Chain) -> None:
    """The newest blocks are searched again, so an event that shows up late is found all the same."""
    first = await finder.find(ADDRESS, 0, await finder.read_head())
    assert first.candidates == ()
    chain.paid, chain.head = {19_990: 5}, 20_200
    second = await finder.find(ADDRESS, first.searched_to, await finder.read_head())
    assert [one.position for one in second.candidates] == [19_990]


async def test_a_search_begins_before_the_link_was_created(finder: BaseFinder, chain: Chain) -> None:
    """Everything as young as the link, with some skew of clocks, lies after the start."""
    start = await finder.find_start(1_000_000 + 2 * 10_000, await finder.read_head())
    assert start == 10_000 - 60 - 1
    assert await finder.find_start(10**10, await finder.read_head()) == chain.head - 50
    assert await finder.find_start(0, await finder.read_head()) == 0


@pytest.mark.parametrize("name", [*UNSOUND, *SHAPES])
@pytest.mark.parametrize("method", ["eth_getLogs", "eth_getBlockByNumber"])
@pytest.mark.usefixtures("chain")
async def test_an_answer_that_is_none_is_no_answer(finder: BaseFinder, node: RpcNode, method: str, name: str) -> None:
    """Whatever the node says instead of an answer, the chain counts as unavailable, and nothing as searched."""
    document = {**UNSOUND, **SHAPES}[name]
    if (method, document) == ("eth_getLogs", []):
        return
    node.results[method] = document
    with pytest.raises(ChainUnavailable):
        await finder.find(ADDRESS, 0, await finder.read_head() if method != "eth_getLogs" else Head(100, 98, 1))


async def test_an_answer_that_is_too_long_is_asked_for_in_parts(
    finder: BaseFinder, chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strangers may send so many small transfers that the events of a range fill no answer: nothing is lost."""
    chain.head, chain.paid = 400, dict.fromkeys(range(100, 400), 1)
    monkeypatch.setattr("reference.lanes.node.MAX_ANSWER_BYTES", 10_000)
    search = await finder.find(ADDRESS, 0, await finder.read_head())
    assert [one.position for one in search.candidates] == list(range(100, 400))
    monkeypatch.setattr("reference.lanes.node.MAX_ANSWER_BYTES", 150)
    with pytest.raises(ChainUnavailable, match="too long"):
        await finder.find(ADDRESS, 200, Head(400, 398, 0))


async def test_other_assets_are_asked_for_once_and_bounded(finder: BaseFinder, node: RpcNode, chain: Chain) -> None:
    """One question without an address over the newest blocks; the asset's own events are payments, not strays."""
    questions: list[dict[str, Any]] = []

    def logs(wanted_value: dict[str, Any]) -> Any:
        questions.append(wanted_value)
        others = [{**event(one, 5), "address": "0x" + "9" * 40} for one in (19_000, 19_001)]
        nothing = {**event(19_002, 0), "address": "0x" + "9" * 40}
        return [*others, nothing, {**event(19_003, 5), "address": USDC.upper().replace("X", "x")}]

    node.results["eth_getLogs"] = logs
    search = await finder.find_strays(ADDRESS, 0, await finder.read_head())
    assert [one.tx_id for one in search.candidates] == [tx_id(19_000), tx_id(19_001)]
    ((wanted),) = questions
    assert "address" not in wanted
    assert (int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)) == (chain.head - 4_999, chain.head)
    assert search.searched_to == (await finder.read_head()).final - LAG_BLOCKS


async def test_a_node_that_refuses_the_wider_question_shows_no_strays(finder: BaseFinder, node: RpcNode) -> None:
    """It is asked no further, and nothing counts as searched."""
    questions: list[Any] = []

    def refuse(wanted_value: Any) -> Any:
        questions.append(wanted_value)
        return Refusal("query exceeds max results")

    node.results["eth_getLogs"] = refuse
    search = await finder.find_strays(ADDRESS, 7, Head(1_000, 998, 1))
    assert (search.candidates, search.searched_to, len(questions)) == ((), 7, 1)


@pytest.mark.parametrize("name", [*UNSOUND, *SHAPES])
async def test_an_answer_about_strays_that_is_none_is_no_answer(finder: BaseFinder, node: RpcNode, name: str) -> None:
    """Whatever the node says instead of events, the chain counts as unavailable; a refusal shows none."""
    document = {**UNSOUND, **SHAPES}[name]
    node.results["eth_getLogs"] = document
    if document == [] or name in {"the node's refusal", "a refusal with a text for a code"}:
        assert (await finder.find_strays(ADDRESS, 0, Head(100, 98, 1))).candidates == ()
        return
    with pytest.raises(ChainUnavailable):
        await finder.find_strays(ADDRESS, 0, Head(100, 98, 1))
