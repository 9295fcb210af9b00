"""Signing a transaction as an Algorand wallet does, and opting an account in."""

from __future__ import annotations

from algosdk.account import address_from_private_key
from algosdk.atomic_transaction_composer import AccountTransactionSigner
from algosdk.transaction import AssetTransferTxn, GenericSignedTransaction, Transaction
from algosdk.v2client.algod import AlgodClient


def signed_by(key: str, transaction: Transaction) -> GenericSignedTransaction:
    """Return a transaction signed with a private key, which is base64 as the SDK has it."""
    return AccountTransactionSigner(key).sign_transactions([transaction], [0])[0]


def opt_in(algod: AlgodClient, key: str, asset: int) -> None:
    """Submit an account's opt-in to an asset; the node takes transfers to it before the block is there."""
    address = address_from_private_key(key)
    transfer = AssetTransferTxn(address, algod.suggested_params(), address, 0, asset)
    algod.send_transaction(signed_by(key, transfer))
