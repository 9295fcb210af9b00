"""Solana transactions that a validator takes and that pay something else: outcome, age, kind, mint, payee, amount."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey
from solders.system_program import TransferParams
from solders.system_program import transfer as lamports
from spl.token.constants import ASSOCIATED_TOKEN_PROGRAM_ID, TOKEN_2022_PROGRAM_ID, TOKEN_PROGRAM_ID
from spl.token.instructions import get_associated_token_address

from conformance.lanes.solana.instructions import associated_account, memo, mint_to, with_accounts
from tools.vectors_builder.challenges.drafting import TTL, UNIX
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.welds import solana_wallet as wallet
from tools.vectors_builder.welds.drafting import ALL_MEMBERS, CODES, PRICE, draft_refusal
from tools.vectors_builder.welds.solana_wallet import MINT, PAYEE, PAYER, STRANGER, TOKEN

_DERIVED_PINS: Final = ("profile 5.5", "profile 5.5 P-LN-06")
_FAKE: Final = wallet.keypair("mint of somebody").pubkey()


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _outcomes()
    yield from _ages()
    yield from _kinds()
    yield from _mints()
    yield from _payees()
    yield from _amounts()


def _outcomes() -> Iterator[Draft]:
    signed_transaction = wallet.sign(wallet.transfer().instruction())
    why = "a transaction that failed stands in its block all the same"
    errors: tuple[tuple[str, Any, str], ...] = (
        ("no-funds", {"InstructionError": [0, {"Custom": 1}]}, "the transfer failed for want of funds"),
        ("decimals", {"InstructionError": [0, {"Custom": 18}]}, "the transfer failed for the mint's decimals"),
        ("in-words", "InsufficientFundsForFee", "the fee could not be paid"),
    )
    for variant, err, fault in errors:
        evidence = wallet.build_evidence(signed_transaction, err=err)
        yield draft_refusal("outcome", "failed", variant, evidence, fault, why, "RAIL-PAY-11", code="tx_failed")
    why = "before it is finalized, a fork may take it back"
    for variant, fault in (("processed", "one validator has run it"), ("confirmed", "it is not finalized yet")):
        evidence = wallet.build_evidence(signed_transaction, confirmation=variant)
        yield draft_refusal(
            "finality", "pending", variant, evidence, fault, why, "RAIL-PAY-07",
            code="tx_not_confirmed", pinned_members=ALL_MEMBERS, pins=("profile 1.2",),
        )  # fmt: skip


def _ages() -> Iterator[Draft]:
    signed_transaction = wallet.sign(wallet.transfer().instruction())
    why = "a payment is for the challenge that lives when it is made"
    cases = (
        ("old", "sixty-one-seconds", UNIX - 61, "payment_too_old", "its block is 61 seconds older than the challenge"),
        ("old", "thousandth", UNIX // 1000, "payment_too_old", "its block's time is a thousandth of the right one"),
        ("late", "sixty-one-seconds", UNIX + TTL + 61, "challenge_expired", "its block is 61 seconds after the end"),
        ("late", "milliseconds", UNIX * 1000, "challenge_expired", "its block's time is in milliseconds"),
    )
    for fault_name, variant, time, code, fault in cases:
        evidence = wallet.build_evidence(signed_transaction, block_time=time)
        yield draft_refusal(
            "age", fault_name, variant, evidence, fault, why, "RAIL-WELD-06", code=code, pinned_members=ALL_MEMBERS
        )


def _kinds() -> Iterator[Draft]:
    own = (wallet.reference(),)
    inner = [{"index": 0, "instructions": [{"programId": str(TOKEN_PROGRAM_ID), "amount": str(PRICE)}]}]
    named_accounts = [
        AccountMeta(one, is_signer=False, is_writable=True) for one in (wallet.transfer().destination, *own)
    ]
    swap = Instruction(wallet.address("exchange"), b"\x01" + PRICE.to_bytes(8, "little"), named_accounts)
    why = "what a program does inside, the payer has not signed for in so many words"
    fault = "another program's inner transfer pays"
    yield _kind(
        "inner", "exchange", (swap,), fault, why, "RAIL-WELD-05", inner_instructions=inner, pinned_members=ALL_MEMBERS
    )
    wrapped_transfer = wallet.transfer().instruction()
    multisig = Instruction(wallet.address("vault"), bytes(wrapped_transfer.data), [*wrapped_transfer.accounts])
    fault = "a program of another name is called with a transfer's data and accounts"
    yield _kind("program", "another", (multisig,), fault, "the program is told by its address", "RAIL-PAY-10")
    new = wallet.transfer(program=TOKEN_2022_PROGRAM_ID).instruction()
    fault = "Token-2022 is called with a transfer's data and accounts"
    yield _kind(
        "program",
        "token-2022",
        (new,),
        fault,
        "Token-2022 holds other tokens",
        "RAIL-PAY-10",
        pinned_members=ALL_MEMBERS,
    )
    tip = lamports(TransferParams(from_pubkey=PAYER.pubkey(), to_pubkey=PAYEE.pubkey(), lamports=PRICE))
    why = "the reference welds nothing when what moves is not the token"
    yield _kind("native", "same-number", (with_accounts(tip, own),), "it moves lamports", why, "RAIL-PAY-10")
    much = lamports(TransferParams(from_pubkey=PAYER.pubkey(), to_pubkey=PAYEE.pubkey(), lamports=10**9))
    yield _kind("native", "whole-sol", (with_accounts(much, own),), "it moves a whole SOL", why, "RAIL-PAY-10")
    plain = wallet.transfer(decimals=None).instruction()
    other_instructions = (
        ("approve", 4, "it approves a delegate for the price"),
        ("burn", 8, "it burns the price"),
        ("fee-extension", 26, "it is of an extension that the program does not have"),
    )
    for variant, tag, fault in other_instructions:
        other_instruction = Instruction(plain.program_id, bytes([tag]) + bytes(plain.data)[1:], [*plain.accounts])
        why = "what an instruction does is told by its first byte"
        yield _kind("instruction", variant, (other_instruction,), fault, why, "RAIL-PAY-10")
    mint_instruction = with_accounts(mint_to(MINT, wallet.transfer().destination, PAYER.pubkey(), PRICE), own)
    why = "money that was made was not paid"
    yield _kind(
        "creation",
        "mint-to",
        (mint_instruction,),
        "the price is minted to the payee",
        why,
        "RAIL-WELD-05",
        pinned_members=ALL_MEMBERS,
    )
    memo_text = f"I pay {PRICE} for {TOKEN}".encode()
    memo_instruction = with_accounts(memo(PAYER.pubkey(), memo_text), own)
    yield _kind(
        "creation",
        "memo-alone",
        (memo_instruction,),
        "a memo says that it pays",
        "saying is not paying",
        "RAIL-WELD-05",
    )


def _kind(
    fault_name: str,
    variant: str,
    instructions: tuple[Instruction, ...],
    fault: str,
    why: str,
    row: str,
    *,
    pinned_members: tuple[str, ...] = CODES,
    **members: Any,
) -> Draft:
    evidence = wallet.build_evidence(wallet.sign(*instructions), **members)
    return draft_refusal(
        "kind",
        fault_name,
        variant,
        evidence,
        fault,
        why,
        row,
        code="unsupported_transaction",
        pinned_members=pinned_members,
    )


def _mints() -> Iterator[Draft]:
    why = "anybody can make a mint of the same name"
    cases: tuple[tuple[str, str, dict[str, Any], str], ...] = (
        ("mint", "of-somebody", _of(_FAKE), "it moves somebody's own token"),
        ("mint", "devnet", _of(Pubkey.from_string(wallet.DEVNET_USDC)), "it moves the test network's token"),
        ("mint", "named-alone", {"mint": _FAKE}, "it names another mint for the accounts of the right one"),
    )
    for fault_name, variant, change, fault in cases:
        evidence = wallet.build_payment(**change)
        yield draft_refusal("asset", fault_name, variant, evidence, fault, why, "RAIL-PAY-10", code="wrong_asset")


def _of(mint: Pubkey) -> dict[str, Any]:
    source, destination = (associated_account(one.pubkey(), mint) for one in (PAYER, PAYEE))
    return {"mint": mint, "source": source, "destination": destination}


def _payees() -> Iterator[Draft]:
    second = wallet.keypair("second account").pubkey()
    owned_accounts = [
        {"accountIndex": 1, "mint": wallet.USDC, "owner": str(PAYEE.pubkey()), "uiTokenAmount": {"amount": "10000"}}
    ]
    swapped_account, _ = Pubkey.find_program_address(
        [bytes(PAYEE.pubkey()), bytes(MINT), bytes(TOKEN_PROGRAM_ID)], ASSOCIATED_TOKEN_PROGRAM_ID
    )
    cases: tuple[tuple[str, str, dict[str, Any], str, bool], ...] = (
        ("stranger", "his-account", {"destination": associated_account(STRANGER.pubkey(), MINT)},
         "it pays somebody else's associated account", False),
        ("stranger", "payer-himself", {"destination": associated_account(PAYER.pubkey(), MINT)},
         "the payer pays himself", False),
        ("stranger", "unknown-account", {"destination": wallet.address("account")}, "it pays nobody known", False),
        ("not-derived", "second-account", {"destination": second}, "it pays another account of the payee", True),
        ("not-derived", "wallet", {"destination": PAYEE.pubkey()}, "it pays the payee's wallet address itself", True),
        ("derivation", "token-2022",
         {"destination": get_associated_token_address(PAYEE.pubkey(), MINT, TOKEN_2022_PROGRAM_ID)},
         "it pays the account derived for Token-2022", True),
        ("derivation", "seeds-swapped", {"destination": swapped_account},
         "it pays the account derived in another order", True),
        ("derivation", "payer-and-payee-swapped",
         {"destination": associated_account(MINT, PAYEE.pubkey())}, "it pays the account derived from mint to owner",
         True),
        ("unchecked", "other-mint", {**_of(_FAKE), "decimals": None},
         "a plain Transfer pays the payee's account for another mint", False),
        ("unchecked", "source-and-destination",
         {"source": wallet.transfer().destination, "destination": wallet.transfer().source, "decimals": None},
         "a plain Transfer goes from the payee's account to the payer's", False),
    )  # fmt: skip
    why = "the payee's account is derived; what else he owns can be handed over to somebody tomorrow"
    for fault_name, variant, change, fault, is_pinned in cases:
        more = {"post_token_balances": owned_accounts} if variant == "second-account" else {}
        evidence = wallet.build_evidence(wallet.sign(wallet.transfer(**change).instruction()), **more)
        yield draft_refusal(
            "recipient", fault_name, variant, evidence, fault, why, "RAIL-PAY-08",
            code="wrong_recipient", pinned_members=ALL_MEMBERS if is_pinned else CODES,
            pins=_DERIVED_PINS if is_pinned else (),
        )  # fmt: skip


def _amounts() -> Iterator[Draft]:
    why = "less than the price buys nothing"
    cases = (
        ("amount", "one-less", PRICE - 1, 6, "it pays one unit less"),
        ("amount", "thousandth", PRICE // 1000, 6, "it pays a thousandth"),
        ("amount", "zero", 0, None, "it pays nothing"),
        ("decimals", "nine", PRICE // 1000, 9, "it pays less, as if the token had more decimals"),
        ("decimals", "none", PRICE - 1, 0, "it pays less, as if the token had no decimals"),
    )
    for fault_name, variant, amount, decimals, fault in cases:
        evidence = wallet.build_payment(amount=amount, decimals=decimals)
        yield draft_refusal("amount", fault_name, variant, evidence, fault, why, "RAIL-PAY-09", code="wrong_amount")
    half = wallet.transfer(amount=PRICE // 2).instruction()
    other_half = wallet.transfer(amount=PRICE - PRICE // 2, decimals=None).instruction()
    evidence = wallet.build_evidence(wallet.sign(half, other_half))
    fault = "two transfers pay half each, both with the reference"
    why = "one transfer pays, or none does"
    yield draft_refusal(
        "amount",
        "parts",
        "halves",
        evidence,
        fault,
        why,
        "RAIL-PAY-09",
        code="wrong_amount",
        pinned_members=ALL_MEMBERS,
    )
    elsewhere = wallet.transfer(destination=associated_account(STRANGER.pubkey(), MINT)).instruction()
    small = wallet.transfer(amount=1).instruction()
    evidence = wallet.build_evidence(wallet.sign(small, elsewhere))
    fault = "the payee gets one unit and somebody else the price"
    why = "payee and amount belong to one transfer"
    yield draft_refusal(
        "amount", "parts", "payee-and-price-apart", evidence, fault, why, "RAIL-PAY-09", code="wrong_amount"
    )
