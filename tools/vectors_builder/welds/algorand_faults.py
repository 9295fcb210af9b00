"""Algorand transactions that a node takes and that pay something else: outcome, age, kind, asset, payee, amount."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from algosdk import transaction

from tools.vectors_builder.challenges.drafting import TTL, UNIX
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.welds import algorand_wallet as wallet
from tools.vectors_builder.welds.algorand_wallet import ASSET, PAYEE, PAYER, STRANGER, TOKEN
from tools.vectors_builder.welds.drafting import ALL_MEMBERS, CODES, PRICE, draft_refusal

_EXTRAS: Final = ("profile 5.5 P-LN-09",)


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _outcomes()
    yield from _ages()
    yield from _kinds()
    yield from _assets()
    yield from _payees()
    yield from _amounts()


def _outcomes() -> Iterator[Draft]:
    signed_text = wallet.sign(wallet.transfer())
    why = "an id can be shown long before, or without ever, being in a block"
    failed_evidence = wallet.build_evidence(
        signed_text, outcome="failed", pool_error="underflow on subtracting 10000 from sender amount 0"
    )
    fault = "the node has thrown it out of its pool"
    yield draft_refusal("outcome", "failed", "pool-error", failed_evidence, fault, why, "RAIL-PAY-11", code="tx_failed")
    dead = wallet.build_evidence(
        signed_text, outcome="failed", pool_error="txn dead: round 57001001 outside of 57000000--57001000"
    )
    fault = "no block took it while it was valid"
    yield draft_refusal("outcome", "failed", "dead", dead, fault, why, "RAIL-PAY-11", code="tx_failed")
    pending_evidence = wallet.build_evidence(signed_text, outcome="pending")
    fault = "it waits in the node's pool"
    yield draft_refusal(
        "finality", "pending", "in-pool", pending_evidence, fault, why, "RAIL-PAY-07", code="tx_not_confirmed"
    )


def _ages() -> Iterator[Draft]:
    signed_text = wallet.sign(wallet.transfer())
    why = "a payment is for the challenge that lives when it is made"
    cases = (
        ("old", "sixty-one-seconds", UNIX - 61, "payment_too_old", "its block is 61 seconds older than the challenge"),
        ("old", "a-day", UNIX - 86_400, "payment_too_old", "its block is a day older than the challenge"),
        ("late", "sixty-one-seconds", UNIX + TTL + 61, "challenge_expired", "its block is 61 seconds after the end"),
        ("late", "a-day", UNIX + 86_400, "challenge_expired", "its block is a day after the challenge's issue"),
    )
    for fault_name, variant, time, code, fault in cases:
        evidence = wallet.build_evidence(signed_text, time=time)
        yield draft_refusal(
            "age", fault_name, variant, evidence, fault, why, "RAIL-WELD-06", code=code, pinned_members=ALL_MEMBERS
        )


def _kind(fault_name: str, variant: str, evidence: dict[str, Any], fault: str, why: str, **more: Any) -> Draft:
    return draft_refusal(
        "kind", fault_name, variant, evidence, fault, why, "RAIL-PAY-10", code="unsupported_transaction", **more
    )


def _kinds() -> Iterator[Draft]:
    note = TOKEN.encode()
    native = transaction.PaymentTxn(PAYER.address, wallet.params(), PAYEE.address, PRICE, note=note)
    why = "the note welds nothing when what moves is not the asset"
    yield _kind("native", "same-amount", wallet.build_evidence(wallet.sign(native)), "it moves Algos", why)
    much = transaction.PaymentTxn(PAYER.address, wallet.params(), PAYEE.address, 10_000_000, note=note)
    yield _kind("native", "ten-algos", wallet.build_evidence(wallet.sign(much)), "it moves Algos, many of them", why)
    clawback = wallet.transfer(revocation_target=STRANGER.address)
    why = "what a clawback takes from somebody can be taken back from the payee, too"
    evidence = wallet.build_evidence(wallet.sign(clawback))
    yield _kind(
        "clawback",
        "from-another",
        evidence,
        "the asset's clawback moves it",
        why,
        pinned_members=ALL_MEMBERS,
        pins=_EXTRAS,
    )
    own = wallet.build_evidence(wallet.sign(wallet.transfer(revocation_target=PAYER.address)))
    yield _kind(
        "clawback",
        "from-himself",
        own,
        "the clawback moves what it holds",
        why,
        pinned_members=ALL_MEMBERS,
        pins=_EXTRAS,
    )
    application_call = transaction.ApplicationNoOpTxn(
        PAYER.address, wallet.params(), 1234, accounts=[PAYEE.address], foreign_assets=[ASSET], note=note
    )
    inner = [{"type": "axfer", "xaid": ASSET, "aamt": PRICE, "arcv": PAYEE.address, "snd": STRANGER.address}]
    why = "an application pays with its own money; the note is the caller's"
    evidence = wallet.build_evidence(wallet.sign(application_call), inner_transactions=inner)
    yield _kind(
        "inner", "application-pays", evidence, "an application's inner transfer pays", why, pinned_members=ALL_MEMBERS
    )
    evidence = wallet.build_evidence(wallet.sign(application_call), inner_transactions=[{**inner[0], "note": TOKEN}])
    fault = "an application's inner transfer pays, with the token in its own note"
    yield _kind("inner", "with-note", evidence, fault, why, pinned_members=ALL_MEMBERS)
    why = "a transaction about the asset is no transfer of it"
    freeze = transaction.AssetFreezeTxn(PAYER.address, wallet.params(), ASSET, PAYEE.address, False, note=note)
    yield _kind(
        "administration", "freeze", wallet.build_evidence(wallet.sign(freeze)), "it unfreezes the payee's holding", why
    )
    key = transaction.KeyregOfflineTxn(PAYER.address, wallet.params(), note=note)
    yield _kind(
        "administration", "key-registration", wallet.build_evidence(wallet.sign(key)), "it registers a key", why
    )


def _assets() -> Iterator[Draft]:
    why = "anybody can make an asset of the same name"
    for fault_name, variant, number, fault in (
        ("asset", "next-id", ASSET + 1, "it moves the asset with the next id"),
        ("asset", "test-network", wallet.TEST_ASSET, "it moves the asset that has USDC's id on the test network"),
        ("asset", "truncated", ASSET // 10, "it moves the asset whose id is the first seven digits"),
        ("asset-far", "first", 1, "it moves the asset with the first id there can be"),
        ("asset-far", "largest", 2**64 - 1, "it moves the asset with the largest id there can be"),
    ):
        yield draft_refusal(
            "asset",
            fault_name,
            variant,
            wallet.build_payment(index=number),
            fault,
            why,
            "RAIL-PAY-10",
            code="wrong_asset",
        )


def _payees() -> Iterator[Draft]:
    cases: tuple[tuple[str, str, dict[str, Any], str], ...] = (
        ("recipient", "another", {"receiver": STRANGER.address}, "it pays another account"),
        ("recipient", "payer-himself", {"receiver": PAYER.address}, "the payer pays himself"),
        ("recipient", "zero-address", {"receiver": "A" * 52 + "Y5HFKQ"}, "it pays the zero address"),
        (
            "recipient-close-out",
            "payee",
            {"receiver": STRANGER.address, "close_assets_to": PAYEE.address},
            "it pays another account, and what is left goes to the payee",
        ),
        (
            "recipient-close-out",
            "to-himself",
            {"receiver": PAYER.address, "close_assets_to": PAYEE.address},
            "the payer pays himself, and closes his holding to the payee",
        ),
    )
    why = "money that somebody else got is no payment"
    for fault_name, variant, change, fault in cases:
        evidence = wallet.build_payment(**change)
        # What a close-out moves has reached the payee, too; that it does not count is the profile's.
        pinned_members = ALL_MEMBERS if fault_name == "recipient-close-out" else CODES
        yield draft_refusal(
            "recipient", fault_name, variant, evidence, fault, why, "RAIL-PAY-08",
            code="wrong_recipient", pinned_members=pinned_members, pins=_EXTRAS,
        )  # fmt: skip


def _amounts() -> Iterator[Draft]:
    why = "less than the price buys nothing"
    cases = (
        ("amount", "one-less", PRICE - 1, "it pays one unit less"),
        ("amount", "thousandth", PRICE // 1000, "it pays a thousandth"),
        ("amount", "zero", 0, "it pays nothing"),
    )
    for fault_name, variant, amount, fault in cases:
        evidence = wallet.build_payment(amt=amount)
        yield draft_refusal("amount", fault_name, variant, evidence, fault, why, "RAIL-PAY-09", code="wrong_amount")
    for variant, amount in (("all-of-it", 0), ("the-rest", PRICE - 1)):
        evidence = wallet.build_payment(amt=amount, close_assets_to=PAYEE.address)
        fault = "only with what the close-out brings could it reach the price"
        why = "what a close-out brings is not in the transaction that was signed"
        yield draft_refusal(
            "amount", "close-out", variant, evidence, fault, why, "RAIL-PAY-09",
            code="wrong_amount", pinned_members=ALL_MEMBERS, pins=_EXTRAS,
        )  # fmt: skip
    group = wallet.sign_group(wallet.transfer(amt=PRICE // 2), wallet.transfer(amt=PRICE - PRICE // 2))
    evidence = wallet.build_evidence(group[0], group_b64=group)
    why = "each transaction of a group has its own id, and one id is one payment"
    fault = "it pays half; the other half is another transaction of the group"
    yield draft_refusal(
        "amount",
        "group",
        "in-halves",
        evidence,
        fault,
        why,
        "RAIL-PAY-09",
        code="wrong_amount",
        pinned_members=ALL_MEMBERS,
    )
