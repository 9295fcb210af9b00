"""Blocks that follow each other, what is final, older states, and what a reorganisation or a snapshot undoes."""

from __future__ import annotations

from typing import Any

import pytest
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

OTHER_ADDRESS = to_checksum_address("0x" + "0b" * 20)
TRANSFER = "0x" + keccak(b"Transfer(address,address,uint256)").hex()
GWEI = 10**9


def number(quantity: Any) -> int:
    return int(quantity["number"], 16)


def test_blocks_follow_each_other(bench: Any) -> None:
    """Numbers rise by one, each names the one before, times never go back, and each is found by its hash."""
    bench.mine(5)
    bench.system_time -= 100
    bench.mine()
    blocks = [bench.call("eth_getBlockByNumber", hex(place), False) for place in range(7)]
    assert list(range(7)) == [number(one) for one in blocks]
    assert [one["hash"] for one in blocks[:-1]] == [one["parentHash"] for one in blocks[1:]]
    times = [int(one["timestamp"], 16) for one in blocks]
    assert sorted(times) == times
    for block in blocks:
        assert block == bench.call("eth_getBlockByHash", block["hash"], False)
    assert bench.call("eth_getBlockByNumber", hex(7), False) is None
    assert bench.call("eth_getBlockByHash", "0x" + "1" * 64, False) is None


def test_safe_and_final_blocks_trail_the_newest(bench: Any) -> None:
    """By twelve and twenty-four blocks, from the genesis on."""
    numbers_by_tag: dict[str, list[int]] = {"latest": [], "safe": [], "finalized": [], "earliest": []}
    for _ in range(3):
        for tag, heights in numbers_by_tag.items():
            heights.append(number(bench.call("eth_getBlockByNumber", tag, False)))
        bench.mine(15)
    assert numbers_by_tag == {"latest": [0, 15, 30], "safe": [0, 3, 18], "finalized": [0, 0, 6], "earliest": [0, 0, 0]}


def test_a_payment_has_the_same_place_wherever_it_is_looked_up(bench: Any) -> None:
    """Receipt, transaction, block and event search agree; confirmations are blocks on top."""
    payer = bench.fund_account(usdc=100)
    bench.mine(2)
    tx_hash = bench.send(payer, **bench.transfer(OTHER_ADDRESS, 7))
    other_hash = bench.send(payer, value=1)
    bench.mine()
    receipt = bench.call("eth_getTransactionReceipt", tx_hash)
    assert (receipt["status"], receipt["transactionIndex"], receipt["logs"][0]["topics"][0]) == ("0x1", "0x0", TRANSFER)
    block = bench.call("eth_getBlockByHash", receipt["blockHash"], True)
    assert [tx_hash, other_hash] == [one["hash"] for one in block["transactions"]]
    assert block["transactions"][0] == bench.call("eth_getTransactionByHash", tx_hash)
    place = {name: receipt[name] for name in ("blockHash", "blockNumber", "transactionIndex", "transactionHash")}
    whole = {"fromBlock": "earliest", "toBlock": "latest", "address": bench.usdc, "topics": [TRANSFER, None]}
    log = bench.call("eth_getLogs", whole)[-1]
    assert log == receipt["logs"][0]
    assert place == {name: log[name] for name in place}
    second = bench.call("eth_getTransactionReceipt", other_hash)
    total = int(receipt["gasUsed"], 16) + int(second["gasUsed"], 16)
    assert (hex(total), hex(total)) == (second["cumulativeGasUsed"], block["gasUsed"])
    bench.mine(3)
    assert bench.number("eth_blockNumber") - int(receipt["blockNumber"], 16) == 3


def test_fees_are_taken_from_the_sender_and_nothing_is_lost(bench: Any) -> None:
    """Gas used times the price the receipt tells, also for a transaction that failed."""
    payer = bench.fund_account(wei=10**18)
    good = bench.mine_transaction(payer, to=OTHER_ADDRESS, value=5)
    bad = bench.mine_transaction(payer, **bench.transfer(OTHER_ADDRESS, 1))
    assert (good["status"], bad["status"], bad["logs"]) == ("0x1", "0x0", [])
    fees = sum(int(one["gasUsed"], 16) * int(one["effectiveGasPrice"], 16) for one in (good, bad))
    assert 10**18 - 5 - fees == bench.wei(payer.address)
    assert bench.wei(OTHER_ADDRESS) == 5


