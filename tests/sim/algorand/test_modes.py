"""The modes of the simulated Algorand: when blocks are made, which time they bear, and what the node says of itself."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from algosdk import transaction
from algosdk.v2client.algod import AlgodClient
from algosdk.v2client.indexer import IndexerClient

from sim.algorand.chain import Chain, Genesis
from sim.algorand.mode import Mode
from sim.clock import BlockClock
from tests import prepared
from tests.algorand_signing import signed_by
from tests.sim.algorand.conftest import USDC, Node
from tests.sim.algorand.test_chain import payment


@contextmanager
def node_in(mode: str, *words: str) -> Iterator[Node]:
    """Start a simulator in a mode."""
    with prepared.run_ready(
        "sim.algorand", "--algod-port", "0", "--indexer-port", "0", "--mode", mode, *words
    ) as ready:
        token = ready["token"]
        algod = AlgodClient(token, ready["algod"])
        yield Node(ready["algod"], ready["indexer"], algod, IndexerClient(token, ready["indexer"]))


@pytest.fixture(scope="module")
def dev() -> Iterator[Node]:
    """A node in DevMode that was idle for an hour; its interval would show blocks that nothing was submitted for."""
    with node_in("dev", "--block-seconds", "0.01", "--idle-seconds", "3600") as node:
        yield node


@pytest.fixture(scope="module")
def rounds() -> Iterator[Node]:
    """A node with ordinary rounds."""
    with node_in("rounds", "--block-seconds", "0.05") as node:
        yield node


def newest(node: Node) -> tuple[int, int]:
    """Return number and time of the newest block."""
    status: Any = node.algod.status()
    block: Any = node.algod.block_info(status["last-round"])
    return status["last-round"], block["block"]["ts"]


def ready(node: Node) -> int:
    """Return the status of /ready."""
    try:
        with urllib.request.urlopen(node.algod_url + "/ready") as answer:
            return int(answer.status)
    except urllib.error.HTTPError as answer:
        return answer.code


def test_devmode_makes_a_block_for_each_group_and_none_besides(dev: Node) -> None:
    """A submission returns when its block is there; without one the round stays."""
    key, sender = dev.fund_account(USDC)
    first, _ = newest(dev)
    time.sleep(0.2)
    assert newest(dev)[0] == first
    params = dev.algod.suggested_params()
    for number in range(1, 4):
        payment = transaction.PaymentTxn(sender, params, sender, 0, note=bytes([number]))
        tx_id = dev.algod.send_transaction(signed_by(key, payment))
        info: Any = dev.algod.pending_transaction_info(tx_id)
        assert info["confirmed-round"] == first + number


def test_block_times_of_devmode_are_at_most_25_s_apart(dev: Node) -> None:
    """After an idle hour each payment moves the node's time on by 25 s, and no verb moves it further."""
    key, sender = dev.fund_account()
    before = newest(dev)
    assert before[1] < time.time() - 1800
    dev.send(key, transaction.PaymentTxn(sender, dev.algod.suggested_params(), sender, 0))
    assert newest(dev) == (before[0] + 1, before[1] + 25)
    verbs = json.loads(urllib.request.urlopen(dev.algod_url + "/control").read())["verbs"]
    assert "block_time_offset" not in verbs
    assert dev.control("advance", seconds=60)[0] == 400
    assert dev.control("advance", blocks=2)[1]["round"] == before[0] + 3
    assert newest(dev)[1] == before[1] + 75


def test_an_idle_node_in_devmode_is_not_ready(dev: Node, rounds: Node) -> None:
    """/ready is 503 once there was no block for 17 s; with ordinary rounds that does not happen."""
    key, sender = dev.fund_account()
    assert (ready(dev), ready(rounds)) == (200, 200)
    dev.control("idle", seconds=18)
    assert ready(dev) == 503
    status: Any = dev.algod.status()
    assert status["time-since-last-round"] >= 18 * 10**9
    dev.send(key, transaction.PaymentTxn(sender, dev.algod.suggested_params(), sender, 0))
    assert ready(dev) == 200


def test_idle_time_passes_for_a_node_in_devmode_without_a_block() -> None:
    """The clock of the node goes on, and the next block follows it by 25 s."""
    chain = Chain(Genesis(), BlockClock(lambda: 1_000_000), mode=Mode.DEV)
    chain.clock.set_offset(600)
    assert chain.blocks[-1].time == 1_000_000
    assert [chain.seal().time - 1_000_000 for _ in range(26)] == [*range(25, 601, 25), 600, 600]


def test_a_payment_lands_two_rounds_after_the_newest_one(rounds: Node) -> None:
    """It is in the pool for the block in between, and what follows from it may be submitted at once."""
    key, sender = rounds.fund_account(USDC)
    landed_rounds, waited_rounds = [], []
    for number in range(5):
        round_before: Any = rounds.algod.status()
        payment = transaction.PaymentTxn(sender, rounds.algod.suggested_params(), sender, 0, note=bytes([number]))
        tx_id = rounds.algod.send_transaction(signed_by(key, payment))
        round_after: Any = rounds.algod.status()
        waited_rounds.append("confirmed-round" not in rounds.algod.pending_transaction_info(tx_id))
        confirmed_round = transaction.wait_for_confirmation(rounds.algod, tx_id, 10)["confirmed-round"]
        landed_rounds.append(round_before["last-round"] + 2 <= confirmed_round <= round_after["last-round"] + 2)
    assert all(landed_rounds)
    assert any(waited_rounds)


def test_what_waits_is_evaluated_again_on_each_new_block() -> None:
    """A transaction that can no longer land leaves the pool with an error before its round."""
    chain = Chain(Genesis(), BlockClock(lambda: 1_000_000), mode=Mode.ROUNDS)
    tx_id = chain.submit([payment(chain, 200_000, last=chain.round + 1)])
    chain.seal()
    error = chain.find_error(tx_id)
    assert error is not None
    assert error[1].startswith("txn dead")


def test_a_verb_with_money_returns_once_its_block_is_there(rounds: Node) -> None:
    """What `fund` gives can be spent when it returns, also where blocks take two rounds."""
    _, address = rounds.fund_account()
    info: Any = rounds.algod.account_info(address)
    assert info["amount"] == 10_000_000
