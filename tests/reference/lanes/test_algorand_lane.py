"""What the Algorand lane makes of a node's answers: facts when they are sound, else nothing (fail closed)."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st

from reference.lanes.algorand import lane
from reference.lanes.algorand.lane import AlgorandLane
from reference.lanes.descriptor import LaneRules, NodeSettings
from reference.lanes.lane import ChainUnavailable
from reference.lanes.registry import open_lane
from reference.protocol.networks import NETWORKS
from reference.protocol.observed_transaction import ABSENT, ObservedTransaction, Transfer, TxStatus
from reference.protocol.service_word import ServiceWord

TX = "A" * 52
RULES = LaneRules(ServiceWord("Weldproof"))
NETWORK = NETWORKS["algorand_mainnet"]
NOTE = base64.b64encode(b"token").decode()
SHORT = {"type": "axfer", "xaid": 31566704, "snd": "PAYER", "arcv": "PAYEE", "aamt": 7, "note": NOTE}
PENDING = {"pool-error": "", "confirmed-round": 9, "txn": {"sig": "", "txn": SHORT}}
BLOCK = {"block": {"rnd": 9, "ts": 1_000}}
LONG = {
    "current-round": 20,
    "transaction": {
        "id": TX,
        "tx-type": "axfer",
        "sender": "PAYER",
        "note": NOTE,
        "confirmed-round": 9,
        "round-time": 1_000,
        "asset-transfer-transaction": {"asset-id": 31566704, "amount": 7, "receiver": "PAYEE", "close-amount": 0},
    },
}
SEEN = ObservedTransaction(
    TxStatus.CONFIRMED,
    final=True,
    block_time=1_000,
    sender="PAYER",
    note=b"token",
    transfers=(Transfer(0, "31566704", "PAYER", "PAYEE", 7),),
)
NOT_FOUND = {"message": "could not find the transaction"}


class Node:
    """A node that returns prepared answers, and records the calls."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, Any]] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.url = ""

    def say(self, path: str, body: Any, status: int = 200) -> None:
        """Answer `body` (JSON, or bytes as they are) at a path."""
        self.answers[path] = (status, body)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append((request.path_qs, request.headers.get("X-Algo-API-Token")))
        status, body = self.answers.get(request.path, (404, {"message": "Not Found"}))
        headers = {"Location": self.url + "/elsewhere"} if 300 <= status < 400 else None
        if isinstance(body, bytes):
            return web.Response(status=status, body=body, headers=headers)
        return web.json_response(body, status=status, headers=headers)


ALGOD, INDEXER = f"/v2/transactions/pending/{TX}", f"/v2/transactions/{TX}"


@pytest.fixture
async def lane_and_nodes() -> AsyncIterator[tuple[AlgorandLane, Node, Node]]:
    """A lane with an algod that knows a payment, and an indexer that knows it too."""
    algod, indexer = Node(), Node()
    servers = []
    for node in (algod, indexer):
        app = web.Application()
        app.router.add_get("/{path:.*}", node.answer)
        servers.append(TestServer(app))
        await servers[-1].start_server()
        node.url = str(servers[-1].make_url("")).rstrip("/")
    algod.say(ALGOD, PENDING)
    algod.say("/v2/blocks/9", BLOCK)
    indexer.say(INDEXER, LONG)
    async with aiohttp.ClientSession() as session:
        lane = open_lane(session, NETWORK, NodeSettings(algod.url, indexer.url, "secret"), RULES)
        assert isinstance(lane, AlgorandLane)
        yield lane, algod, indexer
    for server in servers:
        await server.close()


async def test_a_confirmed_transfer_by_algod(lane_and_nodes: tuple[AlgorandLane, Node, Node]) -> None:
    """Algod's word and its block's time; the indexer is not asked, and the token goes along."""
    lane, algod, indexer = lane_and_nodes
    assert await lane.observe(TX) == SEEN
    assert indexer.asked == []
    assert {token for _, token in algod.asked} == {"secret"}


async def test_a_confirmed_transfer_by_the_indexer(lane_and_nodes: tuple[AlgorandLane, Node, Node]) -> None:
    """What algod has forgotten the indexer still knows, in other words."""
    lane, algod, _ = lane_and_nodes
    algod.say(ALGOD, NOT_FOUND, 404)
    assert await lane.observe(TX) == SEEN


