"""The receipt vectors for a hosted verifier: valid receipts, and changed ones with exactly one fault each. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.oracles import forging
from conformance.oracles.ed25519_keys import encode_base64url
from conformance.oracles.forging import Signer
from conformance.oracles.hash_recipes import jcs_bytes
from conformance.oracles.jose import parse
from conformance.oracles.receipts import COMPLIANCE
from conformance.outcome import OpenPoint
from conformance.receipts import near_miss_receipts
from conformance.receipts.material import PROFILE_PAYLOAD, Material, Vector, keys

__all__ = ("PROFILE_PAYLOAD", "Material", "Vector", "cross_validation", "keys", "vectors")

# Nesting levels in 2 kB: enough to exceed the stack of a recursive parser.
_LEVELS = 1020
_KID_SHARED = OpenPoint("whether keys of different types may share a kid is open (RFC 7517, 4.5)", "P-RV-01")
_NO_OBJECT = OpenPoint("whether what is no object counts as a supplied key set is open", "2.4")
# The alphabet of base64url in the order of its values (RFC 4648, section 5).
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def vectors(material: Material) -> list[Vector]:
    """Return all vectors in a fixed order; those of the platform's key only if a platform receipt exists."""
    faults = (
        _keys,
        _tampered_receipts,
        _algorithms,
        _structures,
        _formats,
        _encodings,
        _signatures,
        _critical,
        _key_sets,
    )
    parts = (*faults, near_miss_receipts.vectors)
    return [signer for part in parts for signer in part(material)]


def _of_other_types(key: Signer) -> dict[str, dict[str, Any]]:
    x = key.jwk["x"]
    return {"EC": {"kty": "EC", "crv": "P-256", "x": x, "y": x}, "OKP": {"kty": "OKP", "crv": "X25519", "x": x}}


def _keys(material: Material) -> Iterator[Vector]:
    one, two, three = material.third
    mine = keys(one, two, three)
    third = material.by(one)
    yield Vector("a third party's, its key set supplied", "GW-RCPT-06", third, keys(one), valid=True)
    for description, document in _published_elsewhere(material, one).items():
        yield Vector(f"a third party's, its key set {description}", "GW-RCPT-06", third, document, valid=True)
    further: dict[str, Any] = {"urn:example:issuer": "third"}
    named_text = material.by(one, **further)
    yield Vector("a third party's, an unknown header member", "GW-RCPT-06", named_text, keys(one), valid=True)
    yield Vector("a third party's, no key set", "GW-RCPT-07", third)
    for place, signer in enumerate(material.third):
        description = f"the kid names key {place + 1} of 3, which signed"
        yield Vector(description, "GW-RCPT-09", material.by(signer), mine, valid=True)
    for description, other_jwk in _of_other_types(two).items():
        document = {"keys": [{**other_jwk, "kid": one.kid}, one.jwk]}
        named_text = f"two keys of the kid, the first of type {description}, the Ed25519 key signed"
        yield Vector(named_text, "GW-RCPT-09", third, document, valid=True, beyond=_KID_SHARED)
    yield Vector("no kid matches, the first key signed", "GW-RCPT-10", material.by(one, "nobody"), mine, valid=True)
    yield Vector("no kid matches, the second key signed", "GW-RCPT-11", material.by(two, "nobody"), mine)
    yield Vector("no kid matches, the last key signed", "GW-RCPT-11", material.by(three, "nobody"), mine)
    bare = {name: member for name, member in material.header.items() if name != "kid"}
    yield Vector("no kid, the first key signed", "GW-RCPT-12", one.sign(bare, material.payload), mine, valid=True)
    yield Vector("no kid, the second key signed", "GW-RCPT-12", two.sign(bare, material.payload), mine)
    # The kid is a promise: a verifier must try the named key only (P-RV-01).
    yield Vector("the kid names key 2, key 1 signed", "GW-RCPT-13", material.by(one, two.kid), mine)
    yield Vector("the kid names key 3, key 1 signed", "GW-RCPT-13", material.by(one, three.kid), mine)
    if material.platform is not None:
        yield Vector("the platform's", "GW-RCPT-01", material.platform, valid=True)
        yield Vector(
            "the platform's, its own key set supplied", "GW-RCPT-14", material.platform, material.jwks, valid=True
        )
        yield Vector("the platform's, another key set supplied", "GW-RCPT-08", material.platform, keys(one))
        yield Vector("the platform's, three other keys supplied", "GW-RCPT-08", material.platform, mine)


