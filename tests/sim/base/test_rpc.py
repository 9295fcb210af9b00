"""Whatever a client sends, the node answers with JSON-RPC and its codes, and its state stays whole."""

from __future__ import annotations

import asyncio
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.base import control
from sim.base.app import build_app
from sim.base.chain import Chain
from sim.clock import BlockClock

USDC = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
READS = [
    *("eth_chainId", "net_version", "web3_clientVersion", "eth_syncing", "eth_accounts", "eth_blockNumber"),
    *("eth_gasPrice", "eth_maxPriorityFeePerGas", "eth_feeHistory", "eth_getBalance", "eth_getTransactionCount"),
    *("eth_getCode", "eth_getStorageAt", "eth_call", "eth_estimateGas", "eth_sendRawTransaction"),
    *("eth_getTransactionByHash", "eth_getTransactionReceipt", "eth_getBlockByNumber", "eth_getBlockByHash"),
    "eth_getLogs",
]
CHEATS = ["anvil_setBalance", "anvil_setCode", "anvil_setStorageAt", "evm_increaseTime", "evm_mine", "anvil_mine"]
CODES = {-32700, -32600, -32601, -32602, -32000, 3}

WORDS = st.sampled_from(
    [
        *("", "x", "é", "0x", "0x0", "0x1", "0x01", "0xg", "0x5 ", "0x_1", "0x1" + "0" * 63, "0x" + "f" * 64),
        *("0x" + "f" * 65, "latest", "pending", "safe", "finalized", "earliest", USDC, "0x" + "0" * 40, USDC[:-1]),
        *("0x02c0", "0xf86c", "0x" + "c1" * 3000, "0x70a08231", "-0x1", "0X1"),
    ]
)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | WORDS
NAMES = [
    *("from", "to", "data", "input", "value", "gas", "gasPrice", "nonce", "blockHash", "blockNumber", "fromBlock"),
    *("toBlock", "address", "topics", "timestamp", "blocks", "accessList"),
]
OBJECTS = st.dictionaries(
    st.sampled_from(NAMES), SCALARS | st.lists(SCALARS | st.lists(SCALARS, max_size=2), max_size=5), max_size=5
)
PARAMS = st.lists(SCALARS | OBJECTS | st.lists(SCALARS | OBJECTS, max_size=3), max_size=4)


def fresh() -> Any:
    """Return a bench of the fixtures' kind that all examples of a test share."""
    spec = spec_from_file_location("base_bench", Path(__file__).with_name("conftest.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Bench()


@pytest.fixture(scope="module", name="shared_bench")
def _shared_bench() -> Any:
    return fresh()


def check_answer(answer: Any) -> None:
    assert answer["jsonrpc"] == "2.0"
    assert ("result" in answer) != ("error" in answer)
    if "error" in answer:
        assert answer["error"]["code"] in CODES
        assert isinstance(answer["error"]["message"], str)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(method=st.sampled_from(READS), params=PARAMS)
def test_any_parameters_are_answered_and_change_nothing(shared_bench: Any, method: str, params: list[Any]) -> None:
    """Result or error object with a code of the standard or of the node; the chain is as before."""
    before = (
        shared_bench.chain.head,
        shared_bench.usdc_balance(USDC),
        shared_bench.wei(USDC),
        shared_bench.call("eth_getCode", USDC, "latest"),
    )
    check_answer(shared_bench.ask(method, *params))
    assert before == (
        shared_bench.chain.head,
        shared_bench.usdc_balance(USDC),
        shared_bench.wei(USDC),
        shared_bench.call("eth_getCode", USDC, "latest"),
    )


@settings(max_examples=120, deadline=None, derandomize=True)
@given(steps=st.lists(st.tuples(st.sampled_from([*CHEATS, *READS]), PARAMS), min_size=1, max_size=4))
def test_the_chain_goes_on_after_any_cheats(steps: list[tuple[str, list[Any]]]) -> None:
    """Whatever was written into it, blocks follow, can be undone, and money still moves."""
    bench = fresh()
    for method, params in steps:
        if not any(isinstance(one, int) and 50 < one < 200_000 for one in params):  # a number of blocks to make
            check_answer(bench.ask(method, *params))
    bench.mine(2)
    bench.control("reorg", depth=1)
    bench.control("fund", address="0x" + "09" * 20, amount="5")
    assert bench.wei("0x" + "09" * 20) == 5


@settings(max_examples=300, deadline=None, derandomize=True)
@given(body=st.binary(max_size=60) | st.recursive(SCALARS, st.lists, max_leaves=6).map(orjson.dumps))
def test_a_body_that_is_no_call_has_the_standards_codes(shared_bench: Any, body: bytes) -> None:
    """-32700 for what is no JSON, -32600 for what is no call, also within a batch; an id that is there is echoed."""
    answer = shared_bench.body(body)
    for reply in answer if isinstance(answer, list) else [answer]:
        check_answer(reply)
        assert reply["error"]["code"] in (-32700, -32600)
        assert reply["id"] is None or orjson.loads(body)["id"] == reply["id"]


ENVELOPES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": SCALARS | st.just("2.0"),
        "id": SCALARS | st.lists(SCALARS, max_size=1) | st.just({}),
        "method": SCALARS | st.sampled_from(READS),
        "params": SCALARS | PARAMS | OBJECTS,
        "more": SCALARS,
    },
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(request=ENVELOPES | st.lists(ENVELOPES, max_size=4))
async def test_any_request_is_a_200_over_http(request: Any) -> None:
    """Never a 5xx: an answer for each call that has an id, nothing for those that have none."""
    client = build_app(Chain(8453, BlockClock())).test_client()
    answer = await client.post("/", data=orjson.dumps(request))
    assert answer.status_code == 200
    body = await answer.get_data()
    if not body:
        assert all("id" not in one for one in (request if isinstance(request, list) else [request]))
        return
    reply_body = orjson.loads(body)
    for reply in reply_body if isinstance(reply_body, list) else [reply_body]:
        check_answer(reply)


@pytest.mark.parametrize(
    ("body", "code", "number"),
    [
        (b"", -32700, None),
        (b"{", -32700, None),
        (b"[" * 5000, -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId"', -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[]", -32600, None),
        (b"7", -32600, None),
        (b"null", -32600, None),
        (b'{"jsonrpc":"2.0","id":1}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"eth_chainId"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"eth_chainId"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":"a","method":"eth_nothing"}', -32601, "a"),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_fillTransaction","params":[{}]}', -32601, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":{"a":1}}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":0}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":""}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_getBalance"}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0x1"]}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionReceipt","params":["0x12"]}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["newest",false]}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"topics":"0x"}]}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"address":["x"]}]}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"evm_increaseTime","params":[18446744073709551615]}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"anvil_mine","params":["0xffffffffffff"]}', -32602, 1),
    ],
)
def test_error_codes_are_those_of_the_standard(shared_bench: Any, body: bytes, code: int, number: Any) -> None:
    """Parse error, invalid request, method not found, invalid params, with the id where there is one."""
    answer = shared_bench.body(body)
    assert (answer["error"]["code"], answer["id"]) == (code, number)


