"""What waits for a block: one transaction a sender and count, replaced only for more, mined oldest first."""

from __future__ import annotations

from typing import Any

import pytest

GWEI = 10**9


@pytest.mark.parametrize(
    ("first", "second", "is_taken"),
    [
        ({}, {"maxFeePerGas": GWEI * 11 // 10, "maxPriorityFeePerGas": GWEI // 1000 * 11 // 10}, True),
        ({}, {"maxFeePerGas": GWEI * 11 // 10 - 1, "maxPriorityFeePerGas": GWEI // 100}, False),
        ({}, {"maxFeePerGas": GWEI * 2}, False),  # the tip must rise as well
        ({}, {"maxFeePerGas": GWEI * 2, "maxPriorityFeePerGas": GWEI // 1000 * 11 // 10 - 1}, False),
        ({"gasPrice": GWEI}, {"gasPrice": GWEI * 11 // 10}, True),
        ({"gasPrice": GWEI}, {"gasPrice": GWEI * 11 // 10 - 1}, False),
    ],
)
def test_a_replacement_pays_a_tenth_more(
    bench: Any, first: dict[str, Any], second: dict[str, Any], is_taken: bool
) -> None:
    """In fee and in tip; otherwise the one that waits stays, and only one of both is ever mined."""
    payer = bench.fund_account()
    old = bench.send(payer, nonce=0, **first)
    if is_taken:
        new = bench.send(payer, nonce=0, value=1, **second)
        assert bench.call("eth_getTransactionByHash", old) is None
    else:
        assert bench.send_refused(payer, nonce=0, value=1, **second) == "replacement transaction underpriced"
        new = old
    bench.mine()
    assert [new] == bench.call("eth_getBlockByNumber", "latest", False)["transactions"]


def test_the_same_transaction_is_known_while_it_waits_and_afterwards(bench: Any) -> None:
    """Sent again: refused as known while it waits, and as too low a count once it is mined."""
    payer = bench.fund_account()
    raw = bench.sign_transaction(payer)
    bench.call("eth_sendRawTransaction", raw)
    assert bench.call_refused("eth_sendRawTransaction", raw)["message"] == "already known"
    bench.mine()
    assert bench.call_refused("eth_sendRawTransaction", raw)["message"].startswith("nonce too low")


def test_what_waits_can_be_looked_up_without_a_block(bench: Any) -> None:
    """A transaction with null for its block, and no receipt."""
    payer = bench.fund_account()
    tx_hash = bench.send(payer)
    transaction = bench.call("eth_getTransactionByHash", tx_hash)
    assert (
        transaction["hash"],
        transaction["blockHash"],
        transaction["blockNumber"],
        transaction["transactionIndex"],
    ) == (tx_hash, None, None, None)
    assert bench.call("eth_getTransactionReceipt", tx_hash) is None


def test_the_oldest_comes_first_and_each_senders_in_order(bench: Any) -> None:
    """Two senders, whose transactions came in mixed order."""
    first_key, two = bench.fund_account(), bench.fund_account()
    tx_hashes = [bench.send(key, nonce=nonce) for key, nonce in ((first_key, 1), (two, 0), (first_key, 0), (two, 1))]
    bench.mine()
    mined_hashes = bench.call("eth_getBlockByNumber", "latest", False)["transactions"]
    assert [tx_hashes[place] for place in (1, 2, 3, 0)] == mined_hashes


def test_a_fee_below_the_base_fee_waits_for_better_days(bench: Any) -> None:
    """It stays in the pool as long as the base fee is higher, and is mined once it is not."""
    payer = bench.fund_account()
    bench.control("base_fee", amount=str(2 * GWEI))
    tx_hash = bench.send(payer)
    bench.mine(2)
    assert bench.call("eth_getTransactionReceipt", tx_hash) is None
    bench.control("base_fee", amount=str(GWEI // 2))
    bench.mine()
    receipt = bench.call("eth_getTransactionReceipt", tx_hash)
    assert int(receipt["effectiveGasPrice"], 16) == GWEI // 2 + GWEI // 1000


def test_what_cannot_be_paid_any_more_is_dropped(bench: Any) -> None:
    """Money that went away before the block: never mined, and its count is free again."""
    payer = bench.fund_account(wei=10**15)
    first = bench.send(payer, nonce=0, to=bench.usdc, value=0, gas=100_000)
    second = bench.send(payer, nonce=1, value=0)
    bench.call("anvil_setBalance", payer.address, hex(10**14))
    bench.mine()
    assert bench.call("eth_getTransactionReceipt", first)["status"] == "0x0"
    assert bench.call("eth_getTransactionReceipt", second) is None
    assert bench.call("eth_getTransactionByHash", second) is None
    assert bench.number("eth_getTransactionCount", payer.address, "pending") == 1
