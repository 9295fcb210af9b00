"""Signatures that are not the selected key's over what stands before them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from Crypto.Hash import SHA512
from Crypto.Signature import eddsa

from conformance.oracles import forging
from conformance.oracles.ed25519_keys import encode_base64url
from conformance.oracles.forging import Signer
from conformance.oracles.hash_recipes import jcs_bytes
from tools.vectors_builder.drafting import Draft, seed
from tools.vectors_builder.receipts.material import (
    ATTESTATION,
    COMPLIANCE,
    FAMILY,
    FIRST_KEY,
    KINDS,
    OTHER_HASH,
    PAYABLE,
    STRANGER,
    THREE,
    TWO,
    draft_refusal,
    header,
    jwks,
    receipt,
    without,
)

_FIRST: Final = ("P-RV-01",)
_SOUND: Final = ("profile 2.4 step 4",)
_ORDERS: Final = {"identity": "the identity", "two": "of order 2", "four": "of order 4"}
_EDITED_PAYLOADS: Final = {
    "added": "a member was added",
    "removed": "a member was removed",
    "emptied": "all members were removed",
}


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _bits()
    yield from _of_another()
    yield from _lengths()
    yield from _scalars()
    yield from _small_order()
    yield from _payloads()
    yield from _headers()
    yield from _selection()
    yield from _brought_along()
    yield from _careless()


def _signature(token: str) -> bytes:
    return forging.without_its_signature(token)[1]


def _bits() -> Iterator[Draft]:
    why = "one bit of a signature is as good as all of them"
    for half, places in (("r", (0, 15, 31)), ("s", (32, 47, 62))):
        for (kind, claims), place in zip(KINDS.items(), places, strict=True):
            token = receipt(claims)
            changed_signature = bytearray(_signature(token))
            changed_signature[place] ^= 1 << (place % 8)
            fault = f"a bit of byte {place} of the signature is changed"
            text = forging.with_signature(token, bytes(changed_signature))
            yield draft_refusal(f"signature/bit_of_{half}", f"byte_{place}_{kind}", text, fault, why, *_rows(kind))


def _rows(kind: str, row: str = "GW-RCPT-02") -> tuple[str, ...]:
    return (row, "RAIL-RCPT-09") if kind == "payable" else (row,)


def _of_another() -> Iterator[Draft]:
    row = "GW-RCPT-02"
    token = receipt()
    why = "a signature belongs to one key and one text"
    payload = jcs_bytes(dict(COMPLIANCE))
    stranger = STRANGER.sign(header(), payload)
    yield draft_refusal(
        "signature/of_another", "key", stranger, "somebody else signed under the issuer's kid", why, row
    )
    other_signature = _signature(receipt({**COMPLIANCE, "note": "another"}))
    text = forging.with_signature(token, other_signature)
    yield draft_refusal("signature/of_another", "receipt", text, "the signature is that of another receipt", why, row)
    halves = _signature(token)[:32] + other_signature[32:]
    text = forging.with_signature(token, halves)
    yield draft_refusal("signature/of_another", "half", text, "R and S are those of two receipts", why, row)
    why = "parts of two true receipts are no receipt"
    payable = receipt(PAYABLE).split(".")
    text = ".".join([token.split(".")[0], payable[1], token.split(".")[2]])
    yield draft_refusal(
        "signature/segment_of_another", "payload", text, "the payload is that of another receipt", why, row
    )
    head = receipt(cty="json").split(".")[0]
    text = ".".join([head, *token.split(".")[1:]])
    yield draft_refusal(
        "signature/segment_of_another", "header", text, "the header is that of another receipt", why, row
    )


def _lengths() -> Iterator[Draft]:
    row, why = "GW-RCPT-02", "an Ed25519 signature is 64 bytes (RFC 8032 section 5.1.7)"
    token = receipt()
    true = _signature(token)
    for name, changed_signature in (("63", true[:-1]), ("65", true + b"\0"), ("32", true[:32])):
        fault = f"the signature has {name} bytes"
        yield draft_refusal("signature/length", name, forging.with_signature(token, changed_signature), fault, why, row)
    for name, changed_signature in (("twice", true * 2), ("hex", true.hex().encode()), ("one_byte", b"\0")):
        fault = f"the signature is {len(changed_signature)} long, in bytes"
        yield draft_refusal(
            "signature/length_far_off", name, forging.with_signature(token, changed_signature), fault, why, row
        )
    why = "constants verify nothing, whatever a library does with R and S of zero"
    identity = forging.IDENTITY + bytes(32)
    for name, changed_signature in (("zeros", bytes(64)), ("ones", b"\xff" * 64), ("identity_and_zero", identity)):
        fault = f"the signature is a constant: {name.replace('_', ' ')}"
        yield draft_refusal(
            "signature/constant", name, forging.with_signature(token, changed_signature), fault, why, row
        )


def _scalars() -> Iterator[Draft]:
    row, why = "GW-RCPT-25", "S below the group order makes a signature's text the only one (RFC 8032 section 5.1.7)"
    for (kind, claims), times in zip(KINDS.items(), (1, 2, 14), strict=True):
        token = forging.plus_order(receipt(claims), times)
        fault = f"the group order is added to S, as often as {times}: the equation holds all the same"
        yield draft_refusal("signature/s_not_reduced", f"{kind}_{times}", token, fault, why, row)
    token = receipt()
    order = _signature(token)[:32] + forging.ORDER.to_bytes(32, "little")
    text = forging.with_signature(token, order)
    yield draft_refusal("signature/s_of_the_order", "exactly", text, "S is the group order itself", why, row)


def _small_order() -> Iterator[Draft]:
    row = "GW-RCPT-25"
    why = "under a key of small order everybody can sign; the equation holds"
    points = (("identity", forging.IDENTITY), ("two", forging.ORDER_TWO), ("four", forging.ORDER_FOUR))
    for name, raw in points:
        fault = f"the key is a point of small order: {_ORDERS[name]}"
        yield _under("signature/key_of_small_order", name, raw, fault, why, row)
    fault = "the key is a point of order 8"
    yield _under("signature/key_of_order_eight", "eight", forging.ORDER_EIGHT, fault, why, row)
    why = "a key has one encoding (RFC 8032 section 5.1.3); the equation holds for the point that is meant"
    for name, raw in (
        ("p_plus_one", forging.NON_CANONICAL_IDENTITY),
        ("p", forging.NON_CANONICAL_ORDER_FOUR),
        ("sign_of_zero", forging.NEGATIVE_IDENTITY),
    ):
        fault = "the key is in an encoding that is not the canonical one, of a point of small order"
        yield _under("signature/key_not_canonical", name, raw, fault, why, row)
    why = "32 bytes that are no point of the curve are no key"
    for number in (2, 7):
        raw = number.to_bytes(32, "little")
        keys = {"keys": [{**FIRST_KEY.jwk, "x": encode_base64url(raw)}]}
        fault = "the key is no point of the curve"
        yield draft_refusal("signature/key_off_the_curve", f"y_{number}", receipt(), fault, why, row, keys=keys)


def _under(name: str, variant: str, raw: bytes, fault: str, why: str, row: str) -> Draft:
    token = forging.under_small_order_key(header(), jcs_bytes(dict(COMPLIANCE)), raw, seed(FAMILY, "small"))
    keys = {"keys": [{**FIRST_KEY.jwk, "x": encode_base64url(raw)}]}
    return draft_refusal(name, variant, token, fault, why, row, keys=keys, pins=_SOUND)


def _with_payload(claims: Mapping[str, Any], payload: bytes) -> str:
    head, _, tail = receipt(claims).split(".")
    return f"{head}.{encode_base64url(payload)}.{tail}"


def _payloads() -> Iterator[Draft]:
    why = "every claim is signed"
    for kind, changes in _CHANGED_HEADERS.items():
        claims = KINDS[kind]
        for name, change in changes.items():
            text = _with_payload(claims, jcs_bytes({**claims, name: change}))
            fault = f"{name} was changed after signing"
            yield draft_refusal(f"signature/claim_of_{kind}", name, text, fault, why, *_rows(kind, "GW-RCPT-03"))
    denied_claims = {**COMPLIANCE, "screen_result": "DENY"}
    text = _with_payload(denied_claims, jcs_bytes(dict(COMPLIANCE)))
    fault = "DENY was made ALLOW after signing"
    yield draft_refusal("signature/verdict", "deny_to_allow", text, fault, why, "GW-RCPT-03")
    reversed_claims = {**ATTESTATION, "settlement_result": "REVERSED"}
    text = _with_payload(reversed_claims, jcs_bytes(dict(ATTESTATION)))
    fault = "REVERSED was made SETTLED after signing"
    yield draft_refusal("signature/verdict", "reversed_to_settled", text, fault, why, "GW-RCPT-03")
    why = "bytes are signed, not their meaning"
    more = {**COMPLIANCE, "note": "x"}
    for name, claims, payload in (
        ("added", COMPLIANCE, jcs_bytes(more)),
        ("removed", more, jcs_bytes(dict(COMPLIANCE))),
        ("emptied", COMPLIANCE, b"{}"),
    ):
        fault = f"after signing, {_EDITED_PAYLOADS[name]}"
        text = _with_payload(claims, payload)
        yield draft_refusal("signature/payload_members", name, text, fault, why, "GW-RCPT-03")
    spaced_text = json.dumps(dict(COMPLIANCE), sort_keys=True).encode()
    reordered_text = json.dumps(dict(reversed(list(COMPLIANCE.items()))), separators=(",", ":")).encode()
    escaped_text = jcs_bytes(dict(COMPLIANCE)).replace(b"ALLOW", b"\\u0041LLOW")
    for name, payload in (("white_space", spaced_text), ("order", reordered_text), ("escape", escaped_text)):
        fault = "after signing, the payload was written in another way"
        text = _with_payload(COMPLIANCE, payload)
        yield draft_refusal("signature/payload_respelled", name, text, fault, why, "GW-RCPT-03")


_CHANGED_HEADERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "compliance": {
        "payer_ref": OTHER_HASH,
        "screen_timestamp_ms": 1_767_225_600_001,
        "screen_provider_did": "did:web:attacker.example",
    },
    "payable": {"service_id": "compliance-receipt", "request_hash": OTHER_HASH, "amount_microunits": "10"},
    "attestation": {
        "settlement_amount": {"amount_minor": "10", "asset_id": "31566704"},
        "settlement_chain": "base_sepolia",
        "settled_payment_ref": OTHER_HASH,
    },
}


def _headers() -> Iterator[Draft]:
    row, why = "GW-RCPT-04", "the header is signed as it stands"
    _, body, tail = receipt().split(".")

    def under(members: Mapping[str, Any]) -> str:
        return f"{encode_base64url(json.dumps(members, separators=(',', ':')).encode())}.{body}.{tail}"

    for name, members in (
        ("typ", header(typ="JOSE")),
        ("alg_respelled", header(alg="Ed25519")),
        ("kid", header(kid="nobody")),
    ):
        fault = f"after signing, {name.partition('_')[0]} was changed"
        yield draft_refusal("signature/header_member_changed", name, under(members), fault, why, row)
    for name, members in (
        ("added", header(**{"x-more": 1})),
        ("kid_removed", without(header(), "kid")),
        ("typ_removed", without(header(), "typ")),
    ):
        fault = "after signing, a member of the header was added or removed"
        yield draft_refusal("signature/header_members", name, under(members), fault, why, row)
    why = "bytes are signed, not their meaning"
    reordered_token = under(dict(reversed(header().items())))
    spaced_token = f"{encode_base64url(json.dumps(header()).encode())}.{body}.{tail}"
    for name, text in (("order", reordered_token), ("white_space", spaced_token)):
        fault = "after signing, the header was written in another way"
        yield draft_refusal("signature/header_respelled", name, text, fault, why, row)


def _selection() -> Iterator[Draft]:
    three = jwks(FIRST_KEY, TWO, THREE)
    payload = jcs_bytes(dict(COMPLIANCE))
    row, why = "GW-RCPT-13", "a kid that matches never falls back to another key"
    for named_key, by, name in (
        (TWO, FIRST_KEY, "second_named"),
        (THREE, FIRST_KEY, "third_named"),
        (FIRST_KEY, TWO, "first_named"),
    ):
        fault = "the kid names a key that did not sign"
        token = by.sign(header(named_key), payload)
        yield draft_refusal("signature/kid_of_another", name, token, fault, why, row, keys=three, pins=_FIRST)
    row, why = "GW-RCPT-11", "where no kid matches, the first key counts and no other"
    for by, name in ((TWO, "second_signed"), (THREE, "last_signed")):
        fault = "no kid matches, and the first key did not sign"
        token = receipt(COMPLIANCE, by, kid="nobody")
        yield draft_refusal("signature/kid_of_nobody", name, token, fault, why, row, keys=three)
    token = receipt(COMPLIANCE, TWO, kid=TWO.kid.upper())
    fault = "the kid is that of the second key, but for the case of its letters"
    yield draft_refusal("signature/kid_of_nobody", "letter_case", token, fault, why, row, keys=three, pins=_FIRST)
    row, why = "GW-RCPT-12", "a header without kid means the first key and no other"
    for by, name in ((TWO, "second_signed"), (THREE, "last_signed")):
        token = by.sign({"alg": "EdDSA", "typ": "JWT"}, payload)
        fault = "there is no kid, and the first key did not sign"
        yield draft_refusal("signature/no_kid", name, token, fault, why, row, keys=three, pins=_FIRST)
    twice = {"keys": [{**TWO.jwk, "kid": FIRST_KEY.kid}, dict(FIRST_KEY.jwk)]}
    why = "of two keys of one kid the first counts"
    fault = "two keys bear the kid, and the second one signed"
    yield draft_refusal(
        "signature/kid_twice", "second_signed", receipt(), fault, why, "GW-RCPT-09", keys=twice, pins=_FIRST
    )
    row, why = "GW-RCPT-08", "the key set that is supplied counts and no other"
    same_kid = {"keys": [{**STRANGER.jwk, "kid": FIRST_KEY.kid}]}
    sets = (("of_a_stranger", jwks(STRANGER)), ("of_strangers", jwks(STRANGER, TWO, THREE)), ("of_its_kid", same_kid))
    for name, keys in sets:
        fault = "the issuer's key is not in the key set"
        yield draft_refusal("signature/other_key_set", name, receipt(), fault, why, row, keys=keys)


def _brought_along() -> Iterator[Draft]:
    row, why = "GW-RCPT-08", "who brings the key along proves nothing (RFC 7515 section 10)"
    brought_key = without(STRANGER.jwk, "use")
    fault = "the key that signed is in the header, and not in the key set"
    for name, members in (
        ("jwk", {"jwk": brought_key}),
        ("jwk_of_the_issuers_kid", {"jwk": {**brought_key, "kid": FIRST_KEY.kid}}),
        ("jwks", {"jwks": {"keys": [brought_key]}}),
    ):
        token = STRANGER.sign(header(**members), jcs_bytes(dict(COMPLIANCE)))
        yield draft_refusal("signature/key_in_header", name, token, fault, why, row)
    why = "nothing is fetched from an address in a receipt"
    address = {"jku": "https://attacker.example/jwks.json"}
    token = STRANGER.sign(header(STRANGER, **address), jcs_bytes(dict(COMPLIANCE)))
    fault = "the key that signed is at an address in the header, and not in the key set"
    yield draft_refusal("signature/key_at_address", "jku", token, fault, why, row)
    token = STRANGER.sign(header(kid=f"did:key:{_multibase(STRANGER)}"), jcs_bytes(dict(COMPLIANCE)))
    fault = "the kid is a did:key that holds the key which signed, and is not in the key set"
    yield draft_refusal("signature/key_in_kid", "did_key", token, fault, "a kid is a name and no key", row)


def _multibase(by: Signer) -> str:
    import base58  # noqa: PLC0415 - for this one vector

    return "z" + str(base58.b58encode(b"\xed\x01" + by.raw).decode())


def _careless() -> Iterator[Draft]:
    row, why = (
        "GW-RCPT-02",
        "what is signed is the text of header and payload with a dot between (RFC 7515 section 5.1)",
    )
    payload = jcs_bytes(dict(COMPLIANCE))
    text = forging.signing_input(header(), payload)
    for name, careless_signature in (
        ("payload_alone", payload),
        ("payload_not_encoded", text.partition(".")[0].encode() + b"." + payload),
        ("digest", hashlib.sha256(text.encode()).digest()),
    ):
        fault = f"the issuer signed something else: {name.replace('_', ' ')}"
        token = f"{text}.{encode_base64url(FIRST_KEY.sign_bytes(careless_signature))}"
        yield draft_refusal("signature/over_something_else", name, token, fault, why, row)
    why = "Ed25519ph and Ed25519ctx are other algorithms with the same keys (RFC 8032 section 5.1)"
    key = eddsa.import_private_key(FIRST_KEY.seed)
    prehashed_signature = eddsa.new(key, "rfc8032").sign(SHA512.new(text.encode()))
    in_context = eddsa.new(key, "rfc8032", context=b"weldproof").sign(text.encode())
    for name, signature in (("ed25519ph", prehashed_signature), ("ed25519ctx", in_context)):
        fault = f"the issuer signed by {name.capitalize()}"
        yield draft_refusal(
            "signature/by_another_variant", name, f"{text}.{encode_base64url(signature)}", fault, why, row
        )
