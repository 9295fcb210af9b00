"""Payments on Solana that count: both kinds of transfer, both kinds of message, and further instructions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from solders.compute_budget import set_compute_unit_price
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey
from solders.system_program import TransferParams
from solders.system_program import transfer as lamports
from solders.transaction import VersionedTransaction
from spl.token.instructions import create_idempotent_associated_token_account

from conformance.lanes.solana.instructions import associated_account, memo
from tools.vectors_builder.challenges.drafting import TTL, UNIX
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.welds import solana_wallet as wallet
from tools.vectors_builder.welds.drafting import PRICE, challenge, holds
from tools.vectors_builder.welds.solana_wallet import MINT, PAYEE, PAYER, SPONSOR, STRANGER

_ROWS: Final = ("RAIL-PAY-03", "RAIL-WELD-04")
_ORDER: Final = ("profile 5.4",)


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _plain()
    yield from _references()
    yield from _versions()
    yield from _beside()
    yield from _several()
    yield from _payers()
    yield from _times()


def _holds(
    fault_name: str, variant: str, signed_transaction: VersionedTransaction, why: str, *more: str, **members: Any
) -> Draft:
    """Return a payment; the account that welds is derived as the profile derives it."""
    payer = members.pop("payer", PAYER)
    evidence = wallet.build_evidence(signed_transaction, **members)
    return holds(
        fault_name,
        variant,
        evidence,
        why,
        *_ROWS,
        values=wallet.values(signed_transaction, payer),
        pins=(*_ORDER, *more),
    )


def _plain() -> Iterator[Draft]:
    signed_transaction = wallet.sign(wallet.transfer().instruction())
    yield _holds(
        "plain",
        "checked",
        signed_transaction,
        "the ordinary payment: TransferChecked with the reference after the owner",
    )
    signed_transaction = wallet.sign(wallet.transfer(decimals=None).instruction())
    yield _holds("plain", "unchecked", signed_transaction, "Transfer names no mint; where it goes says which one it is")
    signed_transaction = wallet.sign(wallet.transfer(amount=PRICE * 2).instruction())
    yield _holds(
        "plain", "more", signed_transaction, "money that has moved is not refused for being more", "profile 5.5 P-LN-02"
    )
    mint = Pubkey.from_string(wallet.DEVNET_USDC)
    terms = {**wallet.TERMS, "caip2": "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", "asset": wallet.DEVNET_USDC}
    test_challenge = challenge(terms, "test network")
    transfer = wallet.transfer(
        mint=mint,
        source=associated_account(PAYER.pubkey(), mint),
        destination=associated_account(PAYEE.pubkey(), mint),
        references=(wallet.reference(test_challenge["token"]),),
    )
    why = "the mint is the test network's"
    yield _holds("network", "devnet", wallet.sign(transfer.instruction()), why, challenge=test_challenge)


def _references() -> Iterator[Draft]:
    own, pin = wallet.reference(), "profile 5.5 P-LN-06"
    other_reference, third = wallet.address("other reference"), wallet.address("third reference")
    cases: tuple[tuple[str, Mapping[str, Any], str], ...] = (
        ("writable", {"writable": True}, "a wallet may mark it writable; it is named all the same"),
        ("second", {"references": (other_reference, own)}, "others may be named before it"),
        ("among-three", {"references": (third, own, other_reference)}, "others may be named on both sides"),
    )
    for variant, change, why in cases:
        yield _holds("reference", variant, wallet.sign(wallet.transfer(**change).instruction()), why, pin)


def _versions() -> Iterator[Draft]:
    transfer = wallet.transfer()
    signed_transaction, loaded_addresses = wallet.signed_v0(transfer.instruction())
    yield _holds("version-0", "no-table", signed_transaction, "a message of version 0 need not look anything up")
    table_of_two = wallet.table("reference", STRANGER.pubkey(), wallet.reference())
    signed_transaction, loaded_addresses = wallet.signed_v0(transfer.instruction(), tables=(table_of_two,))
    why = "the reference may come from a table; a node tells the loaded addresses beside"
    yield _holds("version-0", "reference-in-table", signed_transaction, why, loaded_addresses=loaded_addresses)
    accounts = wallet.table("accounts", transfer.destination, MINT, transfer.source)
    more = wallet.table("more", wallet.reference(), wallet.address("unused"))
    signed_transaction, loaded_addresses = wallet.signed_v0(transfer.instruction(), tables=(accounts, more))
    why = "writable addresses of all tables come before the read-only ones of all tables"
    yield _holds("version-0", "two-tables", signed_transaction, why, loaded_addresses=loaded_addresses)


def _beside() -> Iterator[Draft]:
    transfer = wallet.transfer().instruction()
    account_creation = create_idempotent_associated_token_account(PAYER.pubkey(), PAYEE.pubkey(), MINT)
    tip = lamports(TransferParams(from_pubkey=PAYER.pubkey(), to_pubkey=STRANGER.pubkey(), lamports=1000))
    cases = (
        ("memo", (memo(PAYER.pubkey(), b"thanks"), transfer), "a memo welds nothing and hinders nothing"),
        ("account-opened", (account_creation, transfer), "the payee's account may be opened in the same transaction"),
        ("fee-and-tip", (set_compute_unit_price(1000), transfer, tip), "wallets put fees before and tips behind"),
    )
    for variant, instructions, why in cases:
        yield _holds("beside", variant, wallet.sign(*instructions), why)


def _several() -> Iterator[Draft]:
    transfer = wallet.transfer()
    small = transfer.with_changes(amount=1, references=())
    signed_transaction = wallet.sign(small.instruction(), transfer.instruction())
    yield _holds("several", "small-one-first", signed_transaction, "each transfer is looked at, not the first alone")
    strange = transfer.with_changes(destination=associated_account(STRANGER.pubkey(), MINT), references=())
    signed_transaction = wallet.sign(transfer.instruction(), strange.instruction())
    yield _holds("several", "another-payee-behind", signed_transaction, "who else is paid is the payer's matter")
    other_token = challenge(wallet.TERMS, "another challenge")["token"]
    twice = transfer.with_changes(references=(wallet.reference(other_token),))
    signed_transaction = wallet.sign(twice.instruction(), transfer.instruction())
    yield _holds("several", "two-challenges", signed_transaction, "each of two transfers pays its own challenge")


def _payers() -> Iterator[Draft]:
    signed_transaction = wallet.sign(wallet.transfer().instruction(), signers=(SPONSOR, PAYER))
    why = "who pays the fee is not who pays the price"
    yield _holds("payer", "fee-by-another", signed_transaction, why)
    owner = wallet.keypair("shared account").pubkey()
    transfer = wallet.transfer(owner=owner, source=associated_account(owner, MINT), references=()).instruction()
    signing = [AccountMeta(one.pubkey(), is_signer=True, is_writable=False) for one in (PAYER, SPONSOR)]
    silent = [AccountMeta(one, is_signer=False, is_writable=False) for one in (owner, wallet.reference())]
    account_list = [*transfer.accounts[:3], silent[0], *signing, silent[1]]
    signed_transaction = wallet.sign(
        Instruction(transfer.program_id, bytes(transfer.data), account_list), signers=(PAYER, SPONSOR)
    )
    why = "an account that several hold names its signers after the owner, and the reference after them"
    yield _holds("payer", "shared", signed_transaction, why, payer=wallet.keypair("shared account"))


def _times() -> Iterator[Draft]:
    signed_transaction = wallet.sign(wallet.transfer().instruction())
    times = {
        "minute-before-issue": (UNIX - 60, "clocks of chain and rail may differ by a minute"),
        "minute-after-end": (UNIX + TTL + 60, "a payment made in time may come into a block a little later"),
    }
    for variant, (time, why) in times.items():
        yield _holds("time", variant, signed_transaction, why, "profile 5.5", block_time=time)
