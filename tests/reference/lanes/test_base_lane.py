"""What the Base lane makes of a node's answers: facts when they are sound, else nothing (fail closed)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from eth_utils.crypto import keccak
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference.lanes.base import lane
from reference.lanes.base.block_pace import Pace
from reference.lanes.base.lane import BaseLane
from reference.lanes.descriptor import LaneRules, NodeSettings
from reference.lanes.json_rpc import JsonRpc
from reference.lanes.lane import ChainUnavailable, Fees, Outlook, Use
from reference.lanes.registry import open_lane
from reference.protocol.eip3009 import Authorization
from reference.protocol.networks import NETWORKS
from reference.protocol.observed_transaction import ABSENT, AuthorizationUsed, ObservedTransaction, Transfer, TxStatus
from reference.protocol.service_word import ServiceWord
from tests.reference.lanes.json_rpc_node import SHAPES, UNSOUND, Refusal, RpcNode, Whole, serve_node

NETWORK = NETWORKS["base_mainnet"]
USDC = NETWORK.asset_id.lower()
TX, BLOCK = "0x" + "ab" * 32, "0x" + "cd" * 32
PAYER, PAYEE, STRANGER = ("0x" + digit * 40 for digit in "123")
NONCE = "0x" + "ef" * 32
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
CANCELED = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81"
AUTHORIZATION = Authorization(PAYER, PAYEE, 7, 0, 2**40, NONCE, "0x" + "11" * 64 + "1b")


def word(address: str) -> str:
    return "0x" + address[2:].rjust(64, "0")


def log(*topics: str, data: str = "0x", address: str = NETWORK.asset_id) -> dict[str, Any]:
    return {"address": address, "topics": list(topics), "data": data}


USE_LOG = log(USED, word(PAYER), NONCE)
TRANSFER_LOG = log(TRANSFER, word(PAYER), word(PAYEE), data="0x" + "7".rjust(64, "0"))
RECEIPT = {
    "transactionHash": TX,
    "blockNumber": "0x9",
    "blockHash": BLOCK,
    "status": "0x1",
    "from": STRANGER.upper().replace("X", "x"),
    "logs": [USE_LOG, TRANSFER_LOG],
}
MINED = {"number": "0x9", "hash": BLOCK, "timestamp": "0x3e8", "baseFeePerGas": "0x64"}
SEEN = ObservedTransaction(
    TxStatus.CONFIRMED,
    final=True,
    block_time=1_000,
    sender=STRANGER,
    transfers=(Transfer(1, USDC, PAYER, PAYEE, 7),),
    authorizations_used=(AuthorizationUsed(0, USDC, PAYER, NONCE),),
)
SOUND: dict[str, Any] = {
    "eth_chainId": "0x2105",
    "eth_getTransactionReceipt": RECEIPT,
    "eth_getTransactionByHash": {"hash": TX},
    "eth_getBlockByNumber": MINED,
    "eth_blockNumber": "0xb",
    "eth_call": "0x" + "0" * 64,
    "eth_getLogs": [],
    "eth_getTransactionCount": "0x5",
    "eth_getBalance": "0x10",
    "eth_maxPriorityFeePerGas": "0x3",
    "eth_sendRawTransaction": TX,
}


@pytest.fixture
async def lane_and_node() -> AsyncIterator[tuple[BaseLane, RpcNode]]:
    """A lane, and a node that knows a settlement."""
    async with serve_node(RpcNode()) as node, aiohttp.ClientSession() as session:
        node.results = dict(SOUND)
        lane = open_lane(session, NETWORK, NodeSettings(node.url), LaneRules(ServiceWord("Weldproof")))
        assert isinstance(lane, BaseLane)
        yield lane, node


# Looking.


async def test_a_settlement_is_told_with_its_events(lane_and_node: tuple[BaseLane, RpcNode]) -> None:
    """Addresses in lower case, events at their place among the transaction's own."""
    lane, _ = lane_and_node
    assert await lane.observe(TX) == SEEN


@pytest.mark.parametrize(("head", "final"), [("0x9", False), ("0xa", False), ("0xb", True), ("0x1", False)])
async def test_it_is_final_after_three_blocks(lane_and_node: tuple[BaseLane, RpcNode], head: str, final: bool) -> None:
    """Its own counted; a head before its block makes nothing final."""
    lane, node = lane_and_node
    node.results["eth_blockNumber"] = head
    assert (await lane.observe(TX)).final is final