def _published_elsewhere(material: Material, signer: Signer) -> dict[str, dict[str, Any]]:
    """Return key sets in forms that third parties publish: unknown members are ignored (RFC 7517, 4 and 5)."""
    bare = {name: member for name, member in signer.jwk.items() if name != "use"}
    described_jwk = {
        **signer.jwk,
        "alg": material.header.get("alg", "EdDSA"),
        "x5t#S256": "A" * 43,
        "nbf": 1_700_000_000,
    }
    _, curve = forging.ecdsa({"alg": "ES256"}, b"", signer.seed, "curve")
    return {
        "with members that describe the key": {"keys": [described_jwk]},
        "without a use": {"keys": [{**bare, "key_ops": ["verify"]}]},
        "with members beside keys": {"issuer": "https://issuer.example", **keys(signer), "updated_at": 1_700_000_000},
        "with a key of another type besides": {"keys": [signer.jwk, curve]},
    }


def _tampered_receipts(material: Material) -> Iterator[Vector]:
    """Yield changes to a valid receipt of a third party, and to one of the platform if it exists."""
    sources: list[tuple[str, str, Any]] = [("a third party's", material.by(material.third[0]), keys(material.third[0]))]
    if material.platform is not None:
        sources.append(("the platform's", material.platform, None))
    for owner, token, jwks in sources:
        head, body, tail = token.split(".")
        signature = parse(token).signature
        for place in (0, 31, 32, 62):
            changed_signature = bytearray(signature)
            changed_signature[place] ^= 1 << material.rng.randrange(8)
            name = f"{owner}, a bit of signature byte {place} changed"
            yield Vector(name, "GW-RCPT-02", forging.with_signature(token, bytes(changed_signature)), jwks)
        other_signature = material.third[1].sign(material.header, material.payload).rpartition(".")[2]
        yield Vector(f"{owner}, another signer's signature", "GW-RCPT-02", f"{head}.{body}.{other_signature}", jwks)
        yield Vector(f"{owner}, the signature cut", "GW-RCPT-02", forging.with_signature(token, signature[:63]), jwks)
        yield Vector(f"{owner}, zeros as the signature", "GW-RCPT-02", forging.with_signature(token, bytes(64)), jwks)
        for name, payload in _other_payloads(material.claims).items():
            text = f"{head}.{encode_base64url(payload)}.{tail}"
            yield Vector(f"{owner}, {name}", "GW-RCPT-03", text, jwks)
        for name, header in _other_headers(token).items():
            text = f"{encode_base64url(json.dumps(header, separators=(',', ':')).encode())}.{body}.{tail}"
            yield Vector(f"{owner}, {name}", "GW-RCPT-04", text, jwks)


def _other_payloads(claims: dict[str, Any]) -> dict[str, bytes]:
    texts = [name for name, value in claims.items() if isinstance(value, str)]
    changed_payloads = {
        f"{name} changed": jcs_bytes({**claims, name: _other_text(str(claims[name]))}) for name in texts[:4]
    }
    return {**changed_payloads, "a member more": jcs_bytes({**claims, "note": "x"}), "no member": b"{}"}


def _other_text(value: str) -> str:
    swap = {"ALLOW": "DENY", "DENY": "ALLOW", "REFER": "ALLOW"}
    return swap.get(value, value[:-1] + ("0" if value[-1:] != "0" else "1"))


def _other_headers(token: str) -> dict[str, dict[str, Any]]:
    header = dict(parse(token).header)
    # A header of one member has one order only.
    reordered_header = (
        {"the header's members reordered": dict(reversed(list(header.items())))} if len(header) > 1 else {}
    )
    return {
        "a header member more": {**header, "x-more": "1"},
        **reordered_header,
        "the header's typ changed": {**header, "typ": "JOSE"},
        "the header's alg spelled the other way": {
            **header,
            "alg": "Ed25519" if header.get("alg") == "EdDSA" else "EdDSA",
        },
    }


