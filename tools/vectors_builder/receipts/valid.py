"""Receipts that hold: every kind, every way to choose the key, and headers that change nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.oracles import forging
from conformance.oracles.hash_recipes import jcs_bytes
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.receipts.material import (
    ATTESTATION,
    COMPLIANCE,
    FIRST_KEY,
    KINDS,
    OTHER_HASH,
    PAID_COMPLIANCE,
    PAYABLE,
    SETTLED_REF,
    STRANGER,
    THREE,
    TWO,
    header,
    jwks,
    receipt,
    valid,
    without,
)

_LONGEST = 16_384
_TOLERANT = ("P-RV-02",)


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _kinds()
    yield from _algorithms()
    yield from _kids()
    yield from _key_sets()
    yield from _headers()
    yield from _sizes()
    yield from _claims()
    yield from _payments()


def _kinds() -> Iterator[Draft]:
    why = "the common case: every fault is one change to it"
    for result in ("ALLOW", "REFER", "DENY"):
        claims = {**COMPLIANCE, "screen_result": result}
        yield valid("compliance", result.lower(), receipt(claims), why, claims=claims)
    yield valid("payable", "as_the_rail_emits_it", receipt(PAYABLE), why, "GW-RCPT-06", "RAIL-RCPT-01", kind="payable")
    bare = without(
        PAYABLE,
        *("iss", "provider_did", "iat", "issued_at_ms", "payment_reference_hash"),
        *("network", "asset", "pay_to", "amount_microunits"),
    )
    why = "only six members are demanded of a payable receipt of any origin"
    yield valid(
        *("payable", "demanded_members_only", receipt(bare), why), kind="payable", claims=bare, pins=("profile 2.3",)
    )
    for word in ("acme", "7pay", "x"):
        claims = {**PAYABLE, "kind": f"{word}/payable-svc-receipt/1"}
        why = "the service word of a receipt's kind is its issuer's"
        yield valid("service_word", word, receipt(claims), why, kind="payable", claims=claims, pins=("P-SW-02",))
    for result in ("SETTLED", "PENDING_FINALITY", "REVERSED"):
        claims = {**ATTESTATION, "settlement_result": result}
        why = "each result is a true statement, which says nothing of the signature"
        yield valid("attestation", result.lower(), receipt(claims), why, kind="attestation", claims=claims)


def _algorithms() -> Iterator[Draft]:
    why = "RFC 9864 names the algorithm Ed25519; a receipt may bear either name"
    for kind, claims in KINDS.items():
        token = receipt(claims, alg="Ed25519")
        yield valid("name_ed25519", kind, token, why, kind=kind, pins=("profile 2.4 step 3",))


def _kids() -> Iterator[Draft]:
    all_three = jwks(FIRST_KEY, TWO, THREE)
    why = "the header's kid selects the key, whatever its position"
    for place, by in (("first", FIRST_KEY), ("second", TWO), ("third", THREE)):
        yield valid("kid_of_three", place, receipt(COMPLIANCE, by), why, "GW-RCPT-09", keys=all_three)
    why = "where no kid matches, the first key is used"
    row = "GW-RCPT-10"
    token = receipt(kid="nobody")
    yield valid("kid_of_nobody", "one_key", token, why, row)
    yield valid("kid_of_nobody", "first_of_three", token, why, row, keys=all_three)
    url = receipt(kid=f"did:web:gateway.example#{FIRST_KEY.kid}")
    yield valid("kid_of_nobody", "did_url", url, why, row, keys=all_three)
    bare = FIRST_KEY.sign({"alg": "EdDSA", "typ": "JWT"}, jcs_bytes(dict(COMPLIANCE)))
    row, why, first = "GW-RCPT-12", "a header without kid means the first key", ("P-RV-01",)
    yield valid("no_kid", "one_key", bare, why, row)
    yield valid("no_kid", "first_of_three", bare, why, row, keys=all_three, pins=first)
    unnamed_keys = {"keys": [without(FIRST_KEY.jwk, "kid"), dict(TWO.jwk)]}
    yield valid("no_kid", "of_the_key", receipt(), why, "GW-RCPT-10", keys=unnamed_keys)
    twice = {"keys": [dict(FIRST_KEY.jwk), {**TWO.jwk, "kid": FIRST_KEY.kid}]}
    why = "of two keys of one kid the first counts"
    yield valid("kid_twice", "first_signed", receipt(), why, "GW-RCPT-09", keys=twice, pins=first)
    why = "keys of different types may share a kid, and one of them is of Ed25519 (RFC 7517 section 4.5)"
    other_sets: Mapping[str, dict[str, Any]] = {
        "ec": {"kty": "EC", "crv": "P-256", "x": TWO.jwk["x"], "y": THREE.jwk["x"]},
        "x25519": {"kty": "OKP", "crv": "X25519", "x": TWO.jwk["x"], "use": "enc"},
        "oct": {"kty": "oct", "k": "AAAA"},
    }
    for name, other_set in other_sets.items():
        document = {"keys": [{**other_set, "kid": FIRST_KEY.kid}, dict(FIRST_KEY.jwk)]}
        yield valid("kid_of_two_types", name, receipt(), why, "GW-RCPT-09", keys=document, pins=first)
    odd = {**FIRST_KEY.jwk, "kid": "Schlüssel 1/2024 #a"}
    why = "a kid is any text, compared letter by letter"
    yield valid("kid_text", "any", receipt(kid=odd["kid"]), why, "GW-RCPT-09", keys={"keys": [dict(TWO.jwk), odd]})
    lower, upper = ({**by.jwk, "kid": kid} for by, kid in ((TWO, "key-a"), (FIRST_KEY, "KEY-A")))
    token = receipt(kid="KEY-A")
    yield valid("kid_text", "letter_case", token, why, "GW-RCPT-09", keys={"keys": [lower, upper]})


def _key_sets() -> Iterator[Draft]:
    why = "a key document may hold keys of other kinds (RFC 7517 section 5)"
    beside: Mapping[str, dict[str, Any]] = {
        "x25519": {"kty": "OKP", "crv": "X25519", "x": TWO.jwk["x"], "kid": "enc-1", "use": "enc"},
        "oct": {"kty": "oct", "k": "AAAA", "kid": "mac-1"},
        "unknown": {"kty": "AKP", "alg": "ML-DSA-44", "pub": "AAAA", "kid": "pq-1"},
    }
    for name, other_key in beside.items():
        yield valid("keys_beside", name, receipt(), why, keys={"keys": [other_key, dict(FIRST_KEY.jwk)]})
    why = "members of a key that say nothing else change nothing"
    for name, members in (
        ("alg", {"alg": "EdDSA"}),
        ("key_ops", {"key_ops": ["verify"]}),
        ("unknown", {"x-issued": 1, "x-note": ["a"]}),
    ):
        key = {**without(FIRST_KEY.jwk, "use"), **members}
        yield valid("key_members", name, receipt(), why, keys={"keys": [key]})
    why = "a key of nothing but its type, curve and bytes is a key"
    bare = {"keys": [without(FIRST_KEY.jwk, "kid", "use")]}
    yield valid("key_members_least", "three", receipt(), why, "GW-RCPT-10", keys=bare)
    more = {"keys": [dict(FIRST_KEY.jwk)], "issuer": "did:web:gateway.example"}
    yield valid("key_set_members", "unknown", receipt(), "unknown members of a set are ignored (RFC 7517)", keys=more)


def _headers() -> Iterator[Draft]:
    why = "a key or certificate in the header is nobody's word (P-RV-03)"
    for name, member in (
        ("jwk_of_the_signer", {"jwk": without(FIRST_KEY.jwk, "use")}),
        ("jwk_of_another", {"jwk": without(STRANGER.jwk, "use")}),
        ("x5c", {"x5c": ["AAAA"]}),
    ):
        yield valid("header_key", name, receipt(**member), why, "GW-RCPT-06", pins=("P-RV-03",))
    why = "nothing is fetched from an address in a header (P-CV-15)"
    for name in ("jku", "x5u"):
        token = receipt(**{name: "https://keys.example/jwks.json"})
        yield valid("header_address", name, token, why, "GW-RCPT-06", pins=("P-RV-03", "P-CV-15"))
    why = "typ is not checked (P-RV-03)"
    payload = jcs_bytes(dict(COMPLIANCE))
    yield valid("typ", "absent", FIRST_KEY.sign(without(header(), "typ"), payload), why, pins=("P-RV-03",))
    yield valid("typ", "jose", receipt(typ="JOSE"), why, pins=("P-RV-03",))
    yield valid("typ", "another", receipt(typ="application/receipt+jwt"), why, pins=("P-RV-03",))
    why = "header members that nobody marks as critical are ignored (RFC 7515 section 4.2)"
    yield valid("header_members", "cty", receipt(cty="json"), why)
    yield valid("header_members", "unknown", receipt(**{"x-more": {"a": [1, None]}}), why)
    token = receipt(**{"x-more": "m" * 600})
    yield valid("header_members", "long", token, "no header within the whole is too long", pins=("profile 2.4 step 2",))
    why = "a header is any JSON object; only its bytes are signed (RFC 7515 section 5.2)"
    spaced_header = json.dumps(header(), indent=1)
    reordered_header = json.dumps(dict(reversed(header().items())), separators=(",", ":"))
    escaped_header = json.dumps(header(), separators=(",", ":")).replace("EdDSA", "\\u0045dDSA")
    for name, text in (("white_space", spaced_header), ("order", reordered_header), ("escapes", escaped_header)):
        yield valid("header_spelling", name, FIRST_KEY.sign(text, payload), why)
    why = "b64 true is what holds without it (RFC 7797 section 3)"
    yield valid("b64", "true", receipt(b64=True), why, pins=("profile 2.4 step 2",))


def _sizes() -> Iterator[Draft]:
    why = "16,384 characters are the most that must be read"
    token, claims = long_payload(_LONGEST)
    yield valid("longest", "payload", token, why, claims=claims, pins=("profile 2.4 step 2",))
    token = long_header(_LONGEST)
    yield valid("longest", "header", token, why, pins=("profile 2.4 step 2",))


def long_payload(length: int) -> tuple[str, dict[str, Any]]:
    """Return a receipt that has a length in characters by a member of its payload, and its claims."""
    # No base64url has one letter more than a multiple of four: a letter in the header moves the payload's length.
    for pad in ("", "p"):
        middle = (length - len(receipt({**COMPLIANCE, "note": ""}, **{"x-pad": pad}))) * 3 // 4
        for count in range(middle - 4, middle + 5):
            claims = {**COMPLIANCE, "note": "n" * count}
            token = receipt(claims, **{"x-pad": pad})
            if len(token) == length:
                return token, claims
    raise ValueError(f"no receipt has {length} characters")


def long_header(length: int, claims: Mapping[str, Any] = COMPLIANCE) -> str:
    """Return a receipt that has a length in characters by a member of its header.

    Raises:
        ValueError: No receipt of such claims has that length.
    """
    middle = (length - len(receipt(claims, **{"x-pad": ""}))) * 3 // 4
    tokens = (receipt(claims, **{"x-pad": "p" * count}) for count in range(middle - 4, middle + 5))
    token_of_length = next((token for token in tokens if len(token) == length), None)
    if token_of_length is None:
        raise ValueError(f"no receipt has {length} characters")
    return token_of_length


def _claims() -> Iterator[Draft]:
    why = "further members are tolerated in every kind"
    for name, more in (
        ("text", {"note": "x"}),
        ("nested", {"evidence": {"lists": ["ofac", "uk"], "score": 0, "hits": []}}),
        ("null", {"note": None}),
    ):
        claims = {**COMPLIANCE, **more}
        yield valid("further_member", name, receipt(claims), why, claims=claims, pins=_TOLERANT)
    for kind in ("payable", "attestation"):
        claims = {**KINDS[kind], "note": "x", "screening": None}
        yield valid(*("further_member_of_kind", kind, receipt(claims), why), kind=kind, claims=claims, pins=_TOLERANT)
    why = "types of these members are not checked (P-RV-03)"
    for name, member, value in (
        ("time_with_a_fraction", "screen_timestamp_ms", 1_767_225_600_000.5),
        ("flags_as_text", "jurisdiction_flags", "UK,EU"),
        ("time_as_text", "screen_timestamp_ms", "2026-01-01T00:00:00Z"),
    ):
        claims = {**COMPLIANCE, member: value}
        yield valid("member_type", name, receipt(claims), why, claims=claims, pins=("P-RV-03",))
    why = "only a kind of the one form makes a payable receipt"
    for name, text in (
        ("capital", "Weldproof/payable-svc-receipt/1"),
        ("version_2", "weldproof/payable-svc-receipt/2"),
        ("line_end", "weldproof/payable-svc-receipt/1\n"),
    ):
        claims = {**COMPLIANCE, "kind": text}
        yield valid("kind_of_another_form", name, receipt(claims), why, claims=claims, pins=_TOLERANT)
    claims = {**PAYABLE, "settlement_result": "UNKNOWN", "screen_result": "PERHAPS"}
    why = "a member of another kind has no set of values in this one"
    yield valid(
        *("member_of_another_kind", "in_payable", receipt(claims), why), kind="payable", claims=claims, pins=_TOLERANT
    )
    claims = {**ATTESTATION, "settled_payment_ref": "0x" + "1" * 64}
    why = "the form of a hash reference is asked only of a payable receipt"
    draft_members: dict[str, Any] = {"kind": "attestation", "claims": claims, "pins": ("profile 2.4 step 8b",)}
    yield valid("member_of_another_kind", "reference_in_attestation", receipt(claims), why, **draft_members)


def _payments() -> Iterator[Draft]:
    why = "the payment that is expected is the one that the receipt is bound to"
    draft_members: dict[str, Any] = {"pins": ("profile 2.4 step 9",), "expected_payment_hash": SETTLED_REF}
    token = receipt(PAID_COMPLIANCE)
    yield valid("expected_payment", "compliance", token, why, "GW-RCPT-06", claims=PAID_COMPLIANCE, **draft_members)
    yield valid("expected_payment", "payable", receipt(PAYABLE), why, "RAIL-RCPT-06", kind="payable", **draft_members)
    yield valid("expected_payment", "attestation", receipt(ATTESTATION), why, kind="attestation", **draft_members)
    claims = {**PAYABLE, "payment_hash": OTHER_HASH}
    why = "a payable receipt is bound by settled_payment_ref, whatever else it holds"
    yield valid(
        "expected_payment_beside", "payable", receipt(claims), why, kind="payable", claims=claims, **draft_members
    )
    claims = {**COMPLIANCE, "settled_payment_ref": OTHER_HASH, "payment_hash": SETTLED_REF}
    why = "a compliance receipt is bound by payment_hash, whatever else it holds"
    yield valid("expected_payment_beside", "compliance", receipt(claims), why, claims=claims, **draft_members)
    claims = {**COMPLIANCE, "payment_hash": "any text"}
    why = "the expected payment is compared as text, of any form"
    draft_members["expected_payment_hash"] = "any text"
    yield valid("expected_payment_text", "any", receipt(claims), why, claims=claims, **draft_members)


def sign_with_none(alg: str) -> str:
    """Return an unsecured token under a spelling of none."""
    return forging.compact(header(alg=alg), jcs_bytes(dict(COMPLIANCE)))