async def test_a_reverted_transaction_has_failed(lane_and_node: tuple[BaseLane, RpcNode]) -> None:
    """Its receipt says so."""
    lane, node = lane_and_node
    node.results["eth_getTransactionReceipt"] = {**RECEIPT, "status": "0x0", "logs": []}
    assert (await lane.observe(TX)).status is TxStatus.FAILED


@pytest.mark.parametrize(("waiting", "expected_value"), [(None, ABSENT), ({}, ObservedTransaction(TxStatus.PENDING))])
async def test_without_a_receipt_it_waits_or_is_absent(
    lane_and_node: tuple[BaseLane, RpcNode], waiting: Any, expected_value: ObservedTransaction
) -> None:
    """By whether the node knows it at all."""
    lane, node = lane_and_node
    node.results |= {"eth_getTransactionReceipt": None, "eth_getTransactionByHash": waiting}
    assert await lane.observe(TX) == expected_value


@pytest.mark.parametrize(
    "stranger",
    [
        log(TRANSFER, word(PAYER), word(PAYEE), address=STRANGER),
        log(TRANSFER, word(PAYER), word(PAYEE), data="0x07", address=STRANGER),
        log(TRANSFER, word(PAYER), word(PAYEE), data="0x" + "f" * 128, address=STRANGER),
        log(TRANSFER, word(PAYER), word(PAYEE), "0x" + "0" * 64, address=STRANGER),
        log(TRANSFER, address=STRANGER),
        log(USED, address=STRANGER),
        log(address=STRANGER),
    ],
    ids=["no data", "a byte", "two words", "an ERC-721 transfer", "no parties", "no use", "nothing at all"],
)
async def test_a_stranger_s_log_hides_nothing(
    lane_and_node: tuple[BaseLane, RpcNode], stranger: dict[str, Any]
) -> None:
    """Whatever another contract emits beside them, use and transfer are seen, at their places."""
    lane, node = lane_and_node
    node.results["eth_getTransactionReceipt"] = {**RECEIPT, "logs": [stranger, USE_LOG, TRANSFER_LOG]}
    transaction = await lane.observe(TX)
    assert [one.ordinal for one in transaction.transfers] == [2]
    assert [one.ordinal for one in transaction.authorizations_used] == [1]


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("eth_getTransactionReceipt", {**RECEIPT, "transactionHash": BLOCK}),
        ("eth_getBlockByNumber", {**MINED, "hash": TX}),
        ("eth_getBlockByNumber", None),
    ],
    ids=["another transaction", "another chain", "no such block"],
)
async def test_answers_that_contradict_each_other_are_none(
    lane_and_node: tuple[BaseLane, RpcNode], method: str, answer: Any
) -> None:
    """Half of a reorganisation is no fact."""
    lane, node = lane_and_node
    node.results[method] = answer
    with pytest.raises(ChainUnavailable):
        await lane.observe(TX)


# What became of an authorization.


async def test_an_unused_authorization(lane_and_node: tuple[BaseLane, RpcNode]) -> None:
    """The asset's word; no search."""
    lane, node = lane_and_node
    assert await lane.find_use(AUTHORIZATION, 0) == Use(is_used=False)
    assert node.of("eth_getLogs") == []


@pytest.mark.parametrize(
    ("logs", "expected_value"),
    [
        ([{**USE_LOG, "transactionHash": TX.upper().replace("X", "x")}], Use(is_used=True, tx_id=TX)),
        ([{**log(CANCELED, word(PAYER), NONCE), "transactionHash": TX}], Use(is_used=True, is_cancelled=True)),
        ([], Use(is_used=True)),
    ],
    ids=["used", "cancelled", "not found yet"],
)
async def test_a_used_authorization_is_looked_for(
    lane_and_node: tuple[BaseLane, RpcNode], logs: list[Any], expected_value: Use
) -> None:
    """By payer and nonce, among the asset's own events."""
    lane, node = lane_and_node
    node.results |= {"eth_call": "0x" + "1".rjust(64, "0"), "eth_getLogs": logs}
    assert await lane.find_use(AUTHORIZATION, 0) == expected_value
    query = node.of("eth_getLogs")[0][0]
    assert (query["address"], query["topics"]) == (USDC, [[USED, CANCELED], word(PAYER), NONCE])