def _algorithms(material: Material) -> Iterator[Vector]:
    signer = material.third[0]
    mine, header = keys(signer), {**material.header, "kid": signer.kid}
    # A verifier that compares `alg` without case, or skips an unknown one, accepts an unsigned
    # receipt.
    for name in ("none", "None", "NONE", "nOnE", ""):
        bare = forging.compact({**header, "alg": name}, material.payload)
        yield Vector(f"alg {name!r}, no signature", "GW-RCPT-16", bare, mine)
        yield Vector(f"alg {name!r}, a true signature", "GW-RCPT-16", material.by(signer, alg=name), mine)
    if material.platform is not None:
        kid = parse(material.platform).header.get("kid")
        bare = forging.compact({**material.header, "alg": "none", "kid": kid}, material.payload)
        yield Vector("alg 'none' under the platform's kid", "GW-RCPT-16", bare)
    # Algorithm confusion: the public key is known to everybody. A verifier that uses it as the
    # secret of an HMAC accepts what any attacker can compute.
    secrets = {
        "the raw key": signer.raw,
        "the key's base64url text": signer.jwk["x"].encode(),
        "the key as PEM": signer.pem(),
        "the JWK's text": json.dumps(signer.jwk, separators=(",", ":")).encode(),
        "nothing": b"",
    }
    for description, secret in secrets.items():
        token = forging.mac({**header, "alg": "HS256"}, material.payload, secret)
        yield Vector(f"HS256 keyed with {description}", "GW-RCPT-17", token, mine)
    for name in ("HS384", "HS512"):
        token = forging.mac({**header, "alg": name}, material.payload, signer.raw)
        yield Vector(f"{name} keyed with the raw key", "GW-RCPT-17", token, mine)
    yield from _platform_mac(material)
    for name, (token, jwk) in forging.signed_by_others(header, material.payload, signer.seed).items():
        yield Vector(f"{name}, truly signed", "GW-RCPT-18", token, {"keys": [jwk]})
    octets = {"kty": "oct", "k": encode_base64url(signer.raw), "kid": signer.kid}
    token = forging.mac({**header, "alg": "HS256"}, material.payload, signer.raw)
    yield Vector("HS256 with its secret supplied", "GW-RCPT-18", token, {"keys": [octets]})
    yield Vector("no alg", "GW-RCPT-18", signer.sign(_without_member(header, "alg"), material.payload), mine)


def _platform_mac(material: Material) -> Iterator[Vector]:
    listed_keys = material.jwks.get("keys") if isinstance(material.jwks, dict) else None
    first = listed_keys[0] if isinstance(listed_keys, list) and listed_keys and isinstance(listed_keys[0], dict) else {}
    if material.platform is not None and isinstance(first.get("x"), str):
        header = {**material.header, "alg": "HS256", "kid": str(first.get("kid"))}
        secret = base64.urlsafe_b64decode(first["x"] + "=" * (-len(first["x"]) % 4))
        token = forging.mac(header, material.payload, secret)
        yield Vector("HS256 keyed with the platform's public key", "GW-RCPT-17", token)