def test_older_states_are_those_of_their_blocks(bench: Any) -> None:
    """By number, hash and tag: money, counts and calls as they were; a block that is not there is an error."""
    payer = bench.fund_account(usdc=100)
    start = bench.number("eth_blockNumber")
    for _ in range(3):
        bench.mine_transaction(payer, **bench.transfer(OTHER_ADDRESS, 10))
    assert [bench.usdc_balance(OTHER_ADDRESS, hex(start + one)) for one in range(4)] == [0, 10, 20, 30]
    block = bench.call("eth_getBlockByNumber", hex(start + 1), False)
    assert bench.usdc_balance(OTHER_ADDRESS, {"blockHash": block["hash"]}) == 10
    assert bench.usdc_balance(OTHER_ADDRESS, {"blockNumber": hex(start + 2)}) == 20
    assert [bench.number("eth_getTransactionCount", payer.address, hex(start + one)) for one in range(4)] == [
        0,
        1,
        2,
        3,
    ]
    assert bench.wei(payer.address, "earliest") == 0
    assert bench.usdc_balance(OTHER_ADDRESS, "finalized") == 0
    bench.mine(24)
    assert bench.usdc_balance(OTHER_ADDRESS, "finalized") == 30
    for tag in (hex(10**6), {"blockHash": "0x" + "1" * 64}):
        assert bench.call_refused("eth_getBalance", OTHER_ADDRESS, tag) == {
            "code": -32000,
            "message": "header not found",
        }


def test_event_searches_keep_to_their_bounds(bench: Any) -> None:
    """Blocks, address, and topics with alternatives and gaps."""
    payer, first = bench.fund_account(usdc=100), bench.number("eth_blockNumber") + 1
    for amount in (1, 2, 3):
        bench.mine_transaction(payer, **bench.transfer(OTHER_ADDRESS, amount))
    to, sender = ("0x" + "0" * 24 + one[2:].lower() for one in (OTHER_ADDRESS, payer.address))

    def amounts(**members: Any) -> list[int]:
        log_filter = {"fromBlock": hex(first), "toBlock": "latest", **members}
        return [int(one["data"], 16) for one in bench.call("eth_getLogs", log_filter)]

    assert amounts() == amounts(topics=[]) == amounts(topics=[None, None, to]) == [1, 2, 3]
    assert amounts(fromBlock=hex(first + 1), toBlock=hex(first + 1)) == [2]
    assert amounts(topics=[[TRANSFER, "0x" + "1" * 64], sender.upper().replace("X", "x")]) == [1, 2, 3]
    assert amounts(topics=[TRANSFER, to]) == amounts(topics=["0x" + "1" * 64]) == []
    assert amounts(topics=[TRANSFER, None, None, None]) == []  # there are three topics, not four
    assert amounts(address=[OTHER_ADDRESS, bench.usdc]) == [1, 2, 3]
    assert amounts(address=OTHER_ADDRESS) == []
    block = bench.call("eth_getBlockByNumber", hex(first + 2), False)
    assert [int(one["data"], 16) for one in bench.call("eth_getLogs", {"blockHash": block["hash"]})] == [3]
    refusal = bench.call_refused("eth_getLogs", {"fromBlock": hex(first + 1), "toBlock": hex(first)})
    assert refusal == {"code": -32000, "message": "invalid block range params"}


def read_everything(bench: Any, *owners: str) -> Any:
    return [
        (bench.usdc_balance(one), bench.wei(one), bench.number("eth_getTransactionCount", one, "latest"))
        for one in owners
    ]