async def test_the_search_goes_back_until_blocks_are_older(lane_and_node: tuple[BaseLane, RpcNode]) -> None:
    """In pieces that a node answers, and no further than the challenge is old."""
    lane, node = lane_and_node
    node.results |= {
        "eth_call": "0x" + "1".rjust(64, "0"),
        "eth_blockNumber": hex(100_000),
        "eth_getBlockByNumber": lambda number, _: {**MINED, "timestamp": number},
    }
    assert await lane.find_use(AUTHORIZATION, 88_000) == Use(is_used=True)
    ranges = [(int(one["fromBlock"], 16), int(one["toBlock"], 16)) for [one] in node.of("eth_getLogs")]
    assert ranges == [(95_001, 100_000), (90_001, 95_000), (85_001, 90_000)]


# Settling.


async def test_a_settlement_that_would_work_and_one_that_would_not(lane_and_node: tuple[BaseLane, RpcNode]) -> None:
    """The contract's words come back; a refusal by the node itself is no word of the contract."""
    lane, node = lane_and_node
    assert await lane.try_settlement(AUTHORIZATION, STRANGER) is None
    [call, block] = node.of("eth_call")[0]
    assert (call["to"], call["from"], block) == (NETWORK.asset_id, STRANGER, "latest")
    assert call["data"][:10] == "0xe3ee160e"
    report = "execution reverted: FiatTokenV2: authorization is used or canceled"
    node.results["eth_call"] = Refusal(report, 3)
    assert await lane.try_settlement(AUTHORIZATION, STRANGER) == report
    node.results["eth_call"] = Refusal("header not found")
    with pytest.raises(ChainUnavailable):
        await lane.try_settlement(AUTHORIZATION, STRANGER)


@pytest.mark.parametrize("signature", ["0x", "0x" + "00" * 65, "0x" + "ff" * 65])
async def test_a_signature_that_cannot_be_settled_is_a_fault(
    lane_and_node: tuple[BaseLane, RpcNode], signature: str
) -> None:
    """It was to be refused long before."""
    wrong = Authorization(PAYER, PAYEE, 7, 0, 2**40, NONCE, signature)
    with pytest.raises(ValueError, match="settled"):
        lane_and_node[0].encode_settlement(wrong)


@pytest.mark.parametrize(
    "message", ["already known", "nonce too low: next nonce 6, tx nonce 5", "replacement transaction underpriced"]
)
async def test_what_a_node_knows_already_is_sent(lane_and_node: tuple[BaseLane, RpcNode], message: str) -> None:
    """After a crash it gets the transaction again, and says so in its own words: no fault."""
    lane, node = lane_and_node
    node.results["eth_sendRawTransaction"] = Refusal(message)
    await lane.send(b"\x02\xff")
    assert node.of("eth_sendRawTransaction") == [["0x02ff"]]


async def test_what_a_node_refuses_is_not_sent(lane_and_node: tuple[BaseLane, RpcNode]) -> None:
    """The chain counts as down: no payer is asked to pay again."""
    lane, node = lane_and_node
    node.results["eth_sendRawTransaction"] = Refusal("insufficient funds for gas * price + value")
    with pytest.raises(ChainUnavailable, match="insufficient funds"):
        await lane.send(b"\x02\xff")


async def test_counts_fees_and_network(lane_and_node: tuple[BaseLane, RpcNode]) -> None:
    """Quantities of the node, each by its own method."""
    lane, node = lane_and_node
    assert [await lane.read_nonce(STRANGER, include_pending=pending) for pending in (True, False)] == [5, 5]
    assert node.of("eth_getTransactionCount") == [[STRANGER, "pending"], [STRANGER, "latest"]]
    assert await lane.read_fees() == Fees(203, 3)
    assert await lane.check_node() is True
    node.results["eth_chainId"] = "0x1"
    assert await lane.check_node() is False


# All at once.

PENDING = ObservedTransaction(TxStatus.PENDING)


async def test_what_a_settlement_would_meet_is_asked_at_once(lane_and_node: tuple[BaseLane, RpcNode]) -> None:
    """One request, whatever the order of its answers."""
    lane, node = lane_and_node
    assert await lane.read_outlook(AUTHORIZATION, STRANGER) == Outlook(False, None, Fees(203, 3), 16, 5)
    assert (node.requests, len(node.asked)) == (1, 6)
    [[state, _], [trial, _]] = node.of("eth_call")
    assert (state["data"][:10], trial["data"][:10], trial["from"]) == ("0xe94a0102", "0xe3ee160e", STRANGER)
    assert node.of("eth_getBalance") == [[STRANGER, "latest"]]
    assert node.of("eth_getTransactionCount") == [[STRANGER, "pending"]]


