"""Finding payments on Algorand over a simulated chain: no lag and no page loses one (3.5)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
from algosdk import transaction

from reference.lanes.algorand import finder as algorand_finder
from reference.lanes.algorand.finder import AlgorandFinder
from reference.lanes.lane import ChainUnavailable
from reference.lanes.node import Node
from reference.lanes.payment_search import Candidate
from reference.protocol.networks import NETWORKS
from tests.reference.rail.rail_stack import USDC, Payer, SimulatedChain

MEMO = b"weldproof:AAECAwQFBgcICQoLDA0ODw"


@pytest.fixture(scope="module")
def chain() -> Iterator[SimulatedChain]:
    chain = SimulatedChain()
    yield chain
    chain.stop()


@pytest.fixture(autouse=True)
def calm(chain: SimulatedChain) -> None:
    chain.control("lag", blocks=0)


@pytest.fixture(scope="module")
def payer(chain: SimulatedChain) -> Payer:
    return Payer(chain)


@pytest.fixture(scope="module")
def payee(chain: SimulatedChain) -> str:
    address: str = Payer(chain, usdc=1).address
    return address


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def finder(session: aiohttp.ClientSession, chain: SimulatedChain) -> AlgorandFinder:
    return open_finder(session, chain)


def open_finder(session: aiohttp.ClientSession, chain: SimulatedChain, indexer: str | None = None) -> AlgorandFinder:
    """Return a finder that has seen nothing yet."""
    algod = Node(session, chain.algod, {"X-Algo-API-Token": chain.token})
    asked = Node(session, chain.indexer if indexer is None else indexer, {"X-Indexer-API-Token": chain.token})
    return AlgorandFinder(NETWORKS["algorand_mainnet"], algod, None if indexer == "" else asked)


async def candidates(finder: AlgorandFinder, payee: str, after: int) -> list[Candidate]:
    """Return everything that searches find until one reaches the head."""
    lines: list[Candidate] = []
    while True:
        search = await finder.find(payee, after, await finder.read_head())
        assert search.searched_to > after or search.is_complete
        lines += search.candidates
        if search.is_complete:
            return lines
        after = search.searched_to


async def all_found(finder: AlgorandFinder, payee: str, after: int) -> list[str]:
    """Return every id that searches find until one reaches the head."""
    return [one.tx_id for one in await candidates(finder, payee, after)]


async def test_ids_are_those_of_the_network(finder: AlgorandFinder, payer: Payer, payee: str) -> None:
    """A round names its transactions by no id: ours are what the SDK says, whatever the transaction holds."""
    head = await finder.read_head()
    params = payer.chain.client.suggested_params()
    plain = payer.transfer(receiver=payee, amount=5, note=MEMO)
    leased_transfer = transaction.AssetTransferTxn(payer.address, params, payee, 7, USDC, note=MEMO, lease=b"l" * 32)
    without_name = payer.chain.client.suggested_params()
    without_name.gen = None
    nameless = transaction.AssetTransferTxn(payer.address, without_name, payee, 2**40 % 999, USDC, note=b"\0" + MEMO)
    tx_ids = [plain, payer.send(leased_transfer), payer.send(nameless)]
    assert await all_found(finder, payee, head.position) == tx_ids


async def test_only_noted_transfers_of_the_asset_to_the_address_are_told(
    finder: AlgorandFinder, payer: Payer, payee: str
) -> None:
    """Coins, transfers without a note, and transfers to others are no payments."""
    head = await finder.read_head()
    params = payer.chain.client.suggested_params()
    payer.send(transaction.PaymentTxn(payer.address, params, payee, 1_000, note=MEMO))
    payer.transfer(receiver=payee, amount=5, note=b"")
    payer.transfer(receiver=payer.address, amount=5, note=MEMO)
    right = payer.transfer(receiver=payee, amount=1, note=MEMO)
    assert await all_found(finder, payee, head.position) == [right]
    payer.chain.control("advance", blocks=40)
    assert await all_found(finder, payee, head.position) == [right]


async def test_rounds_and_indexer_tell_the_same(
    session: aiohttp.ClientSession, chain: SimulatedChain, payer: Payer, payee: str
) -> None:
    """The newest rounds at algod and older ones at the indexer give the same transfers, with rounds."""
    after = (await open_finder(session, chain).read_head()).position
    ids = [payer.transfer(receiver=payee, amount=1, note=MEMO + bytes([number])) for number in range(3)]
    chain.control("advance", blocks=60)
    by_indexer = await candidates(open_finder(session, chain), payee, after)
    by_rounds = await candidates(open_finder(session, chain, ""), payee, after)
    assert [one.tx_id for one in by_indexer] == ids
    assert by_indexer == by_rounds


@pytest.mark.parametrize("lag", [1, 10, 100, 10_000])
async def test_an_indexer_that_lags_loses_nothing(
    session: aiohttp.ClientSession, chain: SimulatedChain, payer: Payer, payee: str, lag: int
) -> None:
    """However far behind the indexer is, the rounds that it does not know are read at algod."""
    after = (await open_finder(session, chain).read_head()).position
    chain.control("lag", blocks=lag)
    first = payer.transfer(receiver=payee, amount=1, note=MEMO)
    chain.control("advance", blocks=30)
    second = payer.transfer(receiver=payee, amount=2, note=MEMO)
    assert await all_found(open_finder(session, chain), payee, after) == [first, second]


async def test_a_page_limit_loses_nothing(
    session: aiohttp.ClientSession, chain: SimulatedChain, payer: Payer, payee: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than a page is read page by page."""
    monkeypatch.setattr(algorand_finder, "_PAGE", 2)
    after = (await open_finder(session, chain).read_head()).position
    params = chain.client.suggested_params()
    transfers = [
        transaction.AssetTransferTxn(payer.address, params, payee, 1, USDC, note=MEMO + bytes([n])) for n in range(7)
    ]
    tx_ids = {payer.send(one, wait=False) for one in transfers}
    transaction.wait_for_confirmation(chain.client, transfers[-1].get_txid(), 100)
    chain.control("advance", blocks=30)
    assert set(await all_found(open_finder(session, chain), payee, after)) == tx_ids