def test_a_reorganisation_undoes_effects_and_lookups(bench: Any) -> None:
    """Money, counts, transactions, receipts and events of the dropped blocks are gone; other blocks stand there."""
    payer = bench.fund_account(usdc=100)
    kept_hash = bench.send(payer, **bench.transfer(OTHER_ADDRESS, 1))
    bench.mine()
    before, head = read_everything(bench, payer.address, OTHER_ADDRESS), bench.number("eth_blockNumber")
    gone_hashes = [
        bench.mine_transaction(payer, **bench.transfer(OTHER_ADDRESS, 10))["transactionHash"] for _ in range(2)
    ]
    old = [bench.call("eth_getBlockByNumber", hex(head + one), False) for one in (1, 2)]
    assert gone_hashes == bench.control("reorg", depth=2)["dropped"]
    assert before == read_everything(bench, payer.address, OTHER_ADDRESS)
    for tx_hash in gone_hashes:
        assert bench.call("eth_getTransactionReceipt", tx_hash) is None
        assert bench.call("eth_getTransactionByHash", tx_hash) is None
    assert bench.call("eth_getTransactionReceipt", kept_hash)["status"] == "0x1"
    assert bench.number("eth_blockNumber") == head + 2
    for tx_hash in old:
        new = bench.call("eth_getBlockByNumber", tx_hash["number"], False)
        assert (new["transactions"], new["timestamp"]) == ([], tx_hash["timestamp"])
        assert new["hash"] != tx_hash["hash"]
        assert bench.call("eth_getBlockByHash", tx_hash["hash"], False) is None
    transfers = bench.call("eth_getLogs", {"fromBlock": hex(head), "topics": [TRANSFER]})
    assert [kept_hash] == [one["transactionHash"] for one in transfers]


def test_what_was_reorganised_away_can_be_sent_again(bench: Any) -> None:
    """The same bytes are taken, and the same again after a second reorganisation."""
    payer = bench.fund_account(usdc=100)
    raw = bench.sign_transaction(payer, **bench.transfer(OTHER_ADDRESS, 10))
    for _ in range(3):
        tx_hash = bench.call("eth_sendRawTransaction", raw)
        bench.mine()
        assert bench.usdc_balance(OTHER_ADDRESS) == 10
        assert [tx_hash] == bench.control("reorg", depth=1)["dropped"]
        assert bench.usdc_balance(OTHER_ADDRESS) == 0


def test_a_reorganisation_leaves_the_pool_alone(bench: Any) -> None:
    """What waits is mined later."""
    payer = bench.fund_account()
    bench.control("fault", name="withhold")
    waiting_hash = bench.send(payer)
    bench.mine(3)
    bench.control("reorg", depth=2)
    bench.control("release")
    bench.mine()
    assert bench.call("eth_getTransactionReceipt", waiting_hash)["status"] == "0x1"


