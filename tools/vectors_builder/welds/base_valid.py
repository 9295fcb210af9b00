"""Authorizations on Base that pay, and settlements that count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from conformance.lanes.base.authorization import Authorization, Domain, nonce_of
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.welds import base_wallet as wallet
from tools.vectors_builder.welds.base_wallet import NOW, STRANGER, moved, used
from tools.vectors_builder.welds.drafting import challenge, draw, holds

_ROWS: Final = ("RAIL-PAY-04", "RAIL-WELD-03")


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _plain()
    yield from _spellings()
    yield from _windows()


def _plain() -> Iterator[Draft]:
    given = wallet.signed()
    why = "the ordinary payment: payee, price, and the token's hash for a nonce"
    yield holds("plain", "exact", wallet.seen(given), why, *_ROWS, values=wallet.values(given))
    numbers = {"value": given.value, "validAfter": given.valid_after, "validBefore": given.valid_before}
    shown = wallet.seen(given)
    shown["authorization"] = {**shown["authorization"], **numbers}
    why = "numbers may be JSON numbers"
    yield holds("plain", "integers", shown, why, *_ROWS, values=wallet.values(given), pins=("profile 5.5",))
    terms = {**wallet.TERMS, "caip2": "eip155:84532", "asset": wallet.TEST_USDC}
    asked = challenge(terms, "test network", name="USDC", version="2")
    domain = Domain("USDC", "2", 84532, wallet.TEST_USDC)
    test = wallet.signed(domain=domain, nonce=nonce_of(asked["token"]), token=asked["token"])
    why = "the test network's contract has another name in its domain"
    yield holds("plain", "sepolia", wallet.seen(test, challenge=asked), why, *_ROWS, values=wallet.values(test))


def _spellings() -> Iterator[Draft]:
    pins = ("profile 5.5",)
    given = _with_recovery(27)
    zero = given.with_recovery(0)
    why = "some signers count from 0, others from 27"
    yield holds("v", "zero", wallet.seen(zero), why, "RAIL-PAY-12", values=wallet.values(given), pins=pins)
    other = _with_recovery(28)
    one = other.with_recovery(1)
    yield holds("v", "one", wallet.seen(one), why, "RAIL-PAY-12", values=wallet.values(other), pins=pins)
    yield holds("v", "twenty-eight", wallet.seen(other), why, "RAIL-PAY-12", values=wallet.values(other))
    given = wallet.signed()
    shown = wallet.seen(given)
    members = shown["authorization"]
    lower = {**members, "from": members["from"].lower(), "to": members["to"].lower()}
    upper = {**members, **{name: "0x" + members[name][2:].upper() for name in ("from", "to", "nonce")}}
    why = "hex is compared by its bytes"
    for variant, spelled in (("lower-case", lower), ("upper-case", upper)):
        again = {**shown, "authorization": spelled}
        yield holds(
            "hex", variant, again, why, "RAIL-PAY-04", values=wallet.values(given), pins=("profile 1.2 P-NW-04",)
        )
    bare = wallet.seen(given, signature=given.signature.hex())
    why = "the signature's 0x may be missing"
    yield holds("hex", "no-prefix", bare, why, "RAIL-PAY-04", values=wallet.values(given), pins=pins)


def _with_recovery(v: int) -> Authorization:
    """Return the first authorization, by its end, whose signature has this v."""
    ends = (wallet.signed(valid_before=wallet.LATER + late) for late in range(64))
    return next(given for given in ends if given.signature[64] == v)


def _windows() -> Iterator[Draft]:
    cases: tuple[tuple[str, str, dict[str, Any], str], ...] = (
        ("begins", "a-second-ago", {"valid_after": NOW - 1}, "it counts from the second after"),
        ("ends", "in-thirty-seconds", {"valid_before": NOW + 30}, "thirty seconds are enough to settle"),
        ("ends", "never", {"valid_before": 2**256 - 1}, "times are 256-bit numbers"),
        ("begins", "long-ago", {"valid_after": 1}, "when it began does not matter"),
    )
    for fault_name, variant, change, why in cases:
        given = wallet.signed(**change)
        pins = ("profile 5.5",) if variant == "in-thirty-seconds" else ()
        yield holds(fault_name, variant, wallet.seen(given), why, "RAIL-PAY-13", values=wallet.values(given), pins=pins)


def settled() -> Iterator[Draft]:
    """Yield settlements that count."""
    given = wallet.signed()
    other = draw("another nonce")
    vault, table = wallet.STRANGER.address, [used(), moved()]
    cases: tuple[tuple[str, str, bytes, Sequence[dict[str, Any]], int, dict[str, Any], str], ...] = (
        ("transaction", "split", wallet.sent(wallet.call(given)), table, 18, {}, "the ordinary settlement"),
        ("transaction", "whole", wallet.sent(wallet.call(given, whole=True)), table, 18, {},
         "the overload that takes the signature as bytes"),
        ("transaction", "another-contract", wallet.sent(b"\x01\x02\x03\x04", to=vault), table, 18, {},
         "whoever uses the authorization, what its logs say counts"),
        ("type", "legacy", wallet.sent(wallet.call(given), kind=0), table, 18, {}, "a transaction without type"),
        ("type", "access-list", wallet.sent(wallet.call(given), kind=1), table, 18, {}, "a transaction of type 1"),
        ("type", "no-chain", wallet.sent(wallet.call(given), kind=0, chain_id=None), table, 18, {},
         "a legacy transaction for every chain, which chains still take"),
        ("code", "set-code", wallet.sent(wallet.call(given), kind=4), table, 18, {},
         "a transaction of type 4, in which its sender lends his account a contract's code"),
        ("depth", "many-blocks", wallet.sent(wallet.call(given)), table, 18, {"depth": 1000}, "it is long final"),
        ("logs", "others-around", wallet.sent(wallet.call(given)),
         [moved(sender=STRANGER.address), used(), moved(), moved(to=STRANGER.address)], 19, {},
         "other logs before and after do not matter"),
        ("logs", "last-of-batch", wallet.sent(wallet.call(given), to=vault), [used(nonce=other), used(), moved()], 19,
         {}, "of several authorizations in one transaction, the one directly before the transfer is paid"),
        ("logs", "first-log", wallet.sent(wallet.call(given)), table, 1, {"first": 0}, "logs are counted from zero"),
    )  # fmt: skip
    for fault_name, variant, raw, logs, place, more, why in cases:
        found = wallet.settlement(raw, logs, **more)
        values = wallet.settled_values(given, raw, place)
        yield holds(
            f"settled-{fault_name}", variant, wallet.seen(given, settlement=found), why, "RAIL-PAY-04",
            values=values, pins=("profile 5.5 P-LN-03",),
        )  # fmt: skip
