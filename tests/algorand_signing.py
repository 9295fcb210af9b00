"""Signing a transaction as an Algorand wallet does."""

from __future__ import annotations

from algosdk.atomic_transaction_composer import AccountTransactionSigner
from algosdk.transaction import GenericSignedTransaction, Transaction


def signed_by(key: str, made: Transaction) -> GenericSignedTransaction:
    """Return a transaction signed with a private key, which is base64 as the SDK has it."""
    return AccountTransactionSigner(key).sign_transactions([made], [0])[0]