def test_a_batch_is_answered_in_order_and_notifications_are_not(shared_bench: Any) -> None:
    """One bad call spoils no other; a batch of notifications has no answer at all."""
    call = {"jsonrpc": "2.0", "method": "eth_chainId", "params": []}
    batch = [{**call, "id": 1}, 7, {**call, "id": "b", "method": "none"}, call, {**call, "id": None}]
    reply_body = shared_bench.body(orjson.dumps(batch))
    assert [one["id"] for one in reply_body] == [1, None, "b", None]
    assert [one.get("result", one.get("error", {}).get("code")) for one in reply_body] == [
        "0x2105",
        -32600,
        -32601,
        "0x2105",
    ]
    assert shared_bench.body(orjson.dumps([call, call])) is None
    assert shared_bench.body(orjson.dumps(call)) is None


def test_a_notification_is_carried_out(shared_bench: Any) -> None:
    """It only has no answer."""
    head = shared_bench.chain.head.number
    shared_bench.body(orjson.dumps({"jsonrpc": "2.0", "method": "evm_mine"}))
    assert head + 1 == shared_bench.chain.head.number


def test_mining_takes_a_time_or_a_number_of_blocks(shared_bench: Any) -> None:
    """`evm_mine` takes a time, or both in an object; `anvil_mine` a number of blocks."""
    number, time = shared_bench.chain.head.number, shared_bench.chain.clock.now()
    assert shared_bench.call("evm_mine", time + 500) == "0x0"
    assert (shared_bench.chain.head.number, shared_bench.chain.head.time) == (number + 1, time + 500)
    shared_bench.call("evm_mine", {"blocks": 3, "timestamp": hex(time + 600)})
    assert (shared_bench.chain.head.number, shared_bench.chain.head.time) == (number + 4, time + 600)
    assert shared_bench.call("anvil_mine", "0x5") is None
    assert shared_bench.chain.head.number == number + 9
    assert shared_bench.call_refused("evm_mine", time)["code"] == -32602


MEMBERS = st.dictionaries(
    st.sampled_from(["address", "amount", "asset", "blocks", "seconds", "depth", "name", "seed", "count", "id"]),
    (SCALARS | st.sampled_from(["5", "10", str(2**64), str(10**31), "hang", "withhold"])).filter(
        lambda one: not isinstance(one, int) or abs(one) < 50 or one > 10**11
    ),
    max_size=5,
)
VERBS = sorted(control.describe(Chain(8453, BlockClock()))["verbs"])


@settings(max_examples=300, deadline=None, derandomize=True)
@given(verb=st.sampled_from([*VERBS, "", "x"]), members=MEMBERS)
def test_any_control_call_is_answered(shared_bench: Any, verb: str, members: dict[str, Any]) -> None:
    """Done or refused with a reason; the chain goes on either way."""
    status, body = asyncio.run(control.carry_out(shared_bench.chain, {**members, "verb": verb}))
    assert (status, body["ok"]) in ((200, True), (400, False))
    assert body["ok"] or body["error"]
    shared_bench.mine()