def test_the_past_is_done_again_at_its_own_price(bench: Any) -> None:
    """A base fee that changed since changes nothing about what older blocks cost."""
    payer = bench.fund_account(usdc=100)
    bench.mine_transaction(payer, **bench.transfer(OTHER_ADDRESS, 10))
    before = read_everything(bench, payer.address, OTHER_ADDRESS)
    bench.control("base_fee", amount=str(GWEI * 9 // 10))
    bench.mine(2)
    bench.control("reorg", depth=1)
    assert before == read_everything(bench, payer.address, OTHER_ADDRESS)


@pytest.mark.parametrize("depth", [1, 3, 30])
def test_deep_reorganisations_lead_to_the_state_of_their_root(bench: Any, depth: int) -> None:
    """Cheat calls and creations of kept blocks stay, those of dropped ones go."""
    payer = bench.fund_account(usdc=1000)
    bench.call("anvil_setStorageAt", OTHER_ADDRESS, "0x1", "0x" + "0" * 63 + "5")
    bench.mine()
    root, state = bench.number("eth_blockNumber"), read_everything(bench, payer.address, OTHER_ADDRESS)
    for step in range(depth):
        bench.call("anvil_setStorageAt", OTHER_ADDRESS, "0x1", hex(100 + step))
        bench.mine_transaction(payer, **bench.transfer(OTHER_ADDRESS, 1))
    bench.control("reorg", depth=depth)
    assert state == read_everything(bench, payer.address, OTHER_ADDRESS)
    assert bench.number("eth_getStorageAt", OTHER_ADDRESS, "0x1", "latest") == 5
    assert bench.number("eth_blockNumber") == root + depth


def test_a_snapshot_returns_to_the_whole_chain(bench: Any) -> None:
    """Head, money and lookups are those of then, as often as asked, and the pool is empty."""
    payer = bench.fund_account(usdc=100)
    number_of = bench.control("snapshot")["id"]
    head, before = (
        bench.call("eth_getBlockByNumber", "latest", False),
        read_everything(bench, payer.address, OTHER_ADDRESS),
    )
    for amount in (1, 2):
        gone_hash = bench.mine_transaction(payer, **bench.transfer(OTHER_ADDRESS, amount))["transactionHash"]
        waiting_hash = bench.send(payer)
        bench.control("restore", id=number_of)
        assert head == bench.call("eth_getBlockByNumber", "latest", False)
        assert before == read_everything(bench, payer.address, OTHER_ADDRESS)
        bench.mine()
        for tx_hash in (gone_hash, waiting_hash):
            assert bench.call("eth_getTransactionByHash", tx_hash) is None


def test_two_chains_made_alike_are_alike(bench: Any) -> None:
    """Hashes, accounts and receipts follow from what was done, and differ from another chain's."""
    twin, other_chain = type(bench)(), type(bench)(84532)
    blocks = []
    for chain_bench in (bench, twin, other_chain):
        payer = chain_bench.fund_account(usdc=5)
        blocks.append(
            (chain_bench.mine_transaction(payer, **chain_bench.transfer(OTHER_ADDRESS, 5)), chain_bench.chain.head.hash)
        )
    assert blocks[0] == blocks[1]
    assert blocks[0][1] != blocks[2][1]


def test_a_block_tells_what_is_in_it(bench: Any) -> None:
    """Its receipts, its count and each place agree with the single lookups; beyond the last place is nothing."""
    payer = bench.fund_account(usdc=5)
    tx_hashes = [bench.send(payer, **bench.transfer(OTHER_ADDRESS, 1)), bench.send(payer, value=1)]
    bench.mine()
    block = bench.call("eth_getBlockByNumber", "latest", False)
    receipts = [bench.call("eth_getTransactionReceipt", one) for one in tx_hashes]
    assert receipts == bench.call("eth_getBlockReceipts", block["number"])
    places = [bench.call("eth_getTransactionByBlockNumberAndIndex", block["number"], hex(one)) for one in range(3)]
    assert places == [*(bench.call("eth_getTransactionByHash", one) for one in tx_hashes), None]
    by_hash = bench.call("eth_getTransactionByBlockHashAndIndex", block["hash"], "0x1")
    assert by_hash == places[1]
    counts = (
        ("eth_getBlockTransactionCountByNumber", block["number"]),
        (
            "eth_getBlockTransactionCountByHash",
            block["hash"],
        ),
    )
    assert [bench.call(*one) for one in counts] == ["0x2", "0x2"]
    for method in ("eth_getBlockReceipts", "eth_getBlockTransactionCountByNumber"):
        assert bench.call(method, hex(10**6)) is None


def test_the_filter_of_a_block_holds_its_events_and_hardly_others(bench: Any) -> None:
    """Address and topics are in it; of many others nearly none is; without events it is empty."""
    payer = bench.fund_account(usdc=5)
    bench.mine_transaction(payer, **bench.transfer(OTHER_ADDRESS, 1))
    bits = int(bench.call("eth_getBlockByNumber", "latest", False)["logsBloom"], 16)

    def holds(value: bytes) -> bool:
        digest = keccak(value)
        return all(bits >> (int.from_bytes(digest[place : place + 2], "big") % 2048) & 1 for place in (0, 2, 4))

    assert holds(bytes.fromhex(bench.usdc[2:]))
    assert holds(bytes.fromhex(TRANSFER[2:]))
    assert sum(holds(number.to_bytes(32, "big")) for number in range(1000)) < 5
    bench.mine()
    assert int(bench.call("eth_getBlockByNumber", "latest", False)["logsBloom"], 16) == 0


def test_an_access_list_is_paid_for_and_a_failed_creation_has_an_address(bench: Any) -> None:
    """2,400 an address and 1,900 a slot; the address follows from sender and count, with no code there."""
    payer = bench.fund_account()
    access_list = [{"address": bench.usdc, "storageKeys": ["0x" + "0" * 64] * 2}]
    assert int(bench.mine_transaction(payer, accessList=access_list)["gasUsed"], 16) == 21_000 + 2_400 + 2 * 1_900
    creations = [bench.mine_transaction(payer, to="", data=code) for code in (b"\xfe", b"")]
    assert [one["status"] for one in creations] == ["0x0", "0x1"]
    assert creations[0]["contractAddress"] != creations[1]["contractAddress"]
    assert bench.call("eth_getCode", creations[0]["contractAddress"], "latest") == "0x"
