"""Algorand transactions that a node takes and that pay something else: outcome, age, kind, asset, payee, amount."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from algosdk import transaction

from tools.vectors_builder.challenges.offering import TTL, UNIX
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.welds import algorand_wallet as wallet
from tools.vectors_builder.welds.algorand_wallet import ASSET, PAYEE, PAYER, STRANGER, TOKEN
from tools.vectors_builder.welds.drafting import ALL, CODES, PRICE, refused

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
    sent = wallet.signed(wallet.transfer())
    why = "an id can be shown long before, or without ever, being in a block"
    failed = wallet.seen(sent, outcome="failed", pool_error="underflow on subtracting 10000 from sender amount 0")
    fault = "the node has thrown it out of its pool"
    yield refused("outcome", "failed", "pool-error", failed, fault, why, "RAIL-PAY-11", code="tx_failed")
    dead = wallet.seen(sent, outcome="failed", pool_error="txn dead: round 57001001 outside of 57000000--57001000")
    fault = "no block took it while it was valid"
    yield refused("outcome", "failed", "dead", dead, fault, why, "RAIL-PAY-11", code="tx_failed")
    waiting = wallet.seen(sent, outcome="pending")
    fault = "it waits in the node's pool"
    yield refused("finality", "pending", "in-pool", waiting, fault, why, "RAIL-PAY-07", code="tx_not_confirmed")


def _ages() -> Iterator[Draft]:
    sent = wallet.signed(wallet.transfer())
    why = "a payment is for the challenge that lives when it is made"
    cases = (
        ("old", "sixty-one-seconds", UNIX - 61, "payment_too_old", "its block is 61 seconds older than the challenge"),
        ("old", "a-day", UNIX - 86_400, "payment_too_old", "its block is a day older than the challenge"),
        ("late", "sixty-one-seconds", UNIX + TTL + 61, "challenge_expired", "its block is 61 seconds after the end"),
        ("late", "a-day", UNIX + 86_400, "challenge_expired", "its block is a day after the challenge's issue"),
    )
    for fault_name, variant, time, code, fault in cases:
        given = wallet.seen(sent, time=time)
        yield refused("age", fault_name, variant, given, fault, why, "RAIL-WELD-06", code=code, pinned=ALL)


def _kind(fault_name: str, variant: str, given: dict[str, Any], fault: str, why: str, **more: Any) -> Draft:
    return refused(
        "kind", fault_name, variant, given, fault, why, "RAIL-PAY-10", code="unsupported_transaction", **more
    )


def _kinds() -> Iterator[Draft]:
    note = TOKEN.encode()
    native = transaction.PaymentTxn(PAYER.address, wallet.params(), PAYEE.address, PRICE, note=note)
    why = "the note welds nothing when what moves is not the asset"
    yield _kind("native", "same-amount", wallet.seen(wallet.signed(native)), "it moves Algos", why)
    much = transaction.PaymentTxn(PAYER.address, wallet.params(), PAYEE.address, 10_000_000, note=note)
    yield _kind("native", "ten-algos", wallet.seen(wallet.signed(much)), "it moves Algos, many of them", why)
    clawed = wallet.transfer(revocation_target=STRANGER.address)
    why = "what a clawback takes from somebody can be taken back from the payee, too"
    given = wallet.seen(wallet.signed(clawed))
    yield _kind("clawback", "from-another", given, "the asset's clawback moves it", why, pinned=ALL, pins=_EXTRAS)
    own = wallet.seen(wallet.signed(wallet.transfer(revocation_target=PAYER.address)))
    yield _kind("clawback", "from-himself", own, "the clawback moves what it holds", why, pinned=ALL, pins=_EXTRAS)
    called = transaction.ApplicationNoOpTxn(
        PAYER.address, wallet.params(), 1234, accounts=[PAYEE.address], foreign_assets=[ASSET], note=note
    )
    inner = [{"type": "axfer", "xaid": ASSET, "aamt": PRICE, "arcv": PAYEE.address, "snd": STRANGER.address}]
    why = "an application pays with its own money; the note is the caller's"
    given = wallet.seen(wallet.signed(called), inner_transactions=inner)
    yield _kind("inner", "application-pays", given, "an application's inner transfer pays", why, pinned=ALL)
    given = wallet.seen(wallet.signed(called), inner_transactions=[{**inner[0], "note": TOKEN}])
    fault = "an application's inner transfer pays, with the token in its own note"
    yield _kind("inner", "with-note", given, fault, why, pinned=ALL)
    why = "a transaction about the asset is no transfer of it"
    frozen = transaction.AssetFreezeTxn(PAYER.address, wallet.params(), ASSET, PAYEE.address, False, note=note)
    yield _kind("administration", "freeze", wallet.seen(wallet.signed(frozen)), "it unfreezes the payee's holding", why)
    key = transaction.KeyregOfflineTxn(PAYER.address, wallet.params(), note=note)
    yield _kind("administration", "key-registration", wallet.seen(wallet.signed(key)), "it registers a key", why)


def _assets() -> Iterator[Draft]:
    why = "anybody can make an asset of the same name"
    for fault_name, variant, number, fault in (
        ("asset", "next-id", ASSET + 1, "it moves the asset with the next id"),
        ("asset", "test-network", wallet.TEST_ASSET, "it moves the asset that has USDC's id on the test network"),
        ("asset", "truncated", ASSET // 10, "it moves the asset whose id is the first seven digits"),
        ("asset-far", "first", 1, "it moves the asset with the first id there can be"),
        ("asset-far", "largest", 2**64 - 1, "it moves the asset with the largest id there can be"),
    ):
        yield refused(
            "asset", fault_name, variant, wallet.paid(index=number), fault, why, "RAIL-PAY-10", code="wrong_asset"
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
        given = wallet.paid(**change)
        # What a close-out moves has reached the payee, too; that it does not count is the profile's.
        pinned = ALL if fault_name == "recipient-close-out" else CODES
        yield refused(
            "recipient", fault_name, variant, given, fault, why, "RAIL-PAY-08",
            code="wrong_recipient", pinned=pinned, pins=_EXTRAS,
        )  # fmt: skip


def _amounts() -> Iterator[Draft]:
    why = "less than the price buys nothing"
    cases = (
        ("amount", "one-less", PRICE - 1, "it pays one unit less"),
        ("amount", "thousandth", PRICE // 1000, "it pays a thousandth"),
        ("amount", "zero", 0, "it pays nothing"),
    )
    for fault_name, variant, amount, fault in cases:
        given = wallet.paid(amt=amount)
        yield refused("amount", fault_name, variant, given, fault, why, "RAIL-PAY-09", code="wrong_amount")
    for variant, amount in (("all-of-it", 0), ("the-rest", PRICE - 1)):
        given = wallet.paid(amt=amount, close_assets_to=PAYEE.address)
        fault = "only with what the close-out brings could it reach the price"
        why = "what a close-out brings is not in the transaction that was signed"
        yield refused(
            "amount", "close-out", variant, given, fault, why, "RAIL-PAY-09",
            code="wrong_amount", pinned=ALL, pins=_EXTRAS,
        )  # fmt: skip
    group = wallet.grouped(wallet.transfer(amt=PRICE // 2), wallet.transfer(amt=PRICE - PRICE // 2))
    given = wallet.seen(group[0], group_b64=group)
    why = "each transaction of a group has its own id, and one id is one payment"
    fault = "it pays half; the other half is another transaction of the group"
    yield refused("amount", "group", "in-halves", given, fault, why, "RAIL-PAY-09", code="wrong_amount", pinned=ALL)
