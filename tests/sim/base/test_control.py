"""The control verbs of the simulated Base (9.1)."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from sim.base import control
from sim.base.app import build_app
from sim.base.chain import Chain
from sim.clock import BlockClock
from sim.faults import ANSWERS
from sim.faulty import Faulty

SOMEBODY = "0x" + "05" * 20
CODE = "0x5f5ffd"  # reverts whatever it is asked


def test_funding_gives_wei_and_minting_gives_usdc(bench: Any) -> None:
    """Amounts add up, by transactions that can be looked up at once; an address may be lower case."""
    answers = [bench.control("mint", address=SOMEBODY, amount="300") for _ in range(2)]
    answers += [bench.control("fund", address=SOMEBODY, amount="1000000") for _ in range(2)]
    answers += [bench.control("mint", address=SOMEBODY, amount="5", asset=bench.usdc.lower())]
    assert (bench.usdc_balance(SOMEBODY), bench.wei(SOMEBODY)) == (605, 2_000_000)
    receipts = [bench.call("eth_getTransactionReceipt", one["tx_id"]) for one in answers]
    assert [one["status"] for one in receipts] == ["0x1"] * 5


def test_advancing_makes_blocks_or_time(bench: Any) -> None:
    """Blocks are empty ones; seconds move this block's time and all later ones."""
    head = bench.chain.head
    assert head.number + 7 == bench.control("advance", blocks=7)["block"]
    assert head.number + 8 == bench.control("advance", seconds=100)["block"]
    bench.mine(3)
    assert head.time + 100 == bench.chain.head.time
    assert head.time + 250 == bench.control("block_time_offset", seconds=250)["time"]
    assert "never shrinks" in bench.control_refused({"verb": "block_time_offset", "seconds": 249})
    bench.system_time += 1
    bench.mine()
    assert head.time + 251 == bench.chain.head.time


def test_searches_trail_the_newest_block_while_lagging(bench: Any) -> None:
    """Events of the last blocks are not found; receipts are, since only searches lag."""
    payer = bench.fund_account(usdc=5)
    bench.control("lag", blocks=2)
    receipt = bench.mine_transaction(payer, **bench.transfer(SOMEBODY, 5))
    log_filter = {"fromBlock": receipt["blockNumber"], "address": bench.usdc}
    assert bench.call("eth_getLogs", log_filter) == []
    bench.mine()
    assert bench.call("eth_getLogs", log_filter) == []
    bench.mine()
    assert bench.call("eth_getLogs", log_filter) == receipt["logs"]
    bench.control("lag", blocks=50)
    assert bench.call("eth_getLogs", log_filter) == []
    bench.control("lag", blocks=0)
    assert bench.call("eth_getLogs", log_filter) == receipt["logs"]


def test_withheld_transactions_wait_for_release_or_advance(bench: Any) -> None:
    """In no block until then, and known as pending."""
    payer = bench.fund_account()
    for verb in ({"verb": "release"}, {"verb": "advance", "blocks": 1}):
        bench.control("fault", name="withhold", count=1)
        withheld_hash, after = bench.send(payer), bench.send(payer)
        bench.mine(2)
        assert bench.call("eth_getTransactionByHash", withheld_hash)["blockHash"] is None
        assert bench.call("eth_getTransactionReceipt", after) is None
        bench.control(**verb)
        bench.mine()
        assert [bench.call("eth_getTransactionReceipt", one)["status"] for one in (withheld_hash, after)] == [
            "0x1",
            "0x1",
        ]
    assert bench.control("release")["released"] == 0


def test_a_late_rejection_is_an_acceptance_that_never_lands(bench: Any) -> None:
    """The node answers with the hash, and knows nothing of it afterwards."""
    payer = bench.fund_account()
    bench.control("fault", name="reject_late", count=1)
    dropped_hash, raw = bench.send(payer), bench.sign_transaction(payer, nonce=0)
    bench.mine(2)
    assert bench.call("eth_getTransactionByHash", dropped_hash) is None
    assert dropped_hash == bench.call("eth_sendRawTransaction", raw)
    bench.mine()
    assert bench.call("eth_getTransactionReceipt", dropped_hash)["status"] == "0x1"


