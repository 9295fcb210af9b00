"""Parameters, times and keys that make a signature unusable, though the equation would hold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

from conformance.oracles.message_signatures.faults import Code
from conformance.oracles.message_signatures.keys import did_key
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.message_signatures.drafting import (
    CREATED,
    draft_refusal,
    get,
    replace_signature,
    sign,
)

_COVER: Final = '"@method" "@authority" "@path"'
_P: Final = 2**255 - 19
_KEY: Final = f';created={CREATED};keyid="alice"'


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _algorithms()
    yield from _tags()
    yield from _times()
    yield from _keys()


def _bad(kind: str, variant: str, more: str, code: Code, fault: str, why: str, **more_members: Any) -> Draft:
    return draft_refusal(
        f"parameters/{kind}", variant, sign(get(), _COVER, _KEY + more), code, fault, why, **more_members
    )


def _algorithms() -> Iterator[Draft]:
    why = "algorithms stated in two places must be the same (RFC 9421 3.2)"
    code = Code.ALG_NOT_ALLOWED
    for variant, name in (("rsa-pss", "rsa-pss-sha512"), ("hmac", "hmac-sha256"), ("ecdsa", "ecdsa-p256-sha256")):
        fault = f"alg says {name}, the key is Ed25519"
        yield _bad("alg-of-another-key", variant, f';alg="{name}"', code, fault, why)
    why = "alg is a name of the registry (RFC 9421 3.3)"
    for variant, name in (("of-jose", "EdDSA"), ("letter-case", "Ed25519"), ("none", "none")):
        yield _bad("alg-unknown", variant, f';alg="{name}"', code, f"alg is {name!r}, which nobody registered", why)
    fault = "alg is an empty text"
    yield _bad("alg-empty", "empty", ';alg=""', code, fault, "an empty name is no registered one")
    policy = {"allowed_algorithms": ["rsa-pss-sha512"]}
    fault, why = "the caller allows another algorithm only", "the caller's list decides"
    pins = ("profile 6.2 allowed_algorithms",)
    yield _bad("alg-not-allowed", "stated", ';alg="ed25519"', code, fault, why, policy=policy, pins=pins)
    yield _bad("alg-not-allowed", "of-the-key", "", code, fault, why, policy=policy, pins=pins)
    policy = {"allowed_algorithms": []}
    yield _bad("alg-not-allowed", "none-allowed", "", code, fault, why, policy=policy, pins=pins)


def _tags() -> Iterator[Draft]:
    why = "the caller asks for a tag, so that no other application's signature passes (RFC 9421 7.2.7)"
    pins = ("profile 6.2 expected_tag",)
    for variant, more, fault in (
        ("another", ';tag="other-api"', "the tag is another"),
        ("letter-case", ';tag="Shop-API"', "the tag differs in its letters' case"),
        ("none", "", "there is no tag"),
    ):
        policy = {"expected_tag": "shop-api"}
        yield _bad("tag", variant, more, Code.TAG_MISMATCH, fault, why, policy=policy, pins=pins)


def _times() -> Iterator[Draft]:
    pins = ("P-AG-05",)
    for variant, ahead in (("just-beyond-the-skew", 62), ("an-hour", 3600)):
        fault = f"created is {ahead} s ahead of the clock"
        policy = {"now": CREATED - ahead}
        why = "a signature from the future was not made now"
        yield _bad("created-ahead", variant, "", Code.CREATED_IN_FUTURE, fault, why, policy=policy, pins=pins)
    message = sign(get(), _COVER, ';created=99999999999;keyid="alice"')
    fault = "created lies more than three thousand years ahead"
    why = "milliseconds taken for seconds, say"
    yield draft_refusal(
        "parameters/created-ahead", "milliseconds", message, Code.CREATED_IN_FUTURE, fault, why, pins=pins
    )
    why = "after its expiry a signature says nothing"
    for variant, after in (("just-beyond-the-skew", 62), ("a-day", 86_400)):
        fault = f"expires is {after} s past"
        policy = {"now": CREATED + 300 + after}
        more = f";expires={CREATED + 300}"
        yield _bad("expired", variant, more, Code.EXPIRED, fault, why, policy=policy, pins=pins)
    fault = "expires is before created"
    yield _bad("expired", "before-created", f";expires={CREATED - 1}", Code.EXPIRED, fault, why, pins=pins)
    why = "the caller limits the age"
    pins = ("profile 6.2 max_age_seconds",)
    for variant, limit, now in (("a-minute", 300, CREATED + 361), ("a-year", 86_400, CREATED + 31_536_000)):
        policy = {"max_age_seconds": limit, "now": now}
        fault = f"the signature is {now - CREATED} s old, {limit} s are allowed"
        yield _bad("too-old", variant, "", Code.TOO_OLD, fault, why, policy=policy, pins=pins)
    message = sign(get(), _COVER, ';keyid="alice"')
    fault = "an age is demanded and the signature bears no created"
    policy = {"max_age_seconds": 300, "now": CREATED}
    yield draft_refusal(
        "parameters/no-created", "age-demanded", message, Code.TOO_OLD, fault, why, policy=policy, pins=pins
    )


def _keys() -> Iterator[Draft]:
    """Yield keys that fit every signature, or no honest one.

    Under a key of small order R = A·k for no secret: with S = 0 and R the identity, one in eight messages verifies in
    the plain equation, under the identity every one.
    """
    identity = (1).to_bytes(32, "little")
    forged_message = replace_signature(sign(get(), _COVER), identity + bytes(32))
    why = "under a key of small order a signature can be made without a secret"
    pins = ("profile 6.3 key_rejected",)
    small = {
        "identity": identity,
        "order-two": (_P - 1).to_bytes(32, "little"),
        "order-eight": bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    }
    for variant, raw in small.items():
        yield _key("small-order", variant, raw, "the key is a point of small order", why, forged_message, pins)
    why = "a point has one encoding (RFC 8032 5.1.3)"
    for variant, number in (("p-plus-one", _P + 1), ("all-ones", 2**255 - 1), ("sign-of-zero", (1 << 255) | 1)):
        raw = number.to_bytes(32, "little")
        yield _key(
            "not-canonical", variant, raw, "the key is not the canonical encoding of a point", why, forged_message, pins
        )
    honest = sign(get(), _COVER)
    why = "half of all 32 bytes are no point (RFC 8032 5.1.3)"
    for variant, raw in (("two", (2).to_bytes(32, "little")), ("random", _no_point())):
        yield _key("not-on-the-curve", variant, raw, "the key is no point of the curve", why, honest, pins)
    members = {"algorithm": "ed25519", "did_key": did_key(identity)}
    fault = "the did:key holds a point of small order"
    yield draft_refusal(
        "key/small-order-did-key", "identity", forged_message, Code.KEY_REJECTED, fault, why, key=members, pins=pins
    )


def _key(
    kind: str, variant: str, raw: bytes, fault: str, why: str, message: dict[str, Any], pins: tuple[str, ...]
) -> Draft:
    members = {"algorithm": "ed25519", "public_key_hex": raw.hex()}
    return draft_refusal(f"key/{kind}", variant, message, Code.KEY_REJECTED, fault, why, key=members, pins=pins)


def _no_point() -> bytes:
    """Return the first bytes, hashed from a counter, that are not a point."""
    for number in range(64):
        raw = hashlib.sha256(b"no point %d" % number).digest()
        y = int.from_bytes(raw, "little") & ((1 << 255) - 1)
        d = -121665 * pow(121666, _P - 2, _P)
        square = (y * y - 1) * pow(d * y * y + 1, _P - 2, _P) % _P
        if y < _P and pow(square, (_P - 1) // 2, _P) == _P - 1:
            return raw
    raise ArithmeticError("64 hashes in a row are points")