async def test_a_contract_that_would_refuse_leaves_the_rest_of_the_outlook(
    lane_and_node: tuple[BaseLane, RpcNode],
) -> None:
    """Its words, beside what the node tells; the node's own refusal of the same call is no word of the contract."""
    lane, node = lane_and_node
    words, used = "execution reverted: FiatTokenV2: authorization is used or canceled", "0x" + "1".rjust(64, "0")
    node.results["eth_call"] = lambda call, _: Refusal(words, 3) if "from" in call else used
    assert await lane.read_outlook(AUTHORIZATION, STRANGER) == Outlook(True, words, Fees(203, 3), 16, 5)
    node.results["eth_call"] = lambda call, _: Refusal("header not found") if "from" in call else used
    with pytest.raises(ChainUnavailable):
        await lane.read_outlook(AUTHORIZATION, STRANGER)


async def test_a_transaction_that_was_seen_in_its_block_is_seen_again_at_once(
    lane_and_node: tuple[BaseLane, RpcNode],
) -> None:
    """Its block is asked for together with its receipt, as long as it is not final."""
    lane, node = lane_and_node
    node.results["eth_blockNumber"] = "0xa"
    requests = []
    for final in (False, False, True, True):
        node.results["eth_blockNumber"] = "0xb" if final else "0xa"
        before = node.requests
        assert (await lane.observe(TX)).final is final
        requests.append(node.requests - before)
    assert requests == [2, 1, 1, 2]


async def test_what_was_sent_is_looked_for_in_the_next_block(lane_and_node: tuple[BaseLane, RpcNode]) -> None:
    """Its receipt and that block come together; a transaction in another block takes one more question."""
    lane, node = lane_and_node
    for head, requests in (("0x8", 1), ("0x7", 2)):
        node.results["eth_getBlockByNumber"] = {**MINED, "number": head}
        await lane.read_outlook(AUTHORIZATION, STRANGER)
        raw = b"\x02" + head.encode()
        await lane.send(raw)
        tx_id = "0x" + keccak(raw).hex()
        node.results |= {"eth_getTransactionReceipt": {**RECEIPT, "transactionHash": tx_id}}
        node.results["eth_getBlockByNumber"] = lambda number, _: MINED if number == "0x9" else {**MINED, "hash": TX}
        before = node.requests
        assert await lane.observe(tx_id) == SEEN
        assert node.requests - before == requests


@pytest.mark.parametrize(
    ("changes", "transaction"),
    [
        ({"eth_getTransactionReceipt": None}, PENDING),
        ({"eth_getTransactionReceipt": {**RECEIPT, "blockHash": TX}}, None),
        ({"eth_getBlockByNumber": {**MINED, "hash": TX}}, None),
        ({"eth_getBlockByNumber": None}, None),
        (
            {
                "eth_getTransactionReceipt": {**RECEIPT, "blockNumber": "0x8", "blockHash": TX},
                "eth_getBlockByNumber": lambda number, _: {**MINED, "hash": {"0x8": TX}.get(number, BLOCK)},
            },
            SEEN,
        ),
    ],
    ids=["undone", "in another block", "another chain", "a block that went", "mined again"],
)
async def test_what_was_seen_before_is_no_fact_by_now(
    lane_and_node: tuple[BaseLane, RpcNode], changes: dict[str, Any], transaction: ObservedTransaction | None
) -> None:
    """Each look stands on the answers of its own, after a reorganisation too."""
    lane, node = lane_and_node
    node.results["eth_blockNumber"] = "0xa"
    assert (await lane.observe(TX)).final is False
    node.results |= {"eth_blockNumber": "0xb", **changes}
    if transaction is not None:
        assert await lane.observe(TX) == transaction
        return
    with pytest.raises(ChainUnavailable):
        await lane.observe(TX)