def test_early_finality_is_told_as_often_as_armed(bench: Any) -> None:
    """Ten blocks that do not exist; then the truth again."""
    head = bench.chain.head.number
    bench.control("fault", name="early_finality", count=2)
    assert [head + 10, head + 10, head] == [bench.number("eth_blockNumber") for _ in range(3)]
    bench.control("fault", name="early_finality", count=5)
    bench.control("fault", name="early_finality", count=0)
    assert head == bench.number("eth_blockNumber")


def test_the_base_fee_is_that_of_the_next_block(bench: Any) -> None:
    """And of the price that the node advises."""
    bench.control("base_fee", amount="12345678")
    bench.mine()
    assert bench.number("eth_gasPrice") == 12345678 + bench.number("eth_maxPriorityFeePerGas")
    assert bench.call("eth_getBlockByNumber", "latest", False)["baseFeePerGas"] == hex(12345678)


@pytest.mark.parametrize(
    "members",
    [
        None,
        [],
        {},
        "fund",
        {"verb": 7},
        {"verb": "dance"},
        {"verb": "_bank"},
        {"verb": "fund"},
        {"verb": "fund", "address": SOMEBODY},
        {"verb": "fund", "address": "x", "amount": "1"},
        {"verb": "fund", "address": SOMEBODY[:-1], "amount": "1"},
        {"verb": "fund", "address": 7, "amount": "1"},
        {"verb": "fund", "address": SOMEBODY, "amount": 1},
        {"verb": "fund", "address": SOMEBODY, "amount": "1.0"},
        {"verb": "fund", "address": SOMEBODY, "amount": "٣"},
        {"verb": "fund", "address": SOMEBODY, "amount": "-1"},
        {"verb": "fund", "address": SOMEBODY, "amount": str(2**128)},
        {"verb": "mint", "address": SOMEBODY, "amount": str(2**64)},
        {"verb": "mint", "address": SOMEBODY, "amount": "1", "asset": SOMEBODY},
        {"verb": "mint", "address": SOMEBODY, "amount": "1", "asset": 7},
        {"verb": "advance"},
        {"verb": "advance", "blocks": 1, "seconds": 1},
        {"verb": "advance", "blocks": 10**9},
        {"verb": "advance", "blocks": -1},
        {"verb": "advance", "blocks": "1"},
        {"verb": "advance", "seconds": 10**18},
        {"verb": "advance", "seconds": 1.5},
        {"verb": "block_time_offset"},
        {"verb": "block_time_offset", "seconds": -1},
        {"verb": "block_time_offset", "seconds": 2**64 - 1},
        {"verb": "lag"},
        {"verb": "lag", "blocks": True},
        {"verb": "reorg"},
        {"verb": "reorg", "depth": 0},
        {"verb": "reorg", "depth": 10**9},
        {"verb": "base_fee", "amount": "x"},
        {"verb": "base_fee", "amount": 5},
        {"verb": "fault"},
        {"verb": "fault", "name": "nonsense"},
        {"verb": "fault", "name": "hang", "seed": "x"},
        {"verb": "fault", "name": "hang", "count": -1},
        {"verb": "restore"},
        {"verb": "restore", "id": 0},
        {"verb": "restore", "id": -1},
    ],
)
def test_verbs_that_cannot_be_done_change_nothing(bench: Any, members: Any) -> None:
    """400 with a reason; head, time, fee and money stay."""
    chain = bench.chain

    def read_state() -> Any:
        return (
            chain.head,
            chain.clock.offset,
            chain.base_fee,
            chain.lag,
            bench.wei(SOMEBODY),
            bench.usdc_balance(SOMEBODY),
        )

    before = read_state()
    assert bench.control_refused(members)
    assert before == read_state()


