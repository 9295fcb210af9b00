"""The vector set: receipts with exactly one fault each, and the true ones they are made of. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.oracles import forging
from conformance.oracles.forging import Signer
from conformance.oracles.hashing import jcs_bytes
from conformance.oracles.jose import parse
from conformance.oracles.keys import encode_base64url
from conformance.oracles.receipts import COMPLIANCE
from conformance.receipts import near_misses
from conformance.receipts.material import PROFILE_PAYLOAD, Material, Vector, keys

__all__ = ("PROFILE_PAYLOAD", "Material", "Vector", "cross_validation", "keys", "vectors")

# In 2 kB, more than a reader bears that goes down by a call for each level.
_LEVELS = 1020
_KID_SHARED = "whether keys of different types may share a kid is the key set's own matter (RFC 7517, 4.5)"
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def vectors(material: Material) -> list[Vector]:
    """Return the whole set, in a fixed order; those of the platform's key only where there is a platform receipt."""
    faults = (_keys, _tampered, _algorithms, _structures, _formats, _encodings, _signatures, _critical, _key_sets)
    parts = (*faults, near_misses.vectors)
    return [one for part in parts for one in part(material)]


def _of_other_types(key: Signer) -> dict[str, dict[str, Any]]:
    x = key.jwk["x"]
    return {"EC": {"kty": "EC", "crv": "P-256", "x": x, "y": x}, "OKP": {"kty": "OKP", "crv": "X25519", "x": x}}


def _keys(material: Material) -> Iterator[Vector]:
    one, two, three = material.third
    mine = keys(one, two, three)
    third = material.by(one)
    yield Vector("a third party's, its key set supplied", "GW-RCPT-06", third, keys(one), valid=True)
    for what, document in _published_elsewhere(material, one).items():
        yield Vector(f"a third party's, its key set {what}", "GW-RCPT-06", third, document, valid=True)
    further: dict[str, Any] = {"urn:example:issuer": "third"}
    named = material.by(one, **further)
    yield Vector("a third party's, an unknown header member", "GW-RCPT-06", named, keys(one), valid=True)
    yield Vector("a third party's, no key set", "GW-RCPT-07", third)
    for place, signer in enumerate(material.third):
        what = f"the kid names key {place + 1} of 3, which signed"
        yield Vector(what, "GW-RCPT-09", material.by(signer), mine, valid=True)
    for what, other in _of_other_types(two).items():
        document = {"keys": [{**other, "kid": one.kid}, one.jwk]}
        named = f"two keys of the kid, the first of type {what}, the Ed25519 key signed"
        yield Vector(named, "GW-RCPT-09", third, document, valid=True, beyond=_KID_SHARED)
    yield Vector("no kid matches, the first key signed", "GW-RCPT-10", material.by(one, "nobody"), mine, valid=True)
    yield Vector("no kid matches, the second key signed", "GW-RCPT-11", material.by(two, "nobody"), mine)
    yield Vector("no kid matches, the last key signed", "GW-RCPT-11", material.by(three, "nobody"), mine)
    bare = {name: member for name, member in material.header.items() if name != "kid"}
    yield Vector("no kid, the first key signed", "GW-RCPT-12", one.sign(bare, material.payload), mine, valid=True)
    yield Vector("no kid, the second key signed", "GW-RCPT-12", two.sign(bare, material.payload), mine)
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
    """Return key sets as third parties publish them: members that are not known are ignored (RFC 7517, 4 and 5)."""
    bare = {name: member for name, member in signer.jwk.items() if name != "use"}
    described = {**signer.jwk, "alg": material.header.get("alg", "EdDSA"), "x5t#S256": "A" * 43, "nbf": 1_700_000_000}
    _, curve = forging.ecdsa({"alg": "ES256"}, b"", signer.seed, "curve")
    return {
        "with members that describe the key": {"keys": [described]},
        "without a use": {"keys": [{**bare, "key_ops": ["verify"]}]},
        "with members beside keys": {"issuer": "https://issuer.example", **keys(signer), "updated_at": 1_700_000_000},
        "with a key of another type besides": {"keys": [signer.jwk, curve]},
    }


