"""Accounts and complete signed transactions of Solana, made with solders and solana-py."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from conformance.lanes.solana.instructions import TokenTransfer, associated_account
from conformance.oracles.challenge_tokens import solana_reference
from tools.vectors_builder.welds.drafting import MINED_AT, PRICE, WORD, challenge, draw

USDC: Final = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
DEVNET_USDC: Final = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"
MINT: Final = Pubkey.from_string(USDC)
SLOT: Final = 389_000_123


def keypair(name: str) -> Keypair:
    """Return the key of a name."""
    return Keypair.from_seed(draw(f"solana {name}"))


def address(name: str) -> Pubkey:
    """Return an address without a known private key."""
    return Pubkey.from_bytes(draw(f"solana address {name}"))


PAYER, PAYEE, STRANGER, SPONSOR = (keypair(name) for name in ("payer", "payee", "stranger", "sponsor"))
TERMS: Final = {
    "caip2": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
    "asset": USDC,
    "amount": str(PRICE),
    "pay_to": str(PAYEE.pubkey()),
}
CHALLENGE: Final = challenge(TERMS)
TOKEN: Final[str] = CHALLENGE["token"]
BLOCKHASH: Final = Hash.from_bytes(draw("solana block hash"))
NOTHING: Final[dict[str, list[str]]] = {"writable": [], "readonly": []}


def reference(token: str = TOKEN, word: str = WORD) -> Pubkey:
    """Return the account that welds a transfer to a token."""
    return Pubkey.from_string(solana_reference(token, word))


def transfer(**changes: Any) -> TokenTransfer:
    """Return the transfer that pays the challenge, with members changed."""
    token_transfer = TokenTransfer(
        mint=MINT,
        source=associated_account(PAYER.pubkey(), MINT),
        destination=associated_account(PAYEE.pubkey(), MINT),
        owner=PAYER.pubkey(),
        amount=PRICE,
        decimals=6,
        references=(reference(),),
    )
    return token_transfer.with_changes(**changes)


def sign(*instructions: Instruction, signers: Sequence[Keypair] = (PAYER,)) -> VersionedTransaction:
    """Return a signed transaction with a legacy message; the first signer pays the fee."""
    message = Message.new_with_blockhash(list(instructions), signers[0].pubkey(), BLOCKHASH)
    return VersionedTransaction(message, list(signers))


def signed_v0(
    *instructions: Instruction, tables: Sequence[AddressLookupTableAccount] = ()
) -> tuple[VersionedTransaction, dict[str, list[str]]]:
    """Return a signed transaction with a message of version 0, and the addresses that its tables add."""
    message = MessageV0.try_compile(PAYER.pubkey(), list(instructions), list(tables), BLOCKHASH)
    loaded_addresses: dict[str, list[str]] = {"writable": [], "readonly": []}
    by_key = {table.key: table.addresses for table in tables}
    for lookup in message.address_table_lookups:
        addresses_of_table = by_key[lookup.account_key]
        loaded_addresses["writable"] += [str(addresses_of_table[place]) for place in lookup.writable_indexes]
        loaded_addresses["readonly"] += [str(addresses_of_table[place]) for place in lookup.readonly_indexes]
    return VersionedTransaction(message, [PAYER]), loaded_addresses


def table(name: str, *addresses: Pubkey) -> AddressLookupTableAccount:
    """Return an address table."""
    return AddressLookupTableAccount(address(f"table {name}"), list(addresses))


def build_evidence(signed_transaction: VersionedTransaction | bytes, **members: Any) -> dict[str, Any]:
    """Return a verifier's input for a transaction that a node has reported."""
    evidence = {
        "lane": "solana",
        "challenge": CHALLENGE,
        "transaction_b64": base64.b64encode(bytes(signed_transaction)).decode("ascii"),
        "loaded_addresses": NOTHING,
        "slot": SLOT,
        "block_time": MINED_AT,
        "err": None,
        "confirmation": "finalized",
    }
    return {**evidence, **members}


def build_payment(**changes: Any) -> dict[str, Any]:
    """Return the evidence of a finalized transfer by the payer, with members of it changed."""
    return build_evidence(sign(transfer(**changes).instruction()))


def values(signed_transaction: VersionedTransaction, payer: Keypair = PAYER) -> dict[str, Any]:
    """Return what a verifier may tell of a payment, by solders."""
    return {"payer": str(payer.pubkey()), "tx_id": str(signed_transaction.signatures[0])}