async def test_an_indexer_that_is_away_loses_nothing(
    session: aiohttp.ClientSession, chain: SimulatedChain, payer: Payer, payee: str
) -> None:
    """Without its indexer, algod is asked for every round."""
    after = (await open_finder(session, chain).read_head()).position
    chain.control("advance", blocks=30)
    tx_id = payer.transfer(receiver=payee, amount=1, note=MEMO)
    chain.control("advance", blocks=150)
    assert await all_found(open_finder(session, chain, "http://127.0.0.1:9"), payee, after) == [tx_id]


async def test_an_algod_that_is_away_is_no_answer(session: aiohttp.ClientSession, payee: str) -> None:
    """Without algod nothing counts as searched."""
    away = Node(session, "http://127.0.0.1:9", {})
    with pytest.raises(ChainUnavailable):
        await AlgorandFinder(NETWORKS["algorand_mainnet"], away, None).read_head()
    del payee


async def test_a_search_begins_before_the_link_was_created(finder: AlgorandFinder, chain: SimulatedChain) -> None:
    """Everything as young as the link, with some skew of clocks, lies after the start."""
    chain.control("advance", seconds=1_000)
    chain.control("advance", blocks=60)
    head = await finder.read_head()
    assert head.time is not None
    start = await finder.find_start(head.time, head)
    assert start <= head.position - 50
    times = [await finder._time_of(number) for number in (start, start + 1)]
    assert times[0] is not None
    assert times[0] < head.time - 120 or start == head.position - 50


async def test_what_waits_in_the_pool_is_told(
    finder: AlgorandFinder, chain: SimulatedChain, payer: Payer, payee: str
) -> None:
    """A payment that no round holds yet is named with the id that it will have."""
    assert await finder.list_pool(payee) == ()
    chain.control("fault", name="withhold", count=1, seed=1)
    tx_id = payer.transfer(receiver=payee, amount=1, note=MEMO, wait=False)
    assert await finder.list_pool(payee) == (tx_id,)
    chain.control("release")
    transaction.wait_for_confirmation(chain.client, tx_id, 100)
    assert await finder.list_pool(payee) == ()


@pytest.mark.parametrize("grown", [0, 11, 12, 40])
async def test_a_chain_that_went_back_is_read_anew(
    finder: AlgorandFinder, chain: SimulatedChain, payer: Payer, payee: str, grown: int
) -> None:
    """Rounds of another state of the chain are not remembered, however far it grew before the next search."""
    after = (
        await finder.read_head()
    ).position  # before the snapshot: a block made in between would not be searched again
    snapshot_id = chain.control("snapshot")["id"]
    removed_tx = payer.transfer(receiver=payee, amount=1, note=MEMO)
    chain.control("advance", blocks=12)
    assert await all_found(finder, payee, after) == [removed_tx]
    chain.control("restore", id=snapshot_id)
    later_tx = payer.transfer(receiver=payee, amount=2, note=MEMO)
    if grown:
        chain.control("advance", blocks=grown)
    assert await all_found(finder, payee, after) == [later_tx]


async def test_other_assets_are_told_apart_from_payments(
    session: aiohttp.ClientSession, chain: SimulatedChain, payer: Payer
) -> None:
    """What moves nothing, has no note or goes elsewhere is left out; rounds and indexer tell the same."""
    issuer = Payer(chain, usdc=1)
    asset = payer.create_asset()
    params = chain.client.suggested_params()
    issuer.send(transaction.AssetTransferTxn(issuer.address, params, issuer.address, 0, asset))
    after = (await open_finder(session, chain).read_head()).position
    payer.transfer(receiver=issuer.address, amount=1, note=MEMO)
    payer.transfer(receiver=issuer.address, amount=0, note=MEMO, asset=asset)
    payer.transfer(receiver=issuer.address, amount=1, note=b"", asset=asset)
    payer.transfer(receiver=payer.address, amount=1, note=MEMO, asset=asset)
    stray = payer.transfer(receiver=issuer.address, amount=3, note=MEMO, asset=asset)
    for blocks in (0, algorand_finder._ROUNDS_A_SEARCH + 20):
        chain.control("advance", blocks=blocks)
        finder = open_finder(session, chain)
        search = await finder.find_strays(issuer.address, after, await finder.read_head())
        assert [one.tx_id for one in search.candidates] == [stray]
        assert stray not in await all_found(open_finder(session, chain), issuer.address, after)