def _tampered(material: Material) -> Iterator[Vector]:
    """Yield changes to a true receipt: of the platform's where there is one, and of a third party's."""
    sources: list[tuple[str, str, Any]] = [("a third party's", material.by(material.third[0]), keys(material.third[0]))]
    if material.platform is not None:
        sources.append(("the platform's", material.platform, None))
    for whose, token, jwks in sources:
        head, body, tail = token.split(".")
        signature = parse(token).signature
        for place in (0, 31, 32, 62):
            changed = bytearray(signature)
            changed[place] ^= 1 << material.rng.randrange(8)
            name = f"{whose}, a bit of signature byte {place} changed"
            yield Vector(name, "GW-RCPT-02", forging.with_signature(token, bytes(changed)), jwks)
        other = material.third[1].sign(material.header, material.payload).rpartition(".")[2]
        yield Vector(f"{whose}, another signer's signature", "GW-RCPT-02", f"{head}.{body}.{other}", jwks)
        yield Vector(f"{whose}, the signature cut", "GW-RCPT-02", forging.with_signature(token, signature[:63]), jwks)
        yield Vector(f"{whose}, zeros as the signature", "GW-RCPT-02", forging.with_signature(token, bytes(64)), jwks)
        for name, payload in _other_payloads(material.claims).items():
            text = f"{head}.{encode_base64url(payload)}.{tail}"
            yield Vector(f"{whose}, {name}", "GW-RCPT-03", text, jwks)
        for name, header in _other_headers(token).items():
            text = f"{encode_base64url(json.dumps(header, separators=(',', ':')).encode())}.{body}.{tail}"
            yield Vector(f"{whose}, {name}", "GW-RCPT-04", text, jwks)


def _other_payloads(claims: dict[str, Any]) -> dict[str, bytes]:
    texts = [name for name, value in claims.items() if isinstance(value, str)]
    changed = {f"{name} changed": jcs_bytes({**claims, name: _other_text(str(claims[name]))}) for name in texts[:4]}
    return {**changed, "a member more": jcs_bytes({**claims, "note": "x"}), "no member": b"{}"}


def _other_text(value: str) -> str:
    swap = {"ALLOW": "DENY", "DENY": "ALLOW", "REFER": "ALLOW"}
    return swap.get(value, value[:-1] + ("0" if value[-1:] != "0" else "1"))


def _other_headers(token: str) -> dict[str, dict[str, Any]]:
    header = dict(parse(token).header)
    # A header of one member has one order only.
    reordered = {"the header's members reordered": dict(reversed(list(header.items())))} if len(header) > 1 else {}
    return {
        "a header member more": {**header, "x-more": "1"},
        **reordered,
        "the header's typ changed": {**header, "typ": "JOSE"},
        "the header's alg spelled the other way": {
            **header,
            "alg": "Ed25519" if header.get("alg") == "EdDSA" else "EdDSA",
        },
    }


def _algorithms(material: Material) -> Iterator[Vector]:
    one = material.third[0]
    mine, header = keys(one), {**material.header, "kid": one.kid}
    for name in ("none", "None", "NONE", "nOnE", ""):
        bare = forging.compact({**header, "alg": name}, material.payload)
        yield Vector(f"alg {name!r}, no signature", "GW-RCPT-16", bare, mine)
        yield Vector(f"alg {name!r}, a true signature", "GW-RCPT-16", material.by(one, alg=name), mine)
    if material.platform is not None:
        kid = parse(material.platform).header.get("kid")
        bare = forging.compact({**material.header, "alg": "none", "kid": kid}, material.payload)
        yield Vector("alg 'none' under the platform's kid", "GW-RCPT-16", bare)
    secrets = {
        "the raw key": one.raw,
        "the key's base64url text": one.jwk["x"].encode(),
        "the key as PEM": one.pem(),
        "the JWK's text": json.dumps(one.jwk, separators=(",", ":")).encode(),
        "nothing": b"",
    }
    for what, secret in secrets.items():
        token = forging.mac({**header, "alg": "HS256"}, material.payload, secret)
        yield Vector(f"HS256 keyed with {what}", "GW-RCPT-17", token, mine)
    for name in ("HS384", "HS512"):
        token = forging.mac({**header, "alg": name}, material.payload, one.raw)
        yield Vector(f"{name} keyed with the raw key", "GW-RCPT-17", token, mine)
    yield from _platform_mac(material)
    for name, (token, jwk) in forging.signed_by_others(header, material.payload, one.seed).items():
        yield Vector(f"{name}, truly signed", "GW-RCPT-18", token, {"keys": [jwk]})
    octets = {"kty": "oct", "k": encode_base64url(one.raw), "kid": one.kid}
    token = forging.mac({**header, "alg": "HS256"}, material.payload, one.raw)
    yield Vector("HS256 with its secret supplied", "GW-RCPT-18", token, {"keys": [octets]})
    yield Vector("no alg", "GW-RCPT-18", one.sign(_less(header, "alg"), material.payload), mine)


