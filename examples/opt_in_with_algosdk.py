"""Opt an account in to an asset on Algorand with py-algorand-sdk, which each holder of the asset must do once.

Reads ALGOD_URL, ALGOD_TOKEN and KEY_FILE (the base64 of seed and public key) from the environment. ASSET_ID is the
asset, by default USDC of the main network.
"""
# ruff: noqa: INP001, T201 - a script for people, which prints

import os
from pathlib import Path

from algosdk.account import address_from_private_key
from algosdk.atomic_transaction_composer import AccountTransactionSigner
from algosdk.transaction import AssetTransferTxn, wait_for_confirmation
from algosdk.v2client.algod import AlgodClient


def main() -> None:
    """Transfer nothing of the asset from the account to itself, and wait for the block."""
    key = Path(os.environ["KEY_FILE"]).read_text(encoding="ascii").strip()
    chain = AlgodClient(os.environ["ALGOD_TOKEN"], os.environ["ALGOD_URL"])
    address, asset = address_from_private_key(key), int(os.environ.get("ASSET_ID", "31566704"))
    transfer = AssetTransferTxn(address, chain.suggested_params(), address, 0, asset)
    (signed,) = AccountTransactionSigner(key).sign_transactions([transfer], [0])
    wait_for_confirmation(chain, chain.send_transaction(signed), 10)
    print(f"{address} may hold asset {asset}")


if __name__ == "__main__":
    main()