@pytest.mark.parametrize(
    "members",
    [
        {"verb": "fund", "address": SOMEBODY, "amount": str(2**127)},
        {"verb": "mint", "address": SOMEBODY, "amount": "0"},
        {"verb": "mint", "address": "0x" + "0" * 40, "amount": "1"},
        {"verb": "mint", "address": SOMEBODY, "amount": "1", "asset": "0x" + "06" * 20},
    ],
)
def test_what_the_bank_cannot_do_moves_no_money(bench: Any, members: Any) -> None:
    """More wei than it has, or a mint that the contract refuses: 400, and the next payment still goes through."""
    bench.call("anvil_setCode", "0x" + "06" * 20, CODE)
    assert "bank" in bench.control_refused(members)
    assert (bench.wei(SOMEBODY), bench.usdc_balance(SOMEBODY)) == (0, 0)
    bench.control("fund", address=SOMEBODY, amount="1")
    assert bench.wei(SOMEBODY) == 1


def test_the_description_lists_what_can_be_done() -> None:
    """Every verb of the profile and every fault, each with a sentence."""
    description = control.describe(Chain(8453, BlockClock()))
    profile = ["fund", "mint", "advance", "block_time_offset", "lag", "reorg", "fault", "snapshot", "restore"]
    assert {*profile, "base_fee", "release"} == set(description["verbs"])
    assert {*ANSWERS, "withhold", "reject_late", "early_finality"} == set(description["faults"])
    assert all([*description["verbs"].values(), *description["faults"].values()])


async def test_control_is_for_this_machine_only() -> None:
    """A caller from elsewhere gets 403 and changes nothing; the RPC stays open to it."""
    chain = Chain(8453, BlockClock())
    client = build_app(chain).test_client()
    far = {"client": ("192.0.2.7", 1234)}
    verb_body = orjson.dumps({"verb": "advance", "blocks": 1})
    assert (await client.post("/control", data=verb_body, scope_base=far)).status_code == 403
    assert (await client.get("/control", scope_base=far)).status_code == 403
    assert chain.head.number == 0
    call_body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_chainId"})
    assert (await client.post("/", data=call_body, scope_base=far)).status_code == 200
    near = {"client": ("127.0.0.1", 1234)}
    assert (await client.post("/control", data=verb_body, scope_base=near)).status_code == 200
    assert chain.head.number == 1


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b"7", b'{"verb":"fund"}'])
async def test_a_control_body_that_is_none_is_refused(body: bytes) -> None:
    """400 in the form of the profile."""
    client = build_app(Chain(8453, BlockClock())).test_client()
    answer = await client.post("/control", data=body, scope_base={"client": ("127.0.0.1", 1)})
    assert answer.status_code == 400
    answer_body = await answer.get_json()
    assert (answer_body["ok"], bool(answer_body["error"])) == (False, True)


@pytest.mark.parametrize("name", sorted(set(ANSWERS) - {"hang", "cut_off"}))
async def test_an_armed_fault_shows_once_for_each_count_and_spares_control(name: str) -> None:
    """The answers in between are not the node's own; afterwards it answers as before."""
    chain = Chain(8453, BlockClock())
    app = build_app(chain)
    app.asgi_app = Faulty(app.asgi_app, chain.faults)  # type: ignore[method-assign]
    client = app.test_client()
    near: dict[str, Any] = {"scope_base": {"client": ("127.0.0.1", 1)}}
    verb_body = orjson.dumps({"verb": "fault", "name": name, "seed": 3, "count": 2})
    assert (await client.post("/control", data=verb_body, **near)).status_code == 200
    call_body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []})
    right = orjson.dumps({"jsonrpc": "2.0", "id": 1, "result": "0x2105"})
    bodies = []
    for _ in range(3):
        assert (await client.get("/control", **near)).status_code == 200
        answer = await client.post("/", data=call_body)
        bodies.append((answer.status_code, await answer.get_data()))
    assert [one == (200, right) for one in bodies] == [False, False, True]


def test_verbs_do_not_mix_while_called_at_once(bench: Any) -> None:
    """A hundred mints at the same time are a hundred mints."""
    verb_body = {"verb": "mint", "address": SOMEBODY, "amount": "3"}

    async def all_at_once() -> list[Any]:
        return list(await asyncio.gather(*[control.carry_out(bench.chain, verb_body) for _ in range(100)]))

    assert {200} == {status for status, _ in asyncio.run(all_at_once())}
    assert bench.usdc_balance(SOMEBODY) == 300
