"""Payments on Algorand that pay, plain ones and ones with more about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from algosdk import encoding, transaction
from algosdk.atomic_transaction_composer import MultisigTransactionSigner

from tools.vectors_builder.challenges.offering import TTL, UNIX
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.welds import algorand_wallet as wallet
from tools.vectors_builder.welds.algorand_wallet import PAYEE, PAYER, SPONSOR, STRANGER
from tools.vectors_builder.welds.drafting import PRICE, challenge, draw, holds

_ROWS: Final = ("RAIL-PAY-02", "RAIL-WELD-01")
_EXTRAS: Final = ("profile 5.5 P-LN-09",)


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _plain()
    yield from _grouped()
    yield from _with_more()
    yield from _signers()
    yield from _times()


def _plain() -> Iterator[Draft]:
    made = wallet.transfer()
    why = "the ordinary payment: asset, payee, price, and the token for a note"
    yield holds("plain", "exact", wallet.seen(wallet.signed(made)), why, *_ROWS, values=wallet.values(made))
    more = wallet.transfer(amt=PRICE + 1)
    why = "money that has moved is not refused for being more"
    given = wallet.seen(wallet.signed(more))
    yield holds("plain", "more", given, why, "RAIL-PAY-09", values=wallet.values(more), pins=("profile 5.5 P-LN-02",))
    terms = {
        **wallet.TERMS,
        "caip2": "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe",
        "asset": str(wallet.TEST_ASSET),
    }
    asked = challenge(terms, "test network")
    test = wallet.transfer(sp=wallet.params(wallet.TEST_GENESIS), index=wallet.TEST_ASSET, note=asked["token"].encode())
    given = wallet.seen(wallet.signed(test), challenge=asked)
    why = "the network is told by the genesis hash"
    yield holds("plain", "test-network", given, why, *_ROWS, values=wallet.values(test))


def _grouped() -> Iterator[Draft]:
    why = "what else stands in the group does not matter to the payee"
    first = wallet.transfer()
    other = transaction.PaymentTxn(PAYER.address, wallet.params(), STRANGER.address, 5)
    group = wallet.grouped(first, other)
    given = wallet.seen(group[0], group_b64=group)
    yield holds("group", "first-of-two", given, why, "RAIL-PAY-02", values=wallet.values(first), pins=_EXTRAS)
    last = wallet.transfer(sp=wallet.params(fee=0))
    sponsor = transaction.PaymentTxn(SPONSOR.address, wallet.params(fee=2000), SPONSOR.address, 0)
    group = wallet.grouped(sponsor, last, signers=(SPONSOR, PAYER))
    given = wallet.seen(group[1], group_b64=group)
    yield holds("group", "fee-by-another", given, why, "RAIL-PAY-02", values=wallet.values(last), pins=_EXTRAS)
    alone = wallet.transfer()
    group = wallet.grouped(alone)
    why = "a group of one has an id, too"
    given = wallet.seen(group[0], group_b64=group)
    yield holds("group", "alone", given, why, "RAIL-PAY-02", values=wallet.values(alone), pins=_EXTRAS)


def _with_more() -> Iterator[Draft]:
    cases = (
        ("rekey", "to-another", {"rekey_to": STRANGER.address}, "who may spend from now on is the payer's matter"),
        ("close-out", "to-another", {"close_assets_to": STRANGER.address}, "the plain amount reaches the price"),
        ("close-out", "to-payee", {"close_assets_to": PAYEE.address}, "the plain amount reaches the price by itself"),
        ("lease", "of-its-own", {"lease": draw("lease")}, "a lease keeps the payer from paying twice"),
        ("fee", "high", {"sp": wallet.params(fee=100_000)}, "what the network gets is no part of the price"),
    )
    for fault_name, variant, change, why in cases:
        made = wallet.transfer(**change)
        given = wallet.seen(wallet.signed(made))
        pins = _EXTRAS if fault_name in {"rekey", "close-out"} else ()
        yield holds(fault_name, variant, given, why, "RAIL-PAY-02", values=wallet.values(made), pins=pins)


def _signers() -> Iterator[Draft]:
    made = wallet.transfer()
    why = "an account that was rekeyed pays by another's key; the payer is still the sender"
    given = wallet.seen(wallet.signed(made, STRANGER))
    yield holds("rekey", "auth-address", given, why, "RAIL-PAY-02", values=wallet.values(made))
    for variant, threshold, signing in (("two-of-three", 2, 2), ("three-of-three", 3, 3)):
        shared, sent = shared_payment(threshold, signing)
        why = "several may hold an account together"
        yield holds("multisig", variant, wallet.seen(sent), why, "RAIL-PAY-02", values=wallet.values(shared))
    program = transaction.LogicSigAccount(PROGRAM)
    escrow = wallet.transfer(sender=program.address())
    given = wallet.seen(str(encoding.msgpack_encode(transaction.LogicSigTransaction(escrow, program))))
    why = "a program may be an account itself; the chain has run it"
    yield holds("logic", "contract-account", given, why, "RAIL-PAY-02", values=wallet.values(escrow))
    PAYER.delegate(program)
    given = wallet.seen(str(encoding.msgpack_encode(transaction.LogicSigTransaction(made, program))))
    why = "an account may let a program sign for it"
    yield holds("logic", "delegated", given, why, "RAIL-PAY-02", values=wallet.values(made))


# The smallest program that approves: version 6, pushint 1.
PROGRAM: Final = bytes.fromhex("068101")


def shared_payment(threshold: int, signing: int) -> tuple[transaction.Transaction, str]:
    """Return the payment of an account that three hold together, signed by the first `signing` of them."""
    holders = [PAYER, STRANGER, SPONSOR]
    shared = transaction.Multisig(1, threshold, [one.address for one in holders])
    made = wallet.transfer(sender=shared.address())
    signer = MultisigTransactionSigner(shared, [one.key for one in holders[:signing]])
    return made, str(encoding.msgpack_encode(signer.sign_transactions([made], [0])[0]))


def _times() -> Iterator[Draft]:
    pins = ("profile 5.5",)
    made = wallet.transfer()
    times = {
        "minute-before-issue": (UNIX - 60, "clocks of chain and rail may differ by a minute"),
        "minute-after-end": (UNIX + TTL + 60, "a payment made in time may come into a block a little later"),
    }
    for variant, (time, why) in times.items():
        given = wallet.seen(wallet.signed(made), time=time)
        yield holds("time", variant, given, why, "RAIL-WELD-06", values=wallet.values(made), pins=pins)
