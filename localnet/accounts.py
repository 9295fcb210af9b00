"""Accounts of a stack: made once, kept in files of the data directory with mode 0600."""

from __future__ import annotations

import json
import os
from pathlib import Path

from algosdk import account, mnemonic
from coincurve import PrivateKey
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from solders.keypair import Keypair


def algorand(path: Path) -> str:
    """Return the address whose mnemonic a file holds, writing a new one where there is none."""
    if not path.exists():
        write_secret(path, mnemonic.from_private_key(account.generate_account()[0]))
    address: str = account.address_from_private_key(mnemonic.to_private_key(path.read_text("ascii").strip()))
    return address


def evm(path: Path) -> str:
    """Return the address whose key a file holds, 64 hex digits, writing a new one where there is none."""
    if not path.exists():
        write_secret(path, PrivateKey().secret.hex())
    public = PrivateKey.from_hex(path.read_text("ascii").strip()).public_key
    return str(to_checksum_address(keccak(public.format(compressed=False)[1:])[12:]))


def solana(path: Path) -> str:
    """Return the address whose keypair a file holds, a JSON array of 64 numbers; a new one if there is none."""
    if not path.exists():
        write_secret(path, json.dumps(list(bytes(Keypair()))))
    return str(Keypair.from_bytes(bytes(json.loads(path.read_text("ascii")))).pubkey())


def write_secret(path: Path, text: str) -> None:
    """Write a file that nobody else can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text + "\n")
