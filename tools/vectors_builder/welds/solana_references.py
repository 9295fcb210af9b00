"""Solana transfers that pay payee, mint and price and do not name the token's reference."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

from solders.instruction import Instruction
from solders.pubkey import Pubkey

from conformance.lanes.solana.instructions import associated_account, memo, with_accounts
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.welds import solana_wallet as wallet
from tools.vectors_builder.welds.drafting import ALL_MEMBERS, CODES, challenge, draft_refusal
from tools.vectors_builder.welds.solana_wallet import MINT, PAYER, STRANGER, TERMS, TOKEN

_WHY: Final = "a transfer that does not name the reference was made for something else"
_PLACE: Final = "the reference is named by the transfer itself, or by nothing that pays"
_RECIPE: Final = "the reference is derived by one recipe, which the rail tells by telling the address"


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _other_drafts()
    yield from _elsewhere()
    yield from _recipes()


def _mismatch(
    fault_name: str,
    variant: str,
    instructions: tuple[Instruction, ...],
    fault: str,
    why: str,
    *,
    pins: tuple[str, ...] = (),
    **members: Any,
) -> Draft:
    evidence = wallet.build_evidence(wallet.sign(*instructions), **members)
    return draft_refusal(
        "weld", fault_name, variant, evidence, fault, why, "RAIL-WELD-04", "RAIL-WELD-05",
        code="weld_mismatch", pinned_members=ALL_MEMBERS if pins else CODES, pins=pins,
    )  # fmt: skip


def _transfer_with(*references: Pubkey, **changes: Any) -> Instruction:
    return wallet.transfer(references=references, **changes).instruction()


def _other_drafts() -> Iterator[Draft]:
    yield _mismatch("none", "checked", (_transfer_with(),), "the transfer names no further account", _WHY)
    yield _mismatch(
        "none", "unchecked", (_transfer_with(decimals=None),), "a plain Transfer names no further account", _WHY
    )
    other_challenge = challenge(TERMS, "another challenge")
    transfer = _transfer_with(wallet.reference(other_challenge["token"]))
    yield _mismatch("other", "challenge", (transfer,), "the reference is another challenge's", _WHY)
    fault = "the payment for one challenge is shown for another"
    yield _mismatch("other", "exchanged", (_transfer_with(wallet.reference()),), fault, _WHY, challenge=other_challenge)
    base = challenge({**TERMS, "caip2": "eip155:8453"})["token"]
    yield _mismatch(
        "other", "lane", (_transfer_with(wallet.reference(base)),), "the reference is of another lane's token", _WHY
    )
    cases = (
        ("payee", wallet.PAYEE.pubkey(), "the further account is the payee's wallet"),
        ("mint", MINT, "the further account is the mint"),
        ("stranger", STRANGER.pubkey(), "the further account is somebody's wallet"),
    )
    for variant, key, fault in cases:
        yield _mismatch("other-account", variant, (_transfer_with(key),), fault, _WHY)


def _elsewhere() -> Iterator[Draft]:
    """The reference, or the token, is in the transaction and not among the transfer's accounts."""
    own, bare = wallet.reference(), _transfer_with()
    token_memo = memo(PAYER.pubkey(), TOKEN.encode())
    yield _mismatch("memo", "token", (token_memo, bare), "the token is the text of a memo", _PLACE)
    account_memo = memo(PAYER.pubkey(), str(own).encode())
    yield _mismatch("memo", "reference-text", (bare, account_memo), "the reference is the text of a memo", _PLACE)
    memo_with_account = with_accounts(memo(PAYER.pubkey(), b"thanks"), (own,))
    yield _mismatch("memo", "reference-account", (bare, memo_with_account), "the memo names the reference", _PLACE)
    pins = ("profile 5.5",)
    foreign = _transfer_with(own, destination=associated_account(STRANGER.pubkey(), MINT))
    fault = "a transfer to somebody else names the reference"
    yield _mismatch("instruction", "to-somebody-else", (bare, foreign), fault, _PLACE)
    small = _transfer_with(own, amount=1)
    fault = "a second transfer of one unit names the reference"
    yield _mismatch("instruction", "of-one-unit", (bare, small), fault, _PLACE, pins=pins)
    other_call = Instruction(wallet.address("program"), b"", list(with_accounts(bare, (own,)).accounts[-1:]))
    yield _mismatch("instruction", "another-program", (other_call, bare), "another program is called with it", _PLACE)
    bare_transfer = wallet.transfer(references=()).instruction()
    as_program = Instruction(own, b"", [])
    yield _mismatch(
        "account-list", "program", (bare_transfer, as_program), "the reference is called as a program", _PLACE
    )
    message = wallet.signed_v0(
        bare, with_accounts(memo(PAYER.pubkey(), b"x"), (own,)), tables=(wallet.table("r", own),)
    )
    evidence = wallet.build_evidence(message[0], loaded_addresses=message[1])
    fault = "the reference is loaded from a table and the transfer does not name it"
    yield draft_refusal(
        "weld", "account-list", "loaded", evidence, fault, _PLACE, "RAIL-WELD-04", "RAIL-WELD-05", code="weld_mismatch"
    )


def _recipes() -> Iterator[Draft]:
    """References made of the right token in another way."""
    digest = hashlib.sha256(TOKEN.encode()).digest()
    text = f"weldproof-payable-core:solana-ref:{TOKEN}"
    cases = (
        ("recipe", "no-prefix", digest, "the reference is the hash of the token alone"),
        (
            "recipe",
            "word-as-set",
            hashlib.sha256(("W" + text[1:]).encode()).digest(),
            "the word has its capital letter",
        ),
        ("recipe", "line-end", hashlib.sha256((text + "\n").encode()).digest(), "there is a line end after the token"),
        ("recipe-word", "acme", bytes(wallet.reference(word="Acme")), "the reference is of another service word"),
        ("recipe-hash", "sha-512-256", hashlib.sha512(text.encode()).digest()[:32], "the hash is half of a SHA-512"),
        ("recipe-hash", "twice", hashlib.sha256(hashlib.sha256(text.encode()).digest()).digest(), "it is hashed twice"),
        ("recipe-hash", "reversed", bytes(wallet.reference())[::-1], "the hash's bytes are reversed"),
    )
    for fault_name, variant, raw, fault in cases:
        transfer = _transfer_with(Pubkey.from_bytes(raw))
        yield _mismatch(fault_name, variant, (transfer,), fault, _RECIPE, pins=("profile 5.4",))
