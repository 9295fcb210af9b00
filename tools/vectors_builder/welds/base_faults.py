"""Authorizations on Base that are truly signed and pay something else, at another time, or for another challenge."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

from eth_abi.abi import encode
from eth_utils.crypto import keccak

from conformance.lanes.base.authorization import nonce_of
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.welds import base_wallet as wallet
from tools.vectors_builder.welds.base_wallet import CHALLENGE, NOW, PAYEE, PAYER, STRANGER, TERMS, TOKEN
from tools.vectors_builder.welds.drafting import ALL_MEMBERS, CODES, PRICE, challenge, draft_refusal, draw

_RAW: Final = TOKEN.encode()


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _payees()
    yield from _amounts()
    yield from _nonces()
    yield from _windows()


def _payees() -> Iterator[Draft]:
    near = PAYEE.address[:-1] + ("0" if PAYEE.address[-1] != "0" else "1")
    cases = (
        ("recipient", "another", STRANGER.address, "it pays another account"),
        ("recipient", "payer-himself", PAYER.address, "the payer pays himself"),
        ("recipient", "zero-address", "0x" + "0" * 40, "it pays the zero address"),
        ("recipient-near", "last-digit", near.lower(), "the payee's last digit is another"),
        ("recipient-near", "contract", wallet.USDC, "it pays the asset's own contract"),
        ("recipient-near", "reversed", "0x" + PAYEE.address[:1:-1].lower(), "the payee's digits are reversed"),
    )
    why = "an authorization moves money to whom it names, and to nobody else"
    for fault_name, variant, to, fault in cases:
        evidence = wallet.build_evidence(wallet.sign(to=to))
        yield draft_refusal(
            "recipient", fault_name, variant, evidence, fault, why, "RAIL-PAY-14", code="wrong_recipient"
        )


def _amounts() -> Iterator[Draft]:
    why = "nothing has moved yet, so the value can be the price exactly"
    cases = (
        ("value", "one-less", PRICE - 1, "it pays one unit less"),
        ("value", "one-more", PRICE + 1, "it pays one unit more"),
        ("value", "zero", 0, "it pays nothing"),
        ("value-scale", "thousandth", PRICE // 1000, "it pays a thousandth"),
        ("value-scale", "of-eighteen-decimals", PRICE * 10**12, "it pays as if the asset had eighteen decimals"),
        ("value-scale", "modulo", PRICE + 2**64, "it pays what is the price in 64 bits"),
        ("value-far", "largest", 2**256 - 1, "it pays the largest number there is"),
    )
    for fault_name, variant, value, fault in cases:
        evidence = wallet.build_evidence(wallet.sign(value=value))
        pins = ("profile 5.5 P-LN-02",) if value > PRICE else ()
        yield draft_refusal(
            "amount", fault_name, variant, evidence, fault, why, "RAIL-PAY-14",
            code="wrong_amount", pinned_members=ALL_MEMBERS if pins else CODES, pins=pins,
        )  # fmt: skip


def _nonces() -> Iterator[Draft]:
    other_token = challenge(TERMS, "another challenge")["token"]
    algorand = challenge({**TERMS, "caip2": "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k"})["token"]
    digest = nonce_of(TOKEN)
    personal = b"\x19Ethereum Signed Message:\n" + str(len(_RAW)).encode() + _RAW
    cases = (
        ("nonce-other", "challenge", nonce_of(other_token), "the nonce is of another challenge for the same request"),
        ("nonce-other", "lane", nonce_of(algorand), "the nonce is of another lane's token"),
        ("nonce-other", "drawn", draw("nonce of a stock client"), "the nonce is random, as ordinary clients draw it"),
        ("nonce-hash", "sha-256", hashlib.sha256(_RAW).digest(), "the nonce is the token's SHA-256"),
        ("nonce-hash", "sha3-256", hashlib.sha3_256(_RAW).digest(), "the nonce is the token's SHA3-256"),
        ("nonce-hash", "twice", keccak(digest), "the token is hashed twice"),
        ("nonce-text", "line-end", keccak(_RAW + b"\n"), "a line end is hashed with the token"),
        ("nonce-text", "hex", keccak(_RAW.hex().encode()), "the token's hex is hashed"),
        ("nonce-text", "upper-case", keccak(TOKEN.upper().encode()), "the token is hashed in upper case"),
        ("nonce-wrapped", "personal-message", keccak(personal), "the token is hashed as a personal message"),
        ("nonce-wrapped", "abi", keccak(encode(("string",), (TOKEN,))), "the token is hashed as an ABI string"),
        ("nonce-wrapped", "quotes", keccak(f'"{TOKEN}"'.encode()), "the token is hashed in quotation marks"),
        ("nonce-part", "mac-alone", keccak(_RAW.split(b":")[2]), "only the token's mac is hashed"),
        ("nonce-part", "mac-itself", bytes.fromhex(TOKEN.split(":")[2]), "the nonce is the token's mac itself"),
        ("nonce-part", "without-half-b", keccak(_RAW[:-32]), "the token is hashed without half B"),
        ("nonce-bytes", "reversed", digest[::-1], "the hash's bytes are reversed"),
        ("nonce-bytes", "zero", bytes(32), "the nonce is zero"),
        ("nonce-bytes", "last-bit", digest[:-1] + bytes([digest[-1] ^ 1]), "the nonce's last bit is flipped"),
    )  # fmt: skip
    why = "an authorization with another nonce was signed for something else, or for nothing"
    for fault_name, variant, nonce, fault in cases:
        evidence = wallet.build_evidence(wallet.sign(nonce=nonce))
        yield draft_refusal(
            "weld", fault_name, variant, evidence, fault, why, "RAIL-WELD-03", "RAIL-WELD-14", code="weld_mismatch"
        )
    other_evidence = wallet.build_evidence(wallet.sign(), challenge={**CHALLENGE, "token": other_token})
    fault = "the authorization for one challenge is shown for another"
    yield draft_refusal(
        "weld", "exchanged", "challenge", other_evidence, fault, why, "RAIL-WELD-15", code="weld_mismatch"
    )


def _windows() -> Iterator[Draft]:
    early, late = "authorization_not_yet_valid", "authorization_expired"
    cases: tuple[tuple[str, str, dict[str, Any], str, str, str], ...] = (
        ("begins", "now", {"valid_after": NOW}, early, "it counts from the next second", ""),
        ("begins", "in-a-second", {"valid_after": NOW + 1}, early, "it counts from the second after the next", ""),
        ("begins", "milliseconds", {"valid_after": (NOW - 60) * 1000}, early, "its begin is in milliseconds", ""),
        ("ends", "now", {"valid_before": NOW}, late, "it ends now", ""),
        ("ends", "a-second-ago", {"valid_before": NOW - 1}, late, "it has ended a second ago", ""),
        ("ends", "zero", {"valid_before": 0}, late, "it has ended in 1970", ""),
        ("ends-soon", "twenty-nine", {"valid_before": NOW + 29}, late, "it ends in 29 seconds", "profile 5.5"),
        ("ends-soon", "one", {"valid_before": NOW + 1}, late, "it ends in a second", "profile 5.5"),
        ("begins-far", "largest", {"valid_after": 2**256 - 1}, early, "it never begins", ""),
        ("begins-far", "when-it-ends", {"valid_after": wallet.LATER}, early, "it begins when it ends", ""),
    )
    why = "the contract compares strictly, and settling takes its time"
    for fault_name, variant, change, code, fault, pin in cases:
        evidence = wallet.build_evidence(wallet.sign(**change))
        yield draft_refusal(
            "validity", fault_name, variant, evidence, fault, why, "RAIL-PAY-13",
            code=code, pinned_members=ALL_MEMBERS if pin else CODES, pins=(pin,) if pin else (),
        )  # fmt: skip
