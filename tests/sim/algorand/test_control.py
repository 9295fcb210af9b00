"""The control verbs and the faults of the simulated Algorand."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from http.client import HTTPException, IncompleteRead
from typing import Any

import pytest
from algosdk import account, transaction
from algosdk.error import AlgodHTTPError, IndexerHTTPError

from tests.algorand_signing import opt_in, signed_by
from tests.sim.algorand.conftest import USDC, Node


def get(url: str, seconds: float = 60) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=seconds) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read()


def test_verbs_and_faults_are_listed(node: Node) -> None:
    """GET /control says what there is, with a sentence each."""
    description = json.loads(get(node.algod_url + "/control")[1])
    assert {"fund", "mint", "opt_in", "advance", "block_time_offset", "lag", "reorg", "fault"} <= set(
        description["verbs"]
    )
    assert {"unavailable", "hang", "cut_off", "not_json", "wrong_shape", "withhold"} <= set(description["faults"])
    assert all(description["verbs"].values())


@pytest.mark.parametrize(
    "request_body",
    [
        {"verb": "conjure"},
        {"verb": "fund", "address": "x", "amount": "1"},
        {"verb": "fund", "address": account.generate_account()[1], "amount": 1},
        {"verb": "mint", "address": account.generate_account()[1], "amount": "1", "asset": "77"},
        {"verb": "advance"},
        {"verb": "advance", "blocks": 1, "seconds": 1},
        {"verb": "lag", "blocks": -1},
        {"verb": "fault", "name": "gremlin"},
        {"verb": "restore", "id": 999},
        {"verb": "reorg", "depth": 1},
        [],
    ],
)
def test_a_bad_verb_is_refused_with_a_reason(node: Node, request_body: Any) -> None:
    """Unknown verbs, bad members and what the chain does not do are 400 with a sentence."""
    status, answer = node.post(node.algod_url + "/control", json.dumps(request_body).encode())
    assert status == 400
    assert answer["ok"] is False
    assert answer["error"]


def test_money_comes_by_verbs(node: Node) -> None:
    """Fund credits any address; mint one that has opted in, also when the opt-in still waits for its block."""
    key, address = account.generate_account()
    assert node.control("fund", address=address, amount="323456")[1]["ok"] is True
    status, answer = node.control("mint", address=address, amount="77")
    assert (status, "receiver error: must optin, asset" in answer["error"]) == (400, True)
    assert node.holding(address, USDC) is None
    opt_in(node.algod, key, USDC)
    assert node.control("mint", address=address, amount="77")[0] == 200
    assert node.holding(address, USDC) == 77


def test_an_account_is_opted_in_without_its_key_by_a_verb_for_that_alone(node: Node) -> None:
    """The verb gives the Algos that the holding takes, and changes nothing the second time."""
    address = account.generate_account()[1]
    for _ in range(2):
        assert node.control("opt_in", address=address) == (200, {"ok": True})
        info: Any = node.algod.account_info(address)
        assert (info["amount"], info["assets"]) == (200_000, [{"asset-id": USDC, "amount": 0, "is-frozen": False}])
    assert node.control("opt_in", address=address, asset="77")[0] == 400


def test_block_times_move_forward_only(node: Node) -> None:
    """An offset moves block times; a smaller one is refused; advance adds blocks and seconds."""
    start = time.time()
    assert node.control("block_time_offset", seconds=5000)[0] == 200
    assert node.control("block_time_offset", seconds=4000)[0] == 400
    before: Any = node.algod.status()
    node.control("advance", blocks=3)
    after: Any = node.algod.status()
    assert after["last-round"] >= before["last-round"] + 3
    block: Any = node.algod.block_info(after["last-round"])
    assert block["block"]["ts"] >= start + 4990
    node.control("advance", seconds=600)
    later: Any = node.algod.block_info(node.algod.status()["last-round"])  # type: ignore[call-overload]
    assert later["block"]["ts"] >= block["block"]["ts"] + 590


def test_the_indexer_can_lag(node: Node) -> None:
    """With a lag a fresh transaction is at algod and not yet at the indexer."""
    key, sender = node.fund_account()
    node.control("lag", blocks=100_000)
    tx_id = node.send(key, transaction.PaymentTxn(sender, node.algod.suggested_params(), sender, 0))
    with pytest.raises(IndexerHTTPError):
        node.indexer.transaction(tx_id)
    node.control("lag", blocks=0)
    assert node.indexer.transaction(tx_id)["transaction"]["id"] == tx_id


def test_a_withheld_transaction_waits_for_its_release(node: Node) -> None:
    """It is in the pool and in no block until it is released."""
    key, sender = node.fund_account()
    node.control("fault", name="withhold", seed=1, count=1)
    withheld_payment = transaction.PaymentTxn(sender, node.algod.suggested_params(), sender, 0, note=b"held")
    tx_id = node.algod.send_transaction(signed_by(key, withheld_payment))
    free = transaction.PaymentTxn(sender, node.algod.suggested_params(), sender, 0, note=b"free")
    node.send(key, free)
    assert "confirmed-round" not in node.algod.pending_transaction_info(tx_id)
    assert node.control("release")[1]["released"] == 1
    assert transaction.wait_for_confirmation(node.algod, tx_id, 10)["confirmed-round"] > 0


def test_a_transaction_can_leave_the_pool_with_an_error(node: Node) -> None:
    """It was accepted, and then the node tells a pool error and no round."""
    key, sender = node.fund_account()
    node.control("fault", name="reject_late", seed=1, count=1)
    tx_id = node.algod.send_transaction(
        signed_by(key, transaction.PaymentTxn(sender, node.algod.suggested_params(), sender, 0))
    )
    node.control("advance", blocks=1)
    info: Any = node.algod.pending_transaction_info(tx_id)
    assert info["pool-error"]
    assert "confirmed-round" not in info


def test_a_snapshot_brings_the_whole_chain_back(node: Node) -> None:
    """After restore the money and the transactions since are gone, and the same account can pay again."""
    key, sender = node.fund_account(USDC)
    snapshot_id = node.control("snapshot")[1]["id"]
    params = node.algod.suggested_params()
    tx_id = node.send(key, transaction.AssetTransferTxn(sender, params, sender, 1, USDC))
    _, late = node.fund_account()
    assert node.control("restore", id=snapshot_id)[0] == 200
    with pytest.raises(AlgodHTTPError):
        node.algod.pending_transaction_info(tx_id)
    assert node.algod.account_info(late)["amount"] == 0  # type: ignore[call-overload]
    assert node.holding(sender, USDC) == 1_000_000


@pytest.mark.parametrize(
    ("name", "status", "start"),
    [
        ("unavailable", 503, b"upstream"),
        ("server_error", 500, b'{"message":"internal failure'),
        ("unauthorised", 401, b'{"message":"Invalid API Token"}'),
        ("not_json", 200, b"<html>"),
        ("empty_body", 200, b""),
        ("lost", 404, b"404 page not found"),
    ],
)
def test_a_fault_shows_for_as_many_answers_as_told(node: Node, name: str, status: int, start: bytes) -> None:
    """Two answers show the fault at both services, the third does not; its details follow from the seed."""
    node.control("fault", name=name, seed=3, count=2)
    first = get(node.algod_url + "/health")
    second = get(node.indexer_url + "/health")
    assert first[0] == second[0] == status
    assert first[1].startswith(start)
    assert get(node.algod_url + "/health")[0] == 200
    node.control("fault", name=name, seed=3, count=1)
    assert get(node.algod_url + "/health") == first


def test_an_answer_can_be_cut_off_or_never_come(node: Node) -> None:
    """cut_off ends the connection before the promised length; hang gives nothing until the client gives up."""
    node.control("fault", name="cut_off", seed=1, count=1)
    with pytest.raises((IncompleteRead, HTTPException, OSError)):
        get(node.algod_url + "/health")
    node.control("fault", name="hang", seed=1, count=1)
    with pytest.raises((TimeoutError, urllib.error.URLError)):
        get(node.algod_url + "/health", 2)
    node.control("fault", name="unavailable", seed=1, count=1000)
    assert node.control("fault", name="unavailable", seed=1, count=0)[0] == 200
    assert get(node.algod_url + "/health")[0] == 200
