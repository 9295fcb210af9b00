"""Looking things up with unmodified SDK clients: rounds, the pool, pages, filters, msgpack."""

from __future__ import annotations

import base64
from typing import Any

import msgpack
import pytest
from algosdk import transaction
from algosdk.error import IndexerHTTPError

from tests.algorand_signing import signed_by
from tests.sim.algorand.conftest import USDC, Node


def test_waiting_for_a_block_ends_with_it(node: Node) -> None:
    """The status that comes back is of a later round, though nothing was submitted."""
    before: Any = node.algod.status()
    after: Any = node.algod.status_after_block(before["last-round"] + 1)
    assert after["last-round"] >= before["last-round"] + 2


def test_the_pool_shows_what_waits(node: Node) -> None:
    """A withheld transaction is among the pending ones until its block."""
    key, sender = node.fund_account()
    node.control("fault", name="withhold", seed=1, count=1)
    payment = transaction.PaymentTxn(sender, node.algod.suggested_params(), sender, 0, note=b"in the pool")
    tx_id = node.algod.send_transaction(signed_by(key, payment))
    pool: Any = node.algod.pending_transactions()
    assert [base64.b64decode(one["txn"]["note"]) for one in pool["top-transactions"]] == [b"in the pool"]
    node.control("release")
    transaction.wait_for_confirmation(node.algod, tx_id, 10)
    pool = node.algod.pending_transactions()
    assert pool["total-transactions"] == 0


def test_the_pool_of_an_account_shows_what_concerns_it(node: Node) -> None:
    """A withheld transfer is among the pending ones of its sender and its receiver only."""
    key, sender = node.fund_account()
    _, receiver = node.fund_account()
    _, stranger = node.fund_account()
    node.control("fault", name="withhold", seed=1, count=1)
    payment = transaction.PaymentTxn(sender, node.algod.suggested_params(), receiver, 1, note=b"for two")
    tx_id = node.algod.send_transaction(signed_by(key, payment))
    for address, count in ((sender, 1), (receiver, 1), (stranger, 0)):
        pool: Any = node.algod.pending_transactions_by_address(address)
        assert (pool["total-transactions"], len(pool["top-transactions"])) == (count, count)
    node.control("release")
    transaction.wait_for_confirmation(node.algod, tx_id, 10)
    pool = node.algod.pending_transactions_by_address(receiver)
    assert pool["total-transactions"] == 0


def test_msgpack_answers_hold_raw_bytes(node: Node) -> None:
    """What JavaScript's SDK asks for: the same transaction, addresses and notes as bytes, in its block too."""
    key, sender = node.fund_account()
    payment = transaction.PaymentTxn(sender, node.algod.suggested_params(), sender, 0, note=b"\0\xff")
    tx_id = node.send(key, payment)
    raw: Any = node.algod.pending_transaction_info(tx_id, response_format="msgpack")
    info = msgpack.unpackb(raw)
    assert info["txn"]["txn"]["note"] == b"\0\xff"
    raw = node.algod.block_info(info["confirmed-round"], response_format="msgpack")
    block = msgpack.unpackb(raw)["block"]
    assert block["rnd"] == info["confirmed-round"]
    assert [one["hgi"] for one in block["txns"] if one["txn"].get("note") == b"\0\xff"] == [True]
    assert all("gh" not in one["txn"] for one in block["txns"])


def test_pages_hold_every_transaction_once(node: Node) -> None:
    """Following next-token gives all transactions of an account, newest first, none twice."""
    key, sender = node.fund_account()
    for note in (b"1", b"2", b"3", b"4", b"5"):
        node.send(key, transaction.PaymentTxn(sender, node.algod.suggested_params(), sender, 0, note=note))
    notes: list[str] = []
    token = None
    while True:
        page: Any = node.indexer.search_transactions_by_address(sender, limit=2, next_page=token)
        notes += [base64.b64decode(one["note"]).decode() for one in page["transactions"]]
        token = page.get("next-token")
        if token is None:
            break
    assert notes[:5] == ["5", "4", "3", "2", "1"]
    assert len(notes) == 6  # and the one that funded it


def test_searches_can_be_narrowed(node: Node) -> None:
    """By role, type, amount and rounds; other transactions are not returned."""
    key, sender = node.fund_account(USDC)
    _, receiver = node.fund_account(USDC)
    params = node.algod.suggested_params()
    tx_id = node.send(key, transaction.AssetTransferTxn(sender, params, receiver, 300, USDC, note=b"narrow"))
    info: Any = node.algod.pending_transaction_info(tx_id)
    fits: dict[str, Any] = {
        "address": receiver,
        "address_role": "receiver",
        "txn_type": "axfer",
        "asset_id": USDC,
        "min_amount": 299,
        "max_amount": 301,
        "block": info["confirmed-round"],
    }
    search: Any = node.indexer.search_transactions(**fits)
    assert [one["id"] for one in search["transactions"]] == [tx_id]
    other_values = {"address_role": "sender", "txn_type": "pay", "asset_id": 10458941, "min_amount": 300, "block": 1}
    for name, value in other_values.items():
        empty_search: Any = node.indexer.search_transactions(**{**fits, name: value})
        assert empty_search["transactions"] == [], name


def test_the_indexer_tells_accounts_and_assets(node: Node) -> None:
    """Holdings, an asset with its creator and its holders; an unused account is not found."""
    _, holder = node.fund_account(USDC)
    info: Any = node.indexer.account_info(holder)
    assert info["account"]["amount"] == 10_000_000 - 1000  # less the fee of the opt-in
    assets: Any = node.indexer.lookup_account_assets(holder)
    assert [(one["asset-id"], one["amount"]) for one in assets["assets"]] == [(USDC, 1_000_000)]
    asset: Any = node.indexer.asset_info(USDC)
    assert (asset["asset"]["params"]["unit-name"], asset["asset"]["params"]["decimals"]) == ("USDC", 6)
    holders: Any = node.indexer.asset_balances(USDC)
    assert {"address": holder, "amount": 1_000_000, "is-frozen": False} in holders["balances"]
    with pytest.raises(IndexerHTTPError, match="no accounts found"):
        node.indexer.account_info("Y76M3MSY6DKBRHBL7C3NNDXGS5IIMQVQVUAB6MP4XEMMGVF2QWNPL226CA")
