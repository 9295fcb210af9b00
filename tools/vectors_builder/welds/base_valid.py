"""Authorizations on Base that pay, and settlements that count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from conformance.lanes.base.authorization import Authorization, Domain, nonce_of
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.welds import base_wallet as wallet
from tools.vectors_builder.welds.base_wallet import NOW, STRANGER, transfer_log, used
from tools.vectors_builder.welds.drafting import challenge, draw, holds

_ROWS: Final = ("RAIL-PAY-04", "RAIL-WELD-03")


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _plain()
    yield from _spellings()
    yield from _windows()


def _plain() -> Iterator[Draft]:
    authorization = wallet.sign()
    why = "the ordinary payment: payee, price, and the token's hash for a nonce"
    yield holds(
        "plain", "exact", wallet.build_evidence(authorization), why, *_ROWS, values=wallet.values(authorization)
    )
    numbers = {
        "value": authorization.value,
        "validAfter": authorization.valid_after,
        "validBefore": authorization.valid_before,
    }
    evidence = wallet.build_evidence(authorization)
    evidence["authorization"] = {**evidence["authorization"], **numbers}
    why = "numbers may be JSON numbers"
    yield holds("plain", "integers", evidence, why, *_ROWS, values=wallet.values(authorization), pins=("profile 5.5",))
    terms = {**wallet.TERMS, "caip2": "eip155:84532", "asset": wallet.TEST_USDC}
    test_challenge = challenge(terms, "test network", name="USDC", version="2")
    domain = Domain("USDC", "2", 84532, wallet.TEST_USDC)
    test = wallet.sign(domain=domain, nonce=nonce_of(test_challenge["token"]), token=test_challenge["token"])
    why = "the test network's contract has another name in its domain"
    yield holds(
        "plain",
        "sepolia",
        wallet.build_evidence(test, challenge=test_challenge),
        why,
        *_ROWS,
        values=wallet.values(test),
    )


def _spellings() -> Iterator[Draft]:
    pins = ("profile 5.5",)
    authorization = _with_recovery(27)
    zero = authorization.with_recovery(0)
    why = "some signers count from 0, others from 27"
    yield holds(
        "v", "zero", wallet.build_evidence(zero), why, "RAIL-PAY-12", values=wallet.values(authorization), pins=pins
    )
    second_recovery = _with_recovery(28)
    compact_recovery = second_recovery.with_recovery(1)
    yield holds(
        "v",
        "one",
        wallet.build_evidence(compact_recovery),
        why,
        "RAIL-PAY-12",
        values=wallet.values(second_recovery),
        pins=pins,
    )
    yield holds(
        "v",
        "twenty-eight",
        wallet.build_evidence(second_recovery),
        why,
        "RAIL-PAY-12",
        values=wallet.values(second_recovery),
    )
    authorization = wallet.sign()
    evidence = wallet.build_evidence(authorization)
    members = evidence["authorization"]
    lower = {**members, "from": members["from"].lower(), "to": members["to"].lower()}
    upper = {**members, **{name: "0x" + members[name][2:].upper() for name in ("from", "to", "nonce")}}
    why = "hex is compared by its bytes"
    for variant, spelling in (("lower-case", lower), ("upper-case", upper)):
        again = {**evidence, "authorization": spelling}
        yield holds(
            "hex",
            variant,
            again,
            why,
            "RAIL-PAY-04",
            values=wallet.values(authorization),
            pins=("profile 1.2 P-NW-04",),
        )
    bare = wallet.build_evidence(authorization, signature=authorization.signature.hex())
    why = "the signature's 0x may be missing"
    yield holds("hex", "no-prefix", bare, why, "RAIL-PAY-04", values=wallet.values(authorization), pins=pins)


def _with_recovery(v: int) -> Authorization:
    """Return the first authorization, by its end, whose signature has this v."""
    ends = (wallet.sign(valid_before=wallet.LATER + late) for late in range(64))
    return next(authorization for authorization in ends if authorization.signature[64] == v)


def _windows() -> Iterator[Draft]:
    cases: tuple[tuple[str, str, dict[str, Any], str], ...] = (
        ("begins", "a-second-ago", {"valid_after": NOW - 1}, "it counts from the second after"),
        ("ends", "in-thirty-seconds", {"valid_before": NOW + 30}, "thirty seconds are enough to settle"),
        ("ends", "never", {"valid_before": 2**256 - 1}, "times are 256-bit numbers"),
        ("begins", "long-ago", {"valid_after": 1}, "when it began does not matter"),
    )
    for fault_name, variant, change, why in cases:
        authorization = wallet.sign(**change)
        pins = ("profile 5.5",) if variant == "in-thirty-seconds" else ()
        yield holds(
            fault_name,
            variant,
            wallet.build_evidence(authorization),
            why,
            "RAIL-PAY-13",
            values=wallet.values(authorization),
            pins=pins,
        )


def settled_drafts() -> Iterator[Draft]:
    """Yield settlements that count."""
    authorization = wallet.sign()
    other_nonce = draw("another nonce")
    sign, call = wallet.sign_transaction, wallet.call(authorization)
    vault, table = wallet.STRANGER.address, [used(), transfer_log()]
    cases: tuple[tuple[str, str, bytes, Sequence[dict[str, Any]], int, dict[str, Any], str], ...] = (
        ("transaction", "split", sign(call), table, 18, {}, "the ordinary settlement"),
        ("transaction", "whole", sign(wallet.call(authorization, whole=True)), table, 18, {},
         "the overload that takes the signature as bytes"),
        ("transaction", "another-contract", sign(b"\x01\x02\x03\x04", to=vault), table, 18, {},
         "whoever uses the authorization, what its logs say counts"),
        ("type", "legacy", sign(call, kind=0), table, 18, {}, "a transaction without type"),
        ("type", "access-list", sign(call, kind=1), table, 18, {}, "a transaction of type 1"),
        ("type", "no-chain", sign(call, kind=0, chain_id=None), table, 18, {},
         "a legacy transaction for every chain, which chains still take"),
        ("code", "set-code", sign(call, kind=4), table, 18, {},
         "a transaction of type 4, in which its sender lends his account a contract's code"),
        ("depth", "many-blocks", sign(call), table, 18, {"depth": 1000}, "it is long final"),
        ("logs", "others-around", sign(call),
         [transfer_log(sender=STRANGER.address), used(), transfer_log(), transfer_log(to=STRANGER.address)], 19, {},
         "other logs before and after do not matter"),
        ("logs", "last-of-batch", sign(call, to=vault), [used(nonce=other_nonce), used(), transfer_log()], 19,
         {}, "of several authorizations in one transaction, the one directly before the transfer is paid"),
        ("logs", "first-log", sign(call), table, 1, {"first": 0}, "logs are counted from zero"),
    )  # fmt: skip
    for fault_name, variant, raw, logs, place, more, why in cases:
        settlement = wallet.settlement(raw, logs, **more)
        values = wallet.settled_values(authorization, raw, place)
        yield holds(
            f"settled-{fault_name}", variant, wallet.build_evidence(authorization, settlement=settlement), why,
            "RAIL-PAY-04",
            values=values, pins=("profile 5.5 P-LN-03",),
        )  # fmt: skip