async def test_unknown_to_both_is_absent(lane_and_nodes: tuple[AlgorandLane, Node, Node]) -> None:
    """Only when both say so in their own form."""
    lane, algod, indexer = lane_and_nodes
    algod.say(ALGOD, NOT_FOUND, 404)
    indexer.say(INDEXER, NOT_FOUND, 404)
    assert await lane.observe(TX) == ABSENT


@pytest.mark.parametrize(
    ("changes", "status"),
    [({"confirmed-round": 0}, TxStatus.PENDING), ({"confirmed-round": 0, "pool-error": "overspend"}, TxStatus.FAILED)],
)
async def test_what_is_not_in_a_block(
    lane_and_nodes: tuple[AlgorandLane, Node, Node], changes: dict[str, Any], status: TxStatus
) -> None:
    """Waiting in the pool, or thrown out of it: never final, and without a time."""
    lane, algod, _ = lane_and_nodes
    algod.say(ALGOD, PENDING | changes)
    transaction = await lane.observe(TX)
    assert (transaction.status, transaction.final, transaction.block_time) == (status, False, 0)


async def test_members_that_are_zero_may_be_left_out(lane_and_nodes: tuple[AlgorandLane, Node, Node]) -> None:
    """The node leaves out an amount of zero, an empty note and its round before it is in a block."""
    lane, algod, _ = lane_and_nodes
    bare = {name: value for name, value in SHORT.items() if name not in {"aamt", "note"}}
    algod.say(ALGOD, {"pool-error": "", "txn": {"txn": bare}})
    transaction = await lane.observe(TX)
    assert (transaction.status, transaction.note, transaction.transfers[0].value) == (TxStatus.PENDING, b"", 0)


@pytest.mark.parametrize("long", [False, True])
async def test_a_clawback_is_told(lane_and_nodes: tuple[AlgorandLane, Node, Node], long: bool) -> None:
    """Moved by another hand, in both forms; who lost it is the sender of the transfer."""
    lane, algod, indexer = lane_and_nodes
    algod.say(ALGOD, PENDING | {"txn": {"txn": SHORT | {"asnd": "VICTIM"}}})
    if long:
        algod.say(ALGOD, NOT_FOUND, 404)
        clawback = LONG["transaction"]["asset-transfer-transaction"] | {"sender": "VICTIM"}  # type: ignore[index]
        indexer.say(INDEXER, {"transaction": LONG["transaction"] | {"asset-transfer-transaction": clawback}})  # type: ignore[operator]
    [transfer] = (await lane.observe(TX)).transfers
    assert (transfer.clawback, transfer.sender) == (True, "VICTIM")


async def test_what_is_no_transfer_has_none(lane_and_nodes: tuple[AlgorandLane, Node, Node]) -> None:
    """A payment in the native coin shows no asset transfer; a close-out adds nothing to the amount."""
    lane, algod, _ = lane_and_nodes
    algod.say(ALGOD, PENDING | {"txn": {"txn": {"type": "pay", "snd": "PAYER", "rcv": "PAYEE", "amt": 7}}})
    assert (await lane.observe(TX)).transfers == ()
    close_out = PENDING | {"asset-closing-amount": 500, "txn": {"txn": SHORT | {"aclose": "PAYEE"}}}
    algod.say(ALGOD, close_out)
    assert (await lane.observe(TX)).transfers[0].value == 7


UNSOUND: dict[str, tuple[int, Any]] = {
    "no JSON": (200, b"<html>"),
    "nothing": (200, b""),
    "not UTF-8": (200, b"\xff\xfe"),
    "an array": (200, []),
    "null": (200, None),
    "an empty object": (200, {}),
    "no transaction": (200, {"txn": {}}),
    "a text for a transaction": (200, {"txn": {"txn": "x"}}),
    "a text for a round": (200, PENDING | {"confirmed-round": "9"}),
    "true for a round": (200, PENDING | {"confirmed-round": True}),
    "a text for an amount": (200, PENDING | {"txn": {"txn": SHORT | {"aamt": "7"}}}),
    "a fraction for an amount": (200, PENDING | {"txn": {"txn": SHORT | {"aamt": 7.0}}}),
    "a number for a receiver": (200, PENDING | {"txn": {"txn": SHORT | {"arcv": 7}}}),
    "a note that is no base64": (200, PENDING | {"txn": {"txn": SHORT | {"note": "%"}}}),
    "a note that is a number": (200, PENDING | {"txn": {"txn": SHORT | {"note": 7}}}),
    "too deep": (200, b"[" * 100_000),
    "unauthorised": (401, {"message": "Invalid API Token"}),
    "an error": (500, {"message": "internal"}),
    "a proxy's 404": (404, b"not found"),
    "a 404 of another form": (404, {"error": "no route"}),
    "a redirect": (302, PENDING),
    "created": (201, PENDING),
}


