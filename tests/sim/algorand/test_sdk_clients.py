"""Unmodified py-algorand-sdk clients against algod and indexer of the simulator."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from algosdk import account, encoding, transaction
from algosdk.atomic_transaction_composer import MultisigTransactionSigner
from algosdk.error import AlgodHTTPError, IndexerHTTPError
from algosdk.transaction import Multisig
from algosdk.v2client.algod import AlgodClient

from tests.algorand_signing import signed_by
from tests.sim.algorand.conftest import USDC, Node


def test_a_payment_is_found_by_its_note_at_both_services(node: Node) -> None:
    """A transfer is pending, then in a block with its time, and the indexer finds it by note, id and asset."""
    key, sender = node.fund_account(USDC)
    _, receiver = node.fund_account(USDC)
    params = node.algod.suggested_params()
    transfer = transaction.AssetTransferTxn(sender, params, receiver, 250, USDC, note=b"weld:me")
    tx_id = node.send(key, transfer)
    info: Any = node.algod.pending_transaction_info(tx_id)
    assert info["txn"]["txn"]["aamt"] == 250
    assert base64.b64decode(info["txn"]["txn"]["note"]) == b"weld:me"
    block: Any = node.algod.block_info(info["confirmed-round"])
    assert block["block"]["ts"] > 1_700_000_000
    search: Any = node.indexer.search_transactions(note_prefix=b"weld:", asset_id=USDC, address=receiver)
    assert [one["id"] for one in search["transactions"]] == [tx_id]
    assert search["transactions"][0]["asset-transfer-transaction"]["receiver"] == receiver
    lookup: Any = node.indexer.transaction(tx_id)
    assert lookup["transaction"]["round-time"] == block["block"]["ts"]
    assert node.holding(receiver, USDC) == 1_000_250


def test_a_multisig_account_pays_with_two_of_three(node: Node) -> None:
    """Two signatures of three are enough, one is refused with the node's reason."""
    parts = [account.generate_account() for _ in range(3)]
    multisig = Multisig(1, 2, [address for _, address in parts])
    node.control("fund", address=multisig.address(), amount="5000000")
    payment = transaction.PaymentTxn(multisig.address(), node.algod.suggested_params(), parts[0][1], 200_000)
    signed_payment = MultisigTransactionSigner(multisig, [parts[0][0]]).sign_transactions([payment], [0])[0]
    with pytest.raises(AlgodHTTPError, match="multisig validation failed: Invalid number of signatures"):
        node.algod.send_raw_transaction(encoding.msgpack_encode(signed_payment))
    signed_payment = MultisigTransactionSigner(multisig, [parts[0][0], parts[2][0]]).sign_transactions([payment], [0])[
        0
    ]
    tx_id = node.algod.send_raw_transaction(encoding.msgpack_encode(signed_payment))
    confirmation: Any = transaction.wait_for_confirmation(node.algod, tx_id, 10)
    assert confirmation["confirmed-round"] > 0


def test_a_group_is_all_or_nothing(node: Node) -> None:
    """One refused transaction takes the whole group with it; balances stay."""
    key, sender = node.fund_account(USDC)
    _, receiver = node.fund_account(USDC)
    params = node.algod.suggested_params()
    good = transaction.AssetTransferTxn(sender, params, receiver, 5, USDC)
    bad = transaction.AssetTransferTxn(sender, params, receiver, 10**9, USDC)
    transaction.assign_group_id([good, bad])
    with pytest.raises(AlgodHTTPError, match="underflow on subtracting"):
        node.algod.send_transactions([signed_by(key, good), signed_by(key, bad)])
    assert node.holding(receiver, USDC) == 1_000_000


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"fee": 999, "flat_fee": True}, "txgroup with 999uA fees is less than 1mA"),
        ({"first": 1, "last": 2}, "txn dead: round"),
        ({"gh": base64.b64encode(b"\1" * 32).decode()}, "GenesisHash"),
    ],
)
def test_parameters_are_checked(node: Node, change: dict[str, Any], reason: str) -> None:
    """Fees, validity and genesis are refused with the node's own words."""
    key, sender = node.fund_account()
    params = node.algod.suggested_params()
    params.flat_fee, params.fee = True, 1000
    for name, value in change.items():
        setattr(params, name, value)
    with pytest.raises(AlgodHTTPError, match=reason):
        node.algod.send_transaction(signed_by(key, transaction.PaymentTxn(sender, params, sender, 1)))


def test_an_asset_needs_an_opt_in_and_can_be_left(node: Node) -> None:
    """A receiver must have opted in; closing out gives the rest away and frees the minimum balance."""
    key, sender = node.fund_account(USDC)
    other_key, other_address = node.fund_account()
    params = node.algod.suggested_params()
    with pytest.raises(AlgodHTTPError, match="must optin"):
        node.algod.send_transaction(
            signed_by(key, transaction.AssetTransferTxn(sender, params, other_address, 1, USDC))
        )
    node.send(other_key, transaction.AssetTransferTxn(other_address, params, other_address, 0, USDC))
    node.send(key, transaction.AssetTransferTxn(sender, params, other_address, 1, USDC, close_assets_to=other_address))
    assert node.holding(other_address, USDC) == 1_000_000
    assert node.holding(sender, USDC) is None


def test_anyone_can_make_an_asset_of_the_same_name(node: Node) -> None:
    """An asset called USDC gets an id of its own, and says who made it."""
    key, maker = node.fund_account()
    creation = transaction.AssetConfigTxn(
        maker,
        node.algod.suggested_params(),
        total=10**12,
        decimals=6,
        unit_name="USDC",
        asset_name="USDC",
        default_frozen=False,
        manager=maker,
        strict_empty_address_check=False,
    )
    tx_id = node.send(key, creation)
    asset = int(node.algod.pending_transaction_info(tx_id)["asset-index"])  # type: ignore[call-overload]
    assert asset != USDC
    info: Any = node.algod.asset_info(asset)
    assert (info["params"]["unit-name"], info["params"]["creator"]) == ("USDC", maker)


def test_the_token_is_checked_and_unknown_ids_are_not_found(node: Node) -> None:
    """A wrong token is 401, an unknown transaction 404 in the node's words, at both services."""
    with pytest.raises(AlgodHTTPError, match="Invalid API Token"):
        AlgodClient("b" * 64, node.algod_url).status()
    with pytest.raises(AlgodHTTPError, match="could not find the transaction"):
        node.algod.pending_transaction_info("A" * 52)
    with pytest.raises(IndexerHTTPError, match="no transaction found"):
        node.indexer.transaction("A" * 52)


def test_an_id_in_another_spelling_is_the_same_id_to_the_node(node: Node) -> None:
    """The last character's spare bits are ignored, as a real node does, so that a suite can catch who keys on them."""
    key, sender = node.fund_account()
    tx_id = node.send(key, transaction.PaymentTxn(sender, node.algod.suggested_params(), sender, 0))
    other_id = tx_id[:-1] + {"A": "B", "Q": "R"}[tx_id[-1]]
    assert node.algod.pending_transaction_info(other_id) == node.algod.pending_transaction_info(tx_id)