async def test_the_pace_of_the_chain_tells_when_to_look(
    lane_and_node: tuple[BaseLane, RpcNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction may be final two blocks after its own; before it has one, the next is counted from."""
    lane, node = lane_and_node
    now = 100.0
    monkeypatch.setattr(lane, "_pace", Pace(lambda: now))
    node.results |= {"eth_getTransactionReceipt": None, "eth_blockNumber": "0x6"}
    await lane.observe(TX)
    assert lane.seconds_until_final(TX) is None
    now, node.results["eth_blockNumber"] = 104.0, "0x8"
    await lane.observe(TX)
    assert lane.seconds_until_final(TX) == pytest.approx(6.1)
    now = 106.0
    node.results |= {"eth_getTransactionReceipt": RECEIPT, "eth_blockNumber": "0x9"}
    await lane.observe(TX)
    assert lane.seconds_until_final(TX) == pytest.approx(4.1)
    assert lane.seconds_until_final(BLOCK) == pytest.approx(6.1)


# Nonsense.

STEPS = {
    "observe": ["eth_getTransactionReceipt", "eth_getBlockByNumber", "eth_blockNumber"],
    "use_of": ["eth_call", "eth_blockNumber", "eth_getLogs"],
    "fees": ["eth_getBlockByNumber", "eth_maxPriorityFeePerGas"],
    "nonce": ["eth_getTransactionCount"],
    "outlook": [
        *("eth_call", "eth_getBlockByNumber", "eth_maxPriorityFeePerGas"),
        *("eth_getBalance", "eth_getTransactionCount"),
    ],
    "check_node": ["eth_chainId"],
    "send": ["eth_sendRawTransaction"],
}


async def do_step(lane: BaseLane, step: str) -> Any:
    """Carry out one step of the lane."""
    steps: dict[str, Callable[[], Awaitable[Any]]] = {
        "observe": lambda: lane.observe(TX),
        "use_of": lambda: lane.find_use(AUTHORIZATION, 0),
        "fees": lane.read_fees,
        "nonce": lambda: lane.read_nonce(STRANGER, include_pending=True),
        "outlook": lambda: lane.read_outlook(AUTHORIZATION, STRANGER),
        "check_node": lane.check_node,
        "send": lambda: lane.send(b"\x02"),
    }
    return await steps[step]()


def prepare_node(node: RpcNode, step: str) -> None:
    if step == "use_of":
        node.results |= {"eth_call": "0x" + "1".rjust(64, "0"), "eth_getLogs": [{**USE_LOG, "transactionHash": TX}]}


@pytest.mark.parametrize("answer", UNSOUND.values(), ids=UNSOUND.keys())
async def test_an_unsound_answer_is_no_answer(lane_and_node: tuple[BaseLane, RpcNode], answer: Whole | Refusal) -> None:
    """To whatever question: the chain counts as away."""
    lane, node = lane_and_node
    for step, methods in STEPS.items():
        for method in methods:
            node.results = dict(SOUND)
            prepare_node(node, step)
            await do_step(lane, step)
            node.results[method] = answer
            with pytest.raises(ChainUnavailable):
                await do_step(lane, step)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
async def test_a_result_of_another_shape_is_no_crash(lane_and_node: tuple[BaseLane, RpcNode], shape: Any) -> None:
    """`ChainUnavailable`, or facts that do not stand on it."""
    lane, node = lane_and_node
    for step, methods in STEPS.items():
        for method in methods:
            node.results = dict(SOUND)
            prepare_node(node, step)
            node.results[method] = shape
            try:
                await do_step(lane, step)
            except ChainUnavailable:
                continue
            assert (step, method) in {("send", "eth_sendRawTransaction"), ("use_of", "eth_getLogs")}


MEMBERS = [*RECEIPT, "address", "topics", "data", "hash", "timestamp", "number"]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=4)
    | st.sampled_from([TX, BLOCK, "0x1", "0x9", USED, TRANSFER, word(PAYER), "0x" + "7".rjust(64, "0")]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5),
    max_leaves=12,
)
LOGS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "address": st.just(USDC) | JSON,
            "topics": st.lists(st.sampled_from([TRANSFER, USED, word(PAYER), NONCE]) | JSON, max_size=4) | JSON,
            "data": st.just("0x" + "7".rjust(64, "0")) | JSON,
        },
    )
    | JSON,
    max_size=3,
)


class Told(JsonRpc):
    """A node without a network: what it tells stands in a table."""

    def __init__(self, text: dict[str, Any]) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self.told = text

    async def call(self, method: str, *params: Any) -> Any:
        del params
        return self.told[method]

    async def batch(self, *calls: Any) -> list[Any]:
        return [await self.call(*call) for call in calls]


def lane_of(text: dict[str, Any]) -> BaseLane:
    return BaseLane(NETWORK, Told({**SOUND, **text}), 3)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(list(RECEIPT)), JSON, LOGS)
async def test_no_shape_of_a_receipt_is_a_crash(name: str, value: Any, logs: list[Any]) -> None:
    """Whatever stands in one member, and in the logs: facts of the right types, or `ChainUnavailable`."""
    for receipt in ({**RECEIPT, name: value}, {**RECEIPT, "logs": logs}):
        try:
            transaction = await lane_of({"eth_getTransactionReceipt": receipt}).observe(TX)
        except ChainUnavailable:
            continue
        assert isinstance(transaction.sender, str)
        for transfer in transaction.transfers:
            assert isinstance(transfer.value, int)
            assert isinstance(transfer.receiver, str)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(JSON, LOGS, st.sampled_from(["eth_call", "eth_blockNumber", "eth_getBlockByNumber", "eth_getLogs"]))
async def test_no_shape_of_a_search_s_answer_is_a_crash(value: Any, logs: list[Any], method: str) -> None:
    """Whatever the node returns for an authorization."""
    used = {"eth_call": "0x" + "1".rjust(64, "0"), "eth_getLogs": []}
    for told in ({**used, method: value}, {**used, "eth_getLogs": logs}):
        try:
            use = await lane_of(told).find_use(AUTHORIZATION, 10**9)
        except ChainUnavailable:
            continue
        assert use.tx_id is None or isinstance(use.tx_id, str)


@pytest.mark.parametrize(
    ("text", "expected_value"),
    [
        (NETWORK.asset_id, True),
        (USDC, True),
        (NETWORK.asset_id[:-1] + "4", False),
        ("0x" + "A" * 40, True),
        ("0X" + "a" * 40, False),
        ("a" * 42, False),
        ("0x" + "a" * 39, False),
        ("0x" + "g" * 40, False),
        ("0x" + "a" * 39 + "\n", False),
        ("", False),
    ],
)
async def test_an_address_in_mixed_case_has_a_checksum(text: str, expected_value: bool) -> None:
    """A mistyped payee is noticed before a payment (EIP-55)."""
    assert lane_of({}).is_address(text) is expected_value


def test_the_events_topics_are_those_of_the_standards() -> None:
    """ERC-20 and EIP-3009 fix them."""
    assert (lane._TRANSFER_TOPIC, lane._USED_TOPIC, lane._CANCELED_TOPIC) == (TRANSFER, USED, CANCELED)


# Call data, which binds a checkout payment where that is on.


@pytest.fixture
async def reading() -> AsyncIterator[tuple[BaseLane, RpcNode]]:
    """A lane that tells what transactions call."""
    async with serve_node(RpcNode()) as node, aiohttp.ClientSession() as session:
        node.results = dict(SOUND)
        rules = LaneRules(ServiceWord("Weldproof"), reads_calldata=True)
        lane = open_lane(session, NETWORK, NodeSettings(node.url), rules)
        assert isinstance(lane, BaseLane)
        yield lane, node


@pytest.mark.parametrize(
    ("message", "called", "calldata"),
    [
        ({"hash": TX.upper().replace("X", "x"), "to": NETWORK.asset_id, "input": "0xA9"}, USDC, b"\xa9"),
        ({"hash": TX, "to": None, "input": "0x"}, "", b""),
    ],
)
async def test_what_a_transaction_calls_is_told(
    reading: tuple[BaseLane, RpcNode], message: dict[str, Any], called: str, calldata: bytes
) -> None:
    """The contract in lower case and the bytes; a creation calls nothing."""
    lane, node = reading
    node.results["eth_getTransactionByHash"] = message
    transaction = await lane.observe(TX)
    assert (transaction.called_contract, transaction.calldata, transaction.transfers) == (
        called,
        calldata,
        SEEN.transfers,
    )


@pytest.mark.parametrize("name", [*UNSOUND, *SHAPES, "another's", "no input", "half a byte"])
async def test_a_call_that_cannot_be_read_is_no_answer(reading: tuple[BaseLane, RpcNode], name: str) -> None:
    """Whatever the node returns instead of the transaction, it is not reported."""
    lane, node = reading
    further = {
        "another's": {"hash": BLOCK, "to": USDC, "input": "0x"},
        "no input": {"hash": TX, "to": USDC},
        "half a byte": {"hash": TX, "to": USDC, "input": "0xa"},
    }
    node.results["eth_getTransactionByHash"] = {**UNSOUND, **SHAPES, **further}[name]
    with pytest.raises(ChainUnavailable):
        await lane.observe(TX)


async def test_nobody_asks_for_calls_that_bind_nothing(lane_and_node: tuple[BaseLane, RpcNode]) -> None:
    """A lane that need not know does not ask."""
    lane, node = lane_and_node
    await lane.observe(TX)
    assert node.of("eth_getTransactionByHash") == []
