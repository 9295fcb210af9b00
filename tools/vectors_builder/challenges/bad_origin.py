"""Well-formed tokens that this issuer did not issue for the offered lane: half A belongs to something else."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tools.vectors_builder.challenges.drafting import (
    ALGORAND,
    ALL_MEMBERS,
    BASE,
    PINS,
    SOLANA,
    UNIX,
    UNKNOWN,
    Offer,
)
from tools.vectors_builder.drafting import Draft, seed

_FIELDS: Final = ("caip2", "asset", "amount", "pay_to")


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _other_terms()
    yield from _other_issuer()
    yield from _halves()
    yield from _constructions()
    yield from _changed_afterwards()


def _draft_refusal(fault_name: str, variant: str, vector_input: Mapping[str, Any], fault: str, why: str) -> Draft:
    return Draft(
        stage="origin",
        fault_name=fault_name,
        variant=variant,
        input=vector_input,
        why=why,
        requirements=("RAIL-WELD-07",),
        fault=fault,
        codes=UNKNOWN,
        pinned_members=ALL_MEMBERS,
        pins=PINS,
    )


def _other_terms() -> Iterator[Draft]:
    """A token issued for other terms than any that are accepted."""
    cases = (
        ("lane", "test-network", BASE, {"caip2": "eip155:84532"}, "the token is for the test network"),
        ("lane", "other-family", BASE, {"caip2": "solana:8453"}, "the token is for a lane of another family"),
        ("asset", "other-asset", ALGORAND, {"asset": "31566705"}, "the token is for another asset"),
        ("asset", "case", BASE, {"asset": BASE["asset"].lower()}, "the asset went in in lower case"),
        ("amount", "less", SOLANA, {"amount": "9999"}, "the token is for a smaller amount"),
        ("amount", "leading-zero", SOLANA, {"amount": "010000"}, "the amount went in with a leading zero"),
        ("amount", "decimal", BASE, {"amount": "0.01"}, "the amount went in in whole USDC"),
        ("payee", "other", BASE, {"pay_to": "0x" + "12" * 20}, "the token is for another payee"),
        ("payee", "case", SOLANA, {"pay_to": SOLANA["pay_to"].lower()}, "the payee went in in lower case"),
        ("payee", "empty", ALGORAND, {"pay_to": ""}, "the token names no payee"),
    )
    why = "who may choose the terms of a token pays what he likes to whom he likes"
    for fault_name, variant, lane, change, fault in cases:
        offer = Offer(f"{fault_name} {variant}", lane={**lane, **change}, lanes=(ALGORAND, BASE, SOLANA))
        yield _draft_refusal(fault_name, variant, offer.input(), fault, why)
    offer = Offer("not offered", lane=ALGORAND, lanes=(BASE, SOLANA))
    why = "a lane that is no longer offered takes no payment"
    yield _draft_refusal("lane", "not-offered", offer.input(), "the token's lane is not among those accepted", why)


def _other_issuer() -> Iterator[Draft]:
    offer = Offer("issuer")
    other_tokens = {
        "other": seed("challenges", "another secret"),
        "reversed": offer.issuer.secret[::-1],
        "hex-text": offer.issuer.secret.hex().encode(),
    }
    for variant, secret in other_tokens.items():
        token = offer.with_members(secret=secret).token()
        fault = "the token is made with its secret's hex text for a key" if variant == "hex-text" else ""
        why = "only the rail's own secret makes its tokens"
        yield _draft_refusal(
            "secret", variant, offer.input(token), fault or "the token is made with another secret", why
        )
    for variant, word in (("other", "Acme"), ("near", "Weldproofs")):
        token = offer.with_members(service_word=word).token()
        fault, why = "the token is of another service word", "two deployments with one secret stay two issuers"
        yield _draft_refusal("service-word", variant, offer.input(token), fault, why)


def _halves() -> Iterator[Draft]:
    offer = Offer("halves")
    first, second = offer.first, offer.second
    halves = (
        ("swapped", second, first, "the halves of the mac are swapped"),
        ("second-twice", second, second, "half B stands in the place of half A, too"),
        ("zero", "0" * 32, None, "half A is zero"),
    )
    for variant, head, tail, fault in halves:
        why = "each half has its place, and a true half B proves nothing about half A"
        yield _draft_refusal("halves", variant, offer.input(offer.token(head, tail)), fault, why)
    for variant, place in (("first-bit", 0), ("last-bit", 15)):
        raw = bytearray.fromhex(first)
        raw[place] ^= 0x80 if place == 0 else 0x01
        fault = f"the {variant.replace('-', ' ')} of half A is flipped, and half B made over it"
        why = "every bit of half A is compared"
        yield _draft_refusal("bit", variant, offer.input(offer.token(raw.hex())), fault, why)


def _constructions() -> Iterator[Draft]:
    """Half A over the right members in another form."""
    offer = Offer("construction")
    key, lines = offer.issuer.secret, _lines(offer)
    text = "\n".join(lines)
    label = "weldproof-payable-core:challenge:"
    cases = (
        ("label", "of-half-b", _mac(key, text.replace(":a:1", ":b:1")), "half A is made under the label of half B"),
        ("label", "second-version", _mac(key, text.replace(":a:1", ":a:2")), "half A is made under another version"),
        ("label", "word-as-set", _mac(key, "W" + text[1:]), "the service word went in with its capital letter"),
        ("joining", "bars", _mac(key, "|".join(lines)), "the members are joined by bars"),
        ("joining", "carriage-returns", _mac(key, "\r\n".join(lines)), "the members are joined by CR LF"),
        ("joining", "final-line-end", _mac(key, text + "\n"), "there is a line end after the last member"),
        ("order", "asset-and-amount", _mac(key, _order_members(offer, label)), "asset and amount are swapped"),
        ("cut", "last-half", hmac.digest(key, text.encode(), "sha256")[16:].hex(), "half A is the HMAC's other half"),
        ("hash", "sha-512", hmac.digest(key, text.encode(), "sha512")[:16].hex(), "the HMAC is of SHA-512"),
        ("hash", "no-hmac", hashlib.sha256(key + text.encode()).hexdigest()[:32], "it is a hash of secret and text"),
        ("hash", "no-key", hashlib.sha256(text.encode()).hexdigest()[:32], "it is a hash without the secret"),
    )
    why = "two implementations that share a secret must make the same token"
    for fault_name, variant, head, fault in cases:
        yield _draft_refusal(fault_name, variant, offer.input(offer.token(head)), fault, why)


def _changed_afterwards() -> Iterator[Draft]:
    """A true token whose open parts were changed: time and nonce are covered by half A."""
    offer = Offer("changed", now=UNIX + 10_000)
    mac = offer.first + offer.second
    fresh = f"{UNIX + 10_000}:{offer.nonce_text}:{mac}"
    why = "else a token could be renewed by whoever holds it"
    yield _draft_refusal("time", "renewed", offer.input(fresh), "the issue time was set to now", why)
    offer = offer.with_members(now=UNIX)
    later = f"{UNIX + 1}:{offer.nonce_text}:{mac}"
    yield _draft_refusal("time", "a-second-later", offer.input(later), "the issue time was set a second later", why)
    other_nonce = f"{UNIX}:{seed('challenges', 'another nonce')[:8].hex()}:{mac}"
    why = "else one payment's token could be multiplied"
    yield _draft_refusal("nonce", "other", offer.input(other_nonce), "the nonce was changed", why)
    reversed_nonce = f"{UNIX}:{offer.nonce_text[::-1]}:{mac}"
    yield _draft_refusal("nonce", "reversed", offer.input(reversed_nonce), "the nonce was reversed", why)


def _lines(offer: Offer) -> list[str]:
    label = "weldproof-payable-core:challenge:a:1"
    return [label, offer.issued_at, offer.nonce_text, *(offer.lane[name] for name in _FIELDS)]


def _order_members(offer: Offer, label: str) -> str:
    names = ("caip2", "amount", "asset", "pay_to")
    return "\n".join((label + "a:1", offer.issued_at, offer.nonce_text, *(offer.lane[name] for name in names)))


def _mac(key: bytes, text: str) -> str:
    return hmac.digest(key, text.encode(), "sha256")[:16].hex()
