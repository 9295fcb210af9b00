"""What an asset's roles and an account's owner may do, by unmodified SDK transactions."""

from __future__ import annotations

from typing import Any

import pytest
from algosdk import account, transaction
from algosdk.error import AlgodHTTPError

from tests.algorand_signing import signed_by
from tests.sim.algorand.conftest import USDC, Node


def submit(node: Node, key: str, transaction_to_send: Any) -> None:
    node.algod.send_transaction(signed_by(key, transaction_to_send))


def own_asset(node: Node) -> tuple[str, str, int]:
    """Return key and address of an account that has all roles of an asset of its own, and the asset's id."""
    key, maker = node.fund_account()
    roles = {"manager": maker, "reserve": maker, "freeze": maker, "clawback": maker}
    params = node.algod.suggested_params()
    tx_id = node.send(
        key, transaction.AssetCreateTxn(maker, params, 1000, 6, default_frozen=False, unit_name="USDC", **roles)
    )
    info: Any = node.algod.pending_transaction_info(tx_id)
    return key, maker, int(info["asset-index"])


def test_a_frozen_holding_moves_only_by_clawback(node: Node) -> None:
    """The holder's transfer is refused; only the clawback account takes it back."""
    key, maker, asset = own_asset(node)
    holder_key, holder = node.fund_account()
    params = node.algod.suggested_params()
    node.send(holder_key, transaction.AssetOptInTxn(holder, params, asset))
    node.send(key, transaction.AssetTransferTxn(maker, params, holder, 100, asset))
    node.send(key, transaction.AssetFreezeTxn(maker, params, asset, holder, new_freeze_state=True))
    with pytest.raises(AlgodHTTPError, match=f"asset {asset} frozen in {holder}"):
        submit(node, holder_key, transaction.AssetTransferTxn(holder, params, maker, 1, asset))
    with pytest.raises(AlgodHTTPError, match="clawback not allowed"):
        submit(
            node, holder_key, transaction.AssetTransferTxn(holder, params, holder, 1, asset, revocation_target=maker)
        )
    node.send(key, transaction.AssetTransferTxn(maker, params, maker, 40, asset, revocation_target=holder))
    assert node.holding(holder, asset) == 60


def test_an_asset_is_reconfigured_and_destroyed_by_its_manager(node: Node) -> None:
    """Only the manager does it; a role once given up stays given up; destroying needs the whole supply."""
    key, maker, asset = own_asset(node)
    other_key, other_address = node.fund_account()
    params = node.algod.suggested_params()
    with pytest.raises(AlgodHTTPError, match="should be issued by the manager"):
        submit(node, other_key, transaction.AssetDestroyTxn(other_address, params, asset))
    roles = {"manager": maker, "reserve": maker, "freeze": maker}
    node.send(key, transaction.AssetConfigTxn(maker, params, index=asset, **roles, strict_empty_address_check=False))
    info: Any = node.algod.asset_info(asset)
    assert "clawback" not in info["params"]
    assert info["params"]["manager"] == maker
    again = {**roles, "clawback": maker}
    node.send(key, transaction.AssetConfigTxn(maker, params, index=asset, **again))
    info = node.algod.asset_info(asset)
    assert "clawback" not in info["params"]
    node.send(other_key, transaction.AssetOptInTxn(other_address, params, asset))
    node.send(key, transaction.AssetTransferTxn(maker, params, other_address, 1, asset))
    with pytest.raises(AlgodHTTPError, match="creator is holding only 999/1000"):
        submit(node, key, transaction.AssetDestroyTxn(maker, params, asset))
    node.send(other_key, transaction.AssetTransferTxn(other_address, params, maker, 1, asset))
    node.send(key, transaction.AssetDestroyTxn(maker, params, asset))
    with pytest.raises(AlgodHTTPError, match="asset does not exist"):
        node.algod.asset_info(asset)


def test_a_rekeyed_account_is_spent_from_by_its_new_key_only(node: Node) -> None:
    """After a rekey the old key is refused, and the new one pays, as the account tells."""
    key, sender = node.fund_account(USDC)
    new_key, new = account.generate_account()
    params = node.algod.suggested_params()
    node.send(key, transaction.PaymentTxn(sender, params, sender, 0, rekey_to=new))
    with pytest.raises(AlgodHTTPError, match="should have been authorized by"):
        submit(node, key, transaction.PaymentTxn(sender, params, sender, 1))
    node.send(new_key, transaction.AssetTransferTxn(sender, params, sender, 5, USDC, note=b"by the new key"))
    info: Any = node.algod.account_info(sender)
    assert info["auth-addr"] == new


def test_a_lease_is_held_until_its_last_round(node: Node) -> None:
    """A second transaction with the same lease of the same sender is refused."""
    key, sender = node.fund_account()
    params = node.algod.suggested_params()
    node.send(key, transaction.PaymentTxn(sender, params, sender, 0, lease=b"L" * 32))
    with pytest.raises(AlgodHTTPError, match="overlapping lease"):
        submit(node, key, transaction.PaymentTxn(sender, params, sender, 1, lease=b"L" * 32))


def test_an_account_closes_to_another(node: Node) -> None:
    """All Algos go to the other account, and the closed amount is reported; no account closes to itself."""
    key, sender = node.fund_account()
    _, heir = node.fund_account()
    params = node.algod.suggested_params()
    with pytest.raises(AlgodHTTPError, match="cannot close account to its sender"):
        submit(node, key, transaction.PaymentTxn(sender, params, heir, 0, close_remainder_to=sender))
    tx_id = node.send(key, transaction.PaymentTxn(sender, params, heir, 1_000_000, close_remainder_to=heir))
    info: Any = node.algod.pending_transaction_info(tx_id)
    assert info["closing-amount"] == 10_000_000 - 1000 - 1_000_000
    sender_info: Any = node.algod.account_info(sender)
    assert sender_info["amount"] == 0
    heir_info: Any = node.algod.account_info(heir)
    assert heir_info["amount"] == 20_000_000 - 1000


def test_the_minimum_balance_holds_after_each_transaction_of_a_group(node: Node) -> None:
    """Money that comes back later in the group is too late."""
    key, sender = node.fund_account()
    other_key, other_address = node.fund_account()
    params = node.algod.suggested_params()
    out = transaction.PaymentTxn(sender, params, other_address, 9_950_000)
    back = transaction.PaymentTxn(other_address, params, sender, 5_000_000)
    transaction.assign_group_id([out, back])
    with pytest.raises(AlgodHTTPError, match="below min 100000"):
        node.algod.send_transactions([signed_by(key, out), signed_by(other_key, back)])


def test_one_member_pays_the_fees_of_a_group(node: Node) -> None:
    """Fees are pooled: one pays twice, the other nothing."""
    key, sender = node.fund_account()
    sponsor_key, sponsor = node.fund_account()
    free, double = node.algod.suggested_params(), node.algod.suggested_params()
    free.flat_fee, free.fee, double.flat_fee, double.fee = True, 0, True, 2000
    payment = transaction.PaymentTxn(sender, free, sponsor, 0)
    sponsor_payment = transaction.PaymentTxn(sponsor, double, sponsor, 0)
    transaction.assign_group_id([payment, sponsor_payment])
    tx_id = node.algod.send_transactions([signed_by(key, payment), signed_by(sponsor_key, sponsor_payment)])
    transaction.wait_for_confirmation(node.algod, tx_id, 10)
    sender_info: Any = node.algod.account_info(sender)
    assert sender_info["amount"] == 10_000_000