@pytest.mark.parametrize(("status", "body"), UNSOUND.values(), ids=UNSOUND.keys())
async def test_an_unsound_answer_is_no_answer(
    lane_and_nodes: tuple[AlgorandLane, Node, Node], status: int, body: Any
) -> None:
    """The chain counts as away; the indexer is not asked to make up for it."""
    lane, algod, indexer = lane_and_nodes
    algod.say(ALGOD, body, status)
    with pytest.raises(ChainUnavailable):
        await lane.observe(TX)
    assert indexer.asked == []


@pytest.mark.parametrize(
    "block", [(200, {}), (200, {"block": []}), (200, {"block": {"ts": "1"}}), (404, {"message": "no"}), (200, b"")]
)
async def test_a_block_without_a_time_is_no_answer(
    lane_and_nodes: tuple[AlgorandLane, Node, Node], block: tuple[int, Any]
) -> None:
    """Without the block's time it is unknown whether the payment is older than the challenge."""
    lane, algod, _ = lane_and_nodes
    algod.say("/v2/blocks/9", block[1], block[0])
    with pytest.raises(ChainUnavailable):
        await lane.observe(TX)


async def test_an_indexer_that_talks_of_another_transaction_is_no_answer(
    lane_and_nodes: tuple[AlgorandLane, Node, Node],
) -> None:
    """Its answer names the transaction; it must be the one that was asked for."""
    lane, algod, indexer = lane_and_nodes
    algod.say(ALGOD, NOT_FOUND, 404)
    indexer.say(INDEXER, {"transaction": LONG["transaction"] | {"id": "B" * 52}})  # type: ignore[operator]
    with pytest.raises(ChainUnavailable):
        await lane.observe(TX)


async def test_a_node_that_is_gone_is_no_answer() -> None:
    """No process listens there."""
    async with aiohttp.ClientSession() as session:
        lane = open_lane(session, NETWORK, NodeSettings("http://127.0.0.1:1"), RULES)
        assert lane is not None
        with pytest.raises(ChainUnavailable):
            await lane.observe(TX)


@pytest.mark.parametrize(
    ("genesis", "expected_value"),
    [
        ("wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=", True),
        ("SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=", False),
    ],
)
async def test_the_node_s_network_is_checked(
    lane_and_nodes: tuple[AlgorandLane, Node, Node], genesis: str, expected_value: bool
) -> None:
    """P-NW-06: the genesis hash begins with the network's CAIP-2 reference, or it is another network."""
    lane, algod, _ = lane_and_nodes
    algod.say("/v2/transactions/params", {"genesis-hash": genesis})
    assert await lane.check_node() is expected_value


@pytest.mark.parametrize(
    ("text", "expected_value"),
    [
        ("7777777777777777777777777777777777777777777777777774MSJUVU", True),
        ("7777777777777777777777777777777777777777777777777774MSJUVV", False),
        ("7777777777777777777777777777777777777777777777777774msjuvu", False),
        ("777777777777777777777777777777777777777777777777777", False),
        ("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", False),
        ("", False),
    ],
)
async def test_an_address_has_a_checksum(
    lane_and_nodes: tuple[AlgorandLane, Node, Node], text: str, expected_value: bool
) -> None:
    """A mistyped payee is noticed before a payment."""
    assert lane_and_nodes[0].is_address(text) is expected_value


def test_a_family_without_a_file_has_no_lane() -> None:
    """The lane table says what is served; the rest is not offered."""
    assert open_lane(None, NETWORKS["hedera_mainnet"], NodeSettings("http://x"), RULES) is None  # type: ignore[arg-type]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*SHORT, "txn"]), inner, max_size=6),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*SHORT, "asnd"]), JSON, max_size=8))
def test_no_shape_of_a_transaction_is_a_crash(transaction: dict[str, Any]) -> None:
    """Whatever stands in a transaction, the outcome is facts of the right types or `ChainUnavailable`."""
    try:
        observed_tx = lane._read_short_form(TxStatus.CONFIRMED, 1, transaction)
    except ChainUnavailable:
        return
    assert isinstance(observed_tx.note, bytes)
    assert isinstance(observed_tx.sender, str)
    for transfer in observed_tx.transfers:
        assert isinstance(transfer.value, int)
        assert transfer.asset.removeprefix("-").isdecimal()
        assert isinstance(transfer.receiver, str)