def _platform_mac(material: Material) -> Iterator[Vector]:
    listed = material.jwks.get("keys") if isinstance(material.jwks, dict) else None
    first = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], dict) else {}
    if material.platform is not None and isinstance(first.get("x"), str):
        header = {**material.header, "alg": "HS256", "kid": str(first.get("kid"))}
        secret = base64.urlsafe_b64decode(first["x"] + "=" * (-len(first["x"]) % 4))
        token = forging.mac(header, material.payload, secret)
        yield Vector("HS256 keyed with the platform's public key", "GW-RCPT-17", token)


def _less(members: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {one: member for one, member in members.items() if one != name}


def _structures(material: Material) -> Iterator[Vector]:
    one, claims = material.third[0], material.claims
    mine = keys(one)
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
    for what, payload in bytes_.items():
        yield Vector(f"truly signed: {what}", "GW-RCPT-19", material.by(one, payload=payload), mine)

    def signed(what: str, payload: bytes) -> Vector:
        return Vector(f"truly signed: {what}", "GW-RCPT-19", material.by(one, payload=payload), mine, pinned=True)

    for name in COMPLIANCE:
        if name in claims:
            yield signed(f"without {name}", jcs_bytes(_less(claims, name)))
            yield signed(f"{name} null", jcs_bytes({**claims, name: None}))
    yield signed("a screen_result outside its set", jcs_bytes({**claims, "screen_result": "PERHAPS"}))
    yield signed("canon_version of another kind", jcs_bytes({**claims, "canon_version": "jcs-rfc8785-v2"}))
    yield signed("white space in the JSON", json.dumps(claims, indent=1, sort_keys=True).encode())
    yield signed(
        "members out of order", json.dumps(dict(sorted(claims.items(), reverse=True)), separators=(",", ":")).encode()
    )
    yield signed("a member twice", material.payload[:-1] + b',"canon_version":"jcs-rfc8785-v1"}')
    bound = "sha256:" + "cc" * 32
    paid = material.by(one, payload=jcs_bytes({**claims, "payment_hash": bound}))
    more: dict[str, Any] = {"jwks": mine, "pinned": True}
    yield Vector(
        "bound to the payment that is expected", "GW-RCPT-19", paid, valid=True, expected_payment_hash=bound, **more
    )
    other = "sha256:" + "dd" * 32
    yield Vector("bound to another payment", "GW-RCPT-19", paid, expected_payment_hash=other, **more)


def _formats(material: Material) -> Iterator[Vector]:
    one = material.third[0]
    token, mine = material.by(one), keys(one)
    head, body, tail = token.split(".")
    flattened = {"payload": body, "protected": head, "signature": tail}
    texts: dict[str, Any] = {
        "one segment": head,
        "two segments": f"{head}.{body}",
        "four segments": f"{token}.{tail}",
        "five segments, as an encrypted one has": f"{token}.{tail}.{tail}",
        "an empty header": f".{body}.{tail}",
        "an empty signature": f"{head}.{body}.",
        "only dots": "..",
        "detached": f"{head}..{tail}",
        "flattened JSON as text": json.dumps(flattened),
        "general JSON as text": json.dumps({"payload": body, "signatures": [_less(flattened, "payload")]}),
        "flattened JSON": flattened,
        "words": "this is no receipt",
    }
    for what, text in texts.items():
        yield Vector(what, "GW-RCPT-23", text, mine)
    for what, header in (("an array", "[]"), ("no JSON", "{"), ("a text", '"EdDSA"')):
        yield Vector(f"the header is {what}", "GW-RCPT-23", one.sign(header, material.payload), mine)


def _encodings(material: Material) -> Iterator[Vector]:
    one = material.third[0]
    token, mine = _with_spare_bits(material), keys(one)
    segments = token.split(".")
    for place, what in enumerate(("header", "payload", "signature")):
        respelled = _spare_bits(segments[place])
        if respelled is not None:
            yield Vector(f"spare bits in the {what}", "GW-RCPT-24", _replaced(segments, place, respelled), mine)
        padded = segments[place] + "=" * (-len(segments[place]) % 4 or 4)
        yield Vector(f"padding after the {what}", "GW-RCPT-24", _replaced(segments, place, padded), mine, pinned=True)
        broken = segments[place][:5] + "\n" + segments[place][5:]
        yield Vector(f"a line end in the {what}", "GW-RCPT-24", _replaced(segments, place, broken), mine)
        odd = segments[place][:5] + "*" + segments[place][5:]
        yield Vector(f"a star in the {what}", "GW-RCPT-24", _replaced(segments, place, odd), mine)
    yield Vector("a space before", "GW-RCPT-24", " " + token, mine, pinned=True)
    yield Vector("a line end after", "GW-RCPT-24", token + "\n", mine, pinned=True)


def _with_spare_bits(material: Material) -> str:
    """Return a true receipt whose header has spare bits in its last letter; the payload's length is not ours."""
    one = material.third[0]
    for extra in range(3):
        token = one.sign({**material.header, "kid": one.kid, "x-pad": "p" * extra}, material.payload)
        if len(token.split(".")[0]) % 4:
            return token
    return material.by(one)


def _spare_bits(segment: str) -> str | None:
    """Return another text of the same bytes: the last letter's spare bits set; None when it has none."""
    spare = {2: 4, 3: 2}.get(len(segment) % 4)
    if spare is None:
        return None
    return segment[:-1] + _ALPHABET[_ALPHABET.index(segment[-1]) | ((1 << spare) - 1)]


def _replaced(segments: list[str], place: int, text: str) -> str:
    return ".".join([*segments[:place], text, *segments[place + 1 :]])


def _signatures(material: Material) -> Iterator[Vector]:
    one = material.third[0]
    yield Vector("S and the group order", "GW-RCPT-25", forging.plus_order(material.by(one)), keys(one))
    if material.platform is not None:
        yield Vector("the platform's, S and the group order", "GW-RCPT-25", forging.plus_order(material.platform))
    points = {
        "the identity": forging.IDENTITY,
        "the point of order 2": forging.ORDER_TWO,
        "the identity in another encoding": forging.NON_CANONICAL_IDENTITY,
    }
    for what, raw in points.items():
        header = {**material.header, "kid": "small"}
        token = forging.under_small_order_key(header, material.payload, raw, one.seed)
        jwk = {**one.jwk, "x": encode_base64url(raw), "kid": "small"}
        yield Vector(f"signed for {what} as the key", "GW-RCPT-25", token, {"keys": [jwk]})


def _critical(material: Material) -> Iterator[Vector]:
    one = material.third[0]
    headers: dict[str, dict[str, Any]] = {
        "an unknown parameter": {"crit": ["urn:example:unknown"], "urn:example:unknown": 1},
        "exp": {"crit": ["exp"], "exp": 1},
        "b64": {"crit": ["b64"], "b64": False},
        "nothing": {"crit": []},
    }
    for what, members in headers.items():
        yield Vector(f"crit names {what}", "GW-RCPT-26", material.by(one, **members), keys(one))


def _key_sets(material: Material) -> Iterator[Vector]:
    """Yield key sets that hold no key, for a receipt that the platform's own key would verify."""
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
    for what, jwks in sets.items():
        beyond = None if isinstance(jwks, dict) else "whether what is no object counts as a supplied key set is open"
        yield Vector(f"the platform's; key set: {what}", "GW-RCPT-29", material.platform, jwks, beyond=beyond)


def cross_validation(material: Material) -> list[Vector]:
    """Return eight receipts, each wrong by another step of the profile's nine: the ones that have such a vector."""
    one, claims = material.third[0], material.claims
    token, mine = material.by(one), keys(one)
    header = {**material.header, "kid": one.kid}
    hs256 = forging.mac({**header, "alg": "HS256"}, material.payload, one.raw)
    changed = forging.with_signature(token, parse(token).signature[::-1])
    spaced = json.dumps(claims, indent=1, sort_keys=True).encode()
    another = jcs_bytes({**claims, "canon_version": "jcs-rfc8785-v2"})
    lacking = jcs_bytes(_less(claims, "screen_provider_did" if "screen_provider_did" in claims else next(iter(claims))))
    row = "GW-RCPT-22"
    return [
        Vector("no receipt", row, "", mine),
        Vector("two segments", row, token.rpartition(".")[0], mine),
        Vector("an HMAC", row, hs256, mine),
        Vector("another signature", row, changed, mine),
        Vector("another canonical form", row, material.by(one, payload=another), mine),
        Vector("not in canonical form", row, material.by(one, payload=spaced), mine),
        Vector("without a member", row, material.by(one, payload=lacking), mine),
        Vector("bound to no such payment", row, token, mine, expected_payment_hash="sha256:" + "dd" * 32),
    ]
