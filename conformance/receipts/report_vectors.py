"""Receipts that judge a whole report: two faults at once, the order of the kinds, and what no step looks at. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.oracles import forging
from conformance.oracles.hash_recipes import jcs_bytes
from conformance.oracles.receipt_kinds import COMPLIANCE, MEMBERS
from conformance.oracles.receipts import LONGEST
from conformance.receipts.material import Material, Vector, keys
from conformance.receipts.near_miss_receipts import ATTESTATION, OTHER_REFERENCE, PAYABLE, PAYMENT_REFERENCE

_ROW: Final = "GW-REPORT-01"
_MORE: Final = {"urn:example:note": "more"}


def vectors(material: Material) -> Iterator[Vector]:
    """Yield the vectors in a fixed order."""
    for part in (_two_faults, _kinds, _members_in_order, _unjudged_members, _payments, _headers, _keys, _lengths):
        yield from part(material)


def _make_vector(name: str, token: Any, jwks: Any, *, valid: bool = False, expected: str | None = None) -> Vector:
    return Vector(name, _ROW, token, jwks, valid=valid, expected_payment_hash=expected)


def _make_signed(
    material: Material, name: str, claims: Mapping[str, Any], *, valid: bool = False, expected: str | None = None
) -> Vector:
    signer = material.third[0]
    token = material.by(signer, payload=jcs_bytes(dict(claims)))
    return _make_vector(f"truly signed: {name}", token, keys(signer), valid=valid, expected=expected)


def _make_sound(material: Material, name: str, claims: Mapping[str, Any], *, expected: str | None = None) -> Vector:
    return _make_signed(material, name, claims, valid=True, expected=expected)


def _compliance(material: Material) -> dict[str, Any]:
    return {name: value for name, value in material.claims.items() if name in COMPLIANCE}


def _two_faults(material: Material) -> Iterator[Vector]:
    """Faults of two steps, of which the first one decides."""
    signer, claims, mine = material.third[0], _compliance(material), keys(material.third[0])
    header = {**material.header, "kid": signer.kid}
    token = material.by(signer)
    bare = forging.compact({**header, "alg": "none", "crit": ["exp"]}, material.payload, bytes(64))
    yield _make_vector("steps 1 and 2: an empty text, a key set that is a text", "", "keys")
    yield _make_vector("steps 2 and 3: crit and alg none", bare, mine)
    yield _make_vector(
        "steps 2 and 4: a key without x and another signature", _spoil_signature(token), _omit_x(signer.jwk)
    )
    yield _make_vector(
        "steps 3 and 4: alg none and no true signature", _spoil_signature(material.by(signer, alg="none")), mine
    )
    yield _make_vector(
        "steps 3 and 5: alg HS256 and no JSON", forging.mac({**header, "alg": "HS256"}, b"{", signer.raw), mine
    )
    yield _make_vector(
        "steps 4 and 5: no true signature and no JSON", _spoil_signature(material.by(signer, payload=b"{")), mine
    )
    yield _make_vector(
        "steps 4 and 8: no true signature and no member", _spoil_signature(material.by(signer, payload=b"{}")), mine
    )
    other = {**claims, "canon_version": "jcs-rfc8785-v2"}
    spaced = material.by(signer, payload=json.dumps(other, indent=1).encode())
    yield _make_vector("steps 6 and 7: another canon_version and white space", spaced, mine)
    yield _make_signed(
        material, "steps 6 and 8: neither canon_version nor payer_ref", _omit(other, "canon_version", "payer_ref")
    )
    gaps = json.dumps(_omit(claims, "payer_ref"), indent=1).encode()
    yield _make_vector("steps 7 and 8: white space and no payer_ref", material.by(signer, payload=gaps), mine)
    wrong = {**_omit(claims, "jurisdiction_flags"), "screen_result": "PERHAPS"}
    yield _make_signed(material, "steps 8 and 8b: no jurisdiction_flags and another screen_result", wrong)
    perhaps = {**claims, "screen_result": "PERHAPS"}
    yield _make_signed(material, "steps 8b and 9: another screen_result and payment", perhaps, expected=OTHER_REFERENCE)


def _spoil_signature(token: str) -> str:
    return forging.with_signature(token, bytes(range(64)))


def _omit_x(jwk: Mapping[str, Any]) -> dict[str, Any]:
    return {"keys": [_omit(jwk, "x")]}


def _omit(members: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name not in names}


def _kinds(material: Material) -> Iterator[Vector]:
    """Payloads with marks of several kinds, and with kinds that nearly are one (P-RV-02)."""
    compliance = _compliance(material)
    every = {**compliance, **ATTESTATION, **PAYABLE}
    yield _make_sound(material, "marks of all kinds, which is a payable receipt", every)
    yield _make_sound(
        material,
        "a payable receipt with a settlement_result outside its set",
        {**PAYABLE, "settlement_result": "?"},
    )
    yield _make_sound(material, "marks of two kinds, which is a settlement attestation", {**compliance, **ATTESTATION})
    yield _make_sound(
        material,
        "an attestation with a screen_result outside its set",
        {**ATTESTATION, "screen_result": "?"},
    )
    for name in ("settlement_result", "settlement_chain"):
        marked = {**compliance, name: ATTESTATION[name]}
        yield _make_signed(material, f"a compliance receipt with {name}", marked)
    for name in ("settlement_amount", "settled_payment_ref", "settlement_provider_did"):
        marked = {**compliance, name: ATTESTATION[name]}
        yield _make_sound(material, f"a compliance receipt with {name}, which marks no kind", marked)
    for kind in (
        "acme/payable-svc-receipt/2",
        "Acme/payable-svc-receipt/1",
        "/payable-svc-receipt/1",
        "acme/payable-svc-receipt/1 ",
        "acme/payable-svc-receipt/1\n",
        "acme-2/payable-svc-receipt/1",
        1,
    ):
        yield _make_sound(material, f"a compliance receipt of kind {kind!r}", {**compliance, "kind": kind})
        yield _make_signed(material, f"a payable receipt of kind {kind!r}", {**PAYABLE, "kind": kind})
    yield _make_sound(
        material,
        "a payable receipt with the shortest service word",
        {**PAYABLE, "kind": "0/payable-svc-receipt/1"},
    )


def _members_in_order(material: Material) -> Iterator[Vector]:
    """Each required member absent and null, alone and with the next one: `error_field` names the first (step 8)."""
    sources = {"compliance": _compliance(material), "payable": PAYABLE, "settlement_attestation": ATTESTATION}
    for kind, names in MEMBERS.items():
        claims = sources[kind]
        # Without these two the payload has another kind or canonical form.
        listed = [name for name in names if name not in {"kind", "canon_version"} and name in claims]
        for name, following in zip(listed, [*listed[1:], None], strict=True):
            yield _make_signed(material, f"{kind}: {name} null", {**claims, name: None})
            if following is not None:
                yield _make_signed(material, f"{kind}: neither {name} nor {following}", _omit(claims, name, following))
        yield _make_sound(material, f"{kind}: with a further member", {**claims, **_MORE})
    # A hash reference is a text.
    for name in ("request_hash", "response_hash", "settled_payment_ref"):
        yield _make_signed(material, f"payable: {name} a number", {**PAYABLE, name: 7})


def _unjudged_members(material: Material) -> Iterator[Vector]:
    """Members of a compliance receipt whose type no step looks at (P-RV-03)."""
    claims = _compliance(material)
    others: Mapping[str, Any] = {
        "screen_timestamp_ms": 1_790_000_000_000.5,
        "jurisdiction_flags": "UK",
        "payer_ref": "any text",
        "screen_provider_did": "no DID",
    }
    for name, value in others.items():
        yield _make_sound(material, f"{name} is {value!r}", {**claims, name: value})
    yield _make_sound(material, "a payer_ref that is a list", {**claims, "payer_ref": [1]})


def _payments(material: Material) -> Iterator[Vector]:
    """The payment that is expected, in the member of each kind (step 9)."""
    compliance = _compliance(material)
    both = {"payment_hash": OTHER_REFERENCE, "settled_payment_ref": PAYMENT_REFERENCE}
    expected = PAYMENT_REFERENCE
    for name, claims in (("a payable receipt", PAYABLE), ("an attestation", ATTESTATION)):
        yield _make_sound(material, f"{name} of the payment", {**claims, **both}, expected=expected)
    yield _make_signed(material, "a compliance receipt of another payment", {**compliance, **both}, expected=expected)
    swapped = {"payment_hash": PAYMENT_REFERENCE, "settled_payment_ref": OTHER_REFERENCE}
    yield _make_sound(material, "a compliance receipt of the payment", {**compliance, **swapped}, expected=expected)
    yield _make_signed(material, "a compliance receipt of no payment", compliance, expected=expected)
    yield _make_signed(material, "a payment_hash that is null", {**compliance, "payment_hash": None}, expected=expected)


def _headers(material: Material) -> Iterator[Vector]:
    """Header members that no step looks at, and those that step 2 refuses."""
    signer, stranger = material.third[0], material.third[1]
    mine = keys(signer)
    headers: Mapping[str, dict[str, Any]] = {
        "another typ": {"typ": "at+jwt"},
        "a typ that is a number": {"typ": 7},
        "a stranger's jwk": {"jwk": stranger.jwk},
        "a jku": {"jku": "http://127.0.0.1:9/keys"},
        "an x5u and an x5c": {"x5u": "http://127.0.0.1:9/chain", "x5c": ["AAAA"]},
        "b64 true": {"b64": True},
        "alg Ed25519": {"alg": "Ed25519"},
    }
    for name, members in headers.items():
        yield _make_vector(f"a header with {name}", material.by(signer, **members), mine, valid=True)
        forged = material.by(stranger, signer.kid, **members)
        yield _make_vector(f"a stranger's signature, a header with {name}", forged, mine)
    refused: Mapping[str, dict[str, Any]] = {
        "b64 false": {"b64": False},
        "b64 null": {"b64": None},
        "crit null": {"crit": None},
        "an alg that is a list": {"alg": ["EdDSA"]},
        "an alg that is null": {"alg": None},
    }
    for name, members in refused.items():
        yield _make_vector(f"a header with {name}", material.by(signer, **members), mine)
    for name, kid in (("a number", 7), ("null", None)):
        header = {**material.header, "kid": kid}
        yield _make_vector(f"a kid that is {name}", signer.sign(header, material.payload), mine)
    twice = '{"alg":"EdDSA","alg":"EdDSA","kid":"' + signer.kid + '"}'
    yield _make_vector("alg twice in the header", signer.sign(twice, material.payload), mine)


def _keys(material: Material) -> Iterator[Vector]:
    """Sets with several keys of the kid (P-RV-01), and sets of a wrong shape."""
    signer = material.third[0]
    token, x = material.by(signer), signer.jwk["x"]
    curve = {"kty": "EC", "crv": "P-256", "x": x, "y": x, "kid": signer.kid}
    yield _make_vector("two keys of the kid, none on Ed25519", token, {"keys": [curve, {**curve, "crv": "P-384"}]})
    yield _make_vector(
        "two keys of the kid, the second a stranger's",
        token,
        {"keys": [signer.jwk, {**material.third[1].jwk, "kid": signer.kid}]},
        valid=True,
    )
    yield _make_vector(
        "two keys of the kid, the first a stranger's",
        token,
        {"keys": [{**material.third[1].jwk, "kid": signer.kid}, signer.jwk]},
    )
    yield _make_vector("a key set whose second key is a text", token, {"keys": [signer.jwk, "key"]})
    yield _make_vector("a key set that is a number", token, 7)
    yield _make_vector("a selected key whose x is padded", token, {"keys": [{**signer.jwk, "x": x + "="}]})
    yield _make_vector("a selected key on another curve", token, {"keys": [{**signer.jwk, "crv": "Ed448"}]})


def _lengths(material: Material) -> Iterator[Vector]:
    """A receipt of the most characters, and one of one more (step 2)."""
    signer = material.third[0]
    for length, valid in ((LONGEST, True), (LONGEST + 1, False)):
        token = _of_length(material, length)
        if token is not None:
            yield _make_vector(f"a receipt of {length} characters", token, keys(signer), valid=valid)


def _of_length(material: Material, length: int) -> str | None:
    """Return a true receipt of so many characters, None if no padding of header and payload gives one."""
    signer = material.third[0]
    for more in range(4):
        header = {**material.header, "kid": signer.kid, "x-pad": "p" * more}
        shortest = signer.sign(header, jcs_bytes({**material.claims, "urn:example:pad": ""}))
        # Three bytes of a payload are four characters.
        guess = (length - len(shortest)) * 3 // 4
        for count in range(guess - 3, guess + 4):
            token = signer.sign(header, jcs_bytes({**material.claims, "urn:example:pad": "p" * count}))
            if len(token) == length:
                return token
    return None