def _without_member(members: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {signer: member for signer, member in members.items() if signer != name}


def _structures(material: Material) -> Iterator[Vector]:
    signer, claims = material.third[0], material.claims
    mine = keys(signer)
    bytes_: dict[str, bytes] = {
        "an empty object": b"{}",
        "an array": b"[]",
        "a text": b'"ALLOW"',
        "a number": b"1",
        "null": b"null",
        "no JSON": b"not JSON",
        "no UTF-8": b'{"canon_version":"\xff"}',
        "half of a JSON text": material.payload[: len(material.payload) // 2],
        "arrays in each other": b"[" * _LEVELS + b"]" * _LEVELS,
    }
    for description, payload in bytes_.items():
        yield Vector(f"truly signed: {description}", "GW-RCPT-19", material.by(signer, payload=payload), mine)

    def signed_vector(description: str, payload: bytes) -> Vector:
        return Vector(
            f"truly signed: {description}", "GW-RCPT-19", material.by(signer, payload=payload), mine, pinned=True
        )

    for name in COMPLIANCE:
        if name in claims:
            yield signed_vector(f"without {name}", jcs_bytes(_without_member(claims, name)))
            yield signed_vector(f"{name} null", jcs_bytes({**claims, name: None}))
    yield signed_vector("a screen_result outside its set", jcs_bytes({**claims, "screen_result": "PERHAPS"}))
    yield signed_vector("canon_version of another kind", jcs_bytes({**claims, "canon_version": "jcs-rfc8785-v2"}))
    yield signed_vector("white space in the JSON", json.dumps(claims, indent=1, sort_keys=True).encode())
    yield signed_vector(
        "members out of order", json.dumps(dict(sorted(claims.items(), reverse=True)), separators=(",", ":")).encode()
    )
    yield signed_vector("a member twice", material.payload[:-1] + b',"canon_version":"jcs-rfc8785-v1"}')
    payment_hash = "sha256:" + "cc" * 32
    paid_receipt = material.by(signer, payload=jcs_bytes({**claims, "payment_hash": payment_hash}))
    more: dict[str, Any] = {"jwks": mine, "pinned": True}
    yield Vector(
        "bound to the payment that is expected",
        "GW-RCPT-19",
        paid_receipt,
        valid=True,
        expected_payment_hash=payment_hash,
        **more,
    )
    other_hash = "sha256:" + "dd" * 32
    yield Vector("bound to another payment", "GW-RCPT-19", paid_receipt, expected_payment_hash=other_hash, **more)


def _formats(material: Material) -> Iterator[Vector]:
    signer = material.third[0]
    token, mine = material.by(signer), keys(signer)
    head, body, tail = token.split(".")
    flattened_jws = {"payload": body, "protected": head, "signature": tail}
    texts: dict[str, Any] = {
        "one segment": head,
        "two segments": f"{head}.{body}",
        "four segments": f"{token}.{tail}",
        "five segments, as an encrypted one has": f"{token}.{tail}.{tail}",
        "an empty header": f".{body}.{tail}",
        "an empty signature": f"{head}.{body}.",
        "only dots": "..",
        "detached": f"{head}..{tail}",
        "flattened JSON as text": json.dumps(flattened_jws),
        "general JSON as text": json.dumps(
            {"payload": body, "signatures": [_without_member(flattened_jws, "payload")]}
        ),
        "flattened JSON": flattened_jws,
        "words": "this is no receipt",
    }
    for description, text in texts.items():
        yield Vector(description, "GW-RCPT-23", text, mine)
    for description, header in (("an array", "[]"), ("no JSON", "{"), ("a text", '"EdDSA"')):
        yield Vector(f"the header is {description}", "GW-RCPT-23", signer.sign(header, material.payload), mine)


def _encodings(material: Material) -> Iterator[Vector]:
    signer = material.third[0]
    token, mine = _with_spare_bits(material), keys(signer)
    segments = token.split(".")
    for place, description in enumerate(("header", "payload", "signature")):
        # base64 of a length that is not a multiple of 3 has unused bits. A decoder that ignores
        # them gives one receipt several texts, and each text another hash.
        respelled_segment = _spare_bits(segments[place])
        if respelled_segment is not None:
            yield Vector(
                f"spare bits in the {description}",
                "GW-RCPT-24",
                _replace_segment(segments, place, respelled_segment),
                mine,
            )
        padded_segment = segments[place] + "=" * (-len(segments[place]) % 4 or 4)
        yield Vector(
            f"padding after the {description}",
            "GW-RCPT-24",
            _replace_segment(segments, place, padded_segment),
            mine,
            pinned=True,
        )
        broken_segment = segments[place][:5] + "\n" + segments[place][5:]
        yield Vector(
            f"a line end in the {description}", "GW-RCPT-24", _replace_segment(segments, place, broken_segment), mine
        )
        odd = segments[place][:5] + "*" + segments[place][5:]
        yield Vector(f"a star in the {description}", "GW-RCPT-24", _replace_segment(segments, place, odd), mine)
    yield Vector("a space before", "GW-RCPT-24", " " + token, mine, pinned=True)
    yield Vector("a line end after", "GW-RCPT-24", token + "\n", mine, pinned=True)


def _with_spare_bits(material: Material) -> str:
    """Return a valid receipt whose header has spare bits in its last character, since the payload's length is fixed."""
    signer = material.third[0]
    for extra in range(3):
        token = signer.sign({**material.header, "kid": signer.kid, "x-pad": "p" * extra}, material.payload)
        if len(token.split(".")[0]) % 4:
            return token
    return material.by(signer)


def _spare_bits(segment: str) -> str | None:
    """Return another text for the same bytes, with the last character's spare bits set; None without spare bits."""
    spare = {2: 4, 3: 2}.get(len(segment) % 4)
    if spare is None:
        return None
    return segment[:-1] + _ALPHABET[_ALPHABET.index(segment[-1]) | ((1 << spare) - 1)]


def _replace_segment(segments: list[str], place: int, text: str) -> str:
    return ".".join([*segments[:place], text, *segments[place + 1 :]])


def _signatures(material: Material) -> Iterator[Vector]:
    signer = material.third[0]
    # RFC 8032 (5.1.7) requires S below the group order. Without that rule a third party can change
    # a signature into a second valid one.
    yield Vector("S and the group order", "GW-RCPT-25", forging.plus_order(material.by(signer)), keys(signer))
    if material.platform is not None:
        yield Vector("the platform's, S and the group order", "GW-RCPT-25", forging.plus_order(material.platform))
    # For a key of small order there are signatures that hold for any message.
    points = {
        "the identity": forging.IDENTITY,
        "the point of order 2": forging.ORDER_TWO,
        "the identity in another encoding": forging.NON_CANONICAL_IDENTITY,
    }
    for description, raw in points.items():
        header = {**material.header, "kid": "small"}
        token = forging.under_small_order_key(header, material.payload, raw, signer.seed)
        jwk = {**signer.jwk, "x": encode_base64url(raw), "kid": "small"}
        yield Vector(f"signed for {description} as the key", "GW-RCPT-25", token, {"keys": [jwk]})


def _critical(material: Material) -> Iterator[Vector]:
    signer = material.third[0]
    # RFC 7515 (4.1.11): a verifier must reject a receipt whose `crit` names an extension that it
    # does not know.
    headers: dict[str, dict[str, Any]] = {
        "an unknown parameter": {"crit": ["urn:example:unknown"], "urn:example:unknown": 1},
        "exp": {"crit": ["exp"], "exp": 1},
        "b64": {"crit": ["b64"], "b64": False},
        "nothing": {"crit": []},
    }
    for description, members in headers.items():
        yield Vector(f"crit names {description}", "GW-RCPT-26", material.by(signer, **members), keys(signer))


def _key_sets(material: Material) -> Iterator[Vector]:
    """Yield key sets without a usable key, for a receipt that the platform's key would verify."""
    # Without a platform receipt nothing is verified by the platform's own key.
    if material.platform is None:
        return
    sets: dict[str, Any] = {
        "an empty list": {"keys": []},
        "an empty object": {},
        "keys null": {"keys": None},
        "keys a text": {"keys": "x"},
        "a key without members": {"keys": [{}]},
        "a key without x": {"keys": [{"kty": "OKP", "crv": "Ed25519"}]},
        "a key whose x is short": {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AAAA"}]},
        "only a key for encryption": {"keys": [{"kty": "OKP", "crv": "X25519", "x": material.third[0].jwk["x"]}]},
        "an empty array instead": [],
        "an empty text instead": "",
    }
    for description, jwks in sets.items():
        beyond = None if isinstance(jwks, dict) else _NO_OBJECT
        yield Vector(f"the platform's; key set: {description}", "GW-RCPT-29", material.platform, jwks, beyond=beyond)


def cross_validation(material: Material) -> list[Vector]:
    """Return eight invalid receipts, each for another of the profile's nine steps."""
    signer, claims = material.third[0], material.claims
    token, mine = material.by(signer), keys(signer)
    header = {**material.header, "kid": signer.kid}
    hs256 = forging.mac({**header, "alg": "HS256"}, material.payload, signer.raw)
    token_of_other_signature = forging.with_signature(token, parse(token).signature[::-1])
    spaced_payload = json.dumps(claims, indent=1, sort_keys=True).encode()
    other_canon_payload = jcs_bytes({**claims, "canon_version": "jcs-rfc8785-v2"})
    payload_without_member = jcs_bytes(
        _without_member(claims, "screen_provider_did" if "screen_provider_did" in claims else next(iter(claims)))
    )
    row = "GW-RCPT-22"
    return [
        Vector("no receipt", row, "", mine),
        Vector("two segments", row, token.rpartition(".")[0], mine),
        Vector("an HMAC", row, hs256, mine),
        Vector("another signature", row, token_of_other_signature, mine),
        Vector("another canonical form", row, material.by(signer, payload=other_canon_payload), mine),
        Vector("not in canonical form", row, material.by(signer, payload=spaced_payload), mine),
        Vector("without a member", row, material.by(signer, payload=payload_without_member), mine),
        Vector("bound to no such payment", row, token, mine, expected_payment_hash="sha256:" + "dd" * 32),
    ]
