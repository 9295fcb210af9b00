"""Payments on Algorand that pay, plain ones and ones with more about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from algosdk import encoding, transaction
from algosdk.atomic_transaction_composer import MultisigTransactionSigner

from tools.vectors_builder.challenges.drafting import TTL, UNIX
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.welds import algorand_wallet as wallet
from tools.vectors_builder.welds.algorand_wallet import PAYEE, PAYER, SPONSOR, STRANGER
from tools.vectors_builder.welds.drafting import PRICE, challenge, draw, holds

_ROWS: Final = ("RAIL-PAY-02", "RAIL-WELD-01")
_EXTRAS: Final = ("profile 5.5 P-LN-09",)


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _plain()
    yield from _group_drafts()
    yield from _with_more()
    yield from _signers()
    yield from _times()


def _plain() -> Iterator[Draft]:
    transfer = wallet.transfer()
    why = "the ordinary payment: asset, payee, price, and the token for a note"
    yield holds(
        "plain", "exact", wallet.build_evidence(wallet.sign(transfer)), why, *_ROWS, values=wallet.values(transfer)
    )
    more = wallet.transfer(amt=PRICE + 1)
    why = "money that has moved is not refused for being more"
    evidence = wallet.build_evidence(wallet.sign(more))
    yield holds(
        "plain", "more", evidence, why, "RAIL-PAY-09", values=wallet.values(more), pins=("profile 5.5 P-LN-02",)
    )
    terms = {
        **wallet.TERMS,
        "caip2": "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe",
        "asset": str(wallet.TEST_ASSET),
    }
    test_challenge = challenge(terms, "test network")
    test = wallet.transfer(
        sp=wallet.params(wallet.TEST_GENESIS), index=wallet.TEST_ASSET, note=test_challenge["token"].encode()
    )
    evidence = wallet.build_evidence(wallet.sign(test), challenge=test_challenge)
    why = "the network is told by the genesis hash"
    yield holds("plain", "test-network", evidence, why, *_ROWS, values=wallet.values(test))


def _group_drafts() -> Iterator[Draft]:
    why = "what else stands in the group does not matter to the payee"
    first = wallet.transfer()
    other_payment = transaction.PaymentTxn(PAYER.address, wallet.params(), STRANGER.address, 5)
    group = wallet.sign_group(first, other_payment)
    evidence = wallet.build_evidence(group[0], group_b64=group)
    yield holds("group", "first-of-two", evidence, why, "RAIL-PAY-02", values=wallet.values(first), pins=_EXTRAS)
    last = wallet.transfer(sp=wallet.params(fee=0))
    sponsor = transaction.PaymentTxn(SPONSOR.address, wallet.params(fee=2000), SPONSOR.address, 0)
    group = wallet.sign_group(sponsor, last, signers=(SPONSOR, PAYER))
    evidence = wallet.build_evidence(group[1], group_b64=group)
    yield holds("group", "fee-by-another", evidence, why, "RAIL-PAY-02", values=wallet.values(last), pins=_EXTRAS)
    alone = wallet.transfer()
    group = wallet.sign_group(alone)
    why = "a group of one has an id, too"
    evidence = wallet.build_evidence(group[0], group_b64=group)
    yield holds("group", "alone", evidence, why, "RAIL-PAY-02", values=wallet.values(alone), pins=_EXTRAS)


def _with_more() -> Iterator[Draft]:
    cases = (
        ("rekey", "to-another", {"rekey_to": STRANGER.address}, "who may spend from now on is the payer's matter"),
        ("close-out", "to-another", {"close_assets_to": STRANGER.address}, "the plain amount reaches the price"),
        ("close-out", "to-payee", {"close_assets_to": PAYEE.address}, "the plain amount reaches the price by itself"),
        ("lease", "of-its-own", {"lease": draw("lease")}, "a lease keeps the payer from paying twice"),
        ("fee", "high", {"sp": wallet.params(fee=100_000)}, "what the network gets is no part of the price"),
    )
    for fault_name, variant, change, why in cases:
        transfer = wallet.transfer(**change)
        evidence = wallet.build_evidence(wallet.sign(transfer))
        pins = _EXTRAS if fault_name in {"rekey", "close-out"} else ()
        yield holds(fault_name, variant, evidence, why, "RAIL-PAY-02", values=wallet.values(transfer), pins=pins)


def _signers() -> Iterator[Draft]:
    transfer = wallet.transfer()
    why = "an account that was rekeyed pays by another's key; the payer is still the sender"
    evidence = wallet.build_evidence(wallet.sign(transfer, STRANGER))
    yield holds("rekey", "auth-address", evidence, why, "RAIL-PAY-02", values=wallet.values(transfer))
    for variant, threshold, signing in (("two-of-three", 2, 2), ("three-of-three", 3, 3)):
        multisig, signed_text = shared_payment(threshold, signing)
        why = "several may hold an account together"
        yield holds(
            "multisig", variant, wallet.build_evidence(signed_text), why, "RAIL-PAY-02", values=wallet.values(multisig)
        )
    program = transaction.LogicSigAccount(PROGRAM)
    escrow = wallet.transfer(sender=program.address())
    evidence = wallet.build_evidence(str(encoding.msgpack_encode(transaction.LogicSigTransaction(escrow, program))))
    why = "a program may be an account itself; the chain has run it"
    yield holds("logic", "contract-account", evidence, why, "RAIL-PAY-02", values=wallet.values(escrow))
    PAYER.delegate(program)
    evidence = wallet.build_evidence(str(encoding.msgpack_encode(transaction.LogicSigTransaction(transfer, program))))
    why = "an account may let a program sign for it"
    yield holds("logic", "delegated", evidence, why, "RAIL-PAY-02", values=wallet.values(transfer))


# The smallest program that approves: version 6, pushint 1.
PROGRAM: Final = bytes.fromhex("068101")


def shared_payment(threshold: int, signing: int) -> tuple[transaction.Transaction, str]:
    """Return the payment of an account that three hold together, signed by the first `signing` of them."""
    holders = [PAYER, STRANGER, SPONSOR]
    multisig = transaction.Multisig(1, threshold, [one.address for one in holders])
    transfer = wallet.transfer(sender=multisig.address())
    signer = MultisigTransactionSigner(multisig, [one.key for one in holders[:signing]])
    return transfer, str(encoding.msgpack_encode(signer.sign_transactions([transfer], [0])[0]))


def _times() -> Iterator[Draft]:
    pins = ("profile 5.5",)
    transfer = wallet.transfer()
    times = {
        "minute-before-issue": (UNIX - 60, "clocks of chain and rail may differ by a minute"),
        "minute-after-end": (UNIX + TTL + 60, "a payment made in time may come into a block a little later"),
    }
    for variant, (time, why) in times.items():
        evidence = wallet.build_evidence(wallet.sign(transfer), time=time)
        yield holds("time", variant, evidence, why, "RAIL-WELD-06", values=wallet.values(transfer), pins=pins)
