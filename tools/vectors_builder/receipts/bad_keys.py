"""Key sets that hold no key, or none of the kind; the receipts themselves are truly signed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.oracles.ed25519_keys import encode_base64url
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.receipts.material import FIRST_KEY, TWO, draft_refusal, receipt, without

_STRICT = ("profile 2.4 step 2",)
_FIRST = ("P-RV-01",)


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _documents()
    yield from _octets()
    yield from _types()


def _documents() -> Iterator[Draft]:
    token, row = receipt(), "GW-RCPT-29"
    why = "a key set without keys verifies nothing, and no other key steps in"
    sets: tuple[tuple[str, Any], ...] = (("text", "keys"), ("number", 1), ("false", False))
    for name, document in sets:
        yield draft_refusal("format/key_set", name, token, "the key set is no object", why, row, keys=document)
    for name, document in (("absent", {}), ("null", {"keys": None}), ("empty", {"keys": []})):
        yield draft_refusal("format/key_list", name, token, "the key set has no keys", why, row, keys=document)
    for name, document in (("text", {"keys": ["key"]}), ("null", {"keys": [None]}), ("array", {"keys": [[]]})):
        yield draft_refusal("format/key_entries", name, token, "what is listed is no key", why, row, keys=document)
    why = "a key set is an object whose member keys is a list of objects (RFC 7517 section 5)"
    shapes: tuple[tuple[str, Any], ...] = (
        ("bare_list", [dict(FIRST_KEY.jwk)]),
        ("bare_key", dict(FIRST_KEY.jwk)),
        ("by_kid", {"keys": {FIRST_KEY.kid: dict(FIRST_KEY.jwk)}}),
    )
    for name, document in shapes:
        fault = "the key is there, in a document that is no key set"
        yield draft_refusal("format/key_set_shape", name, token, fault, why, row, keys=document, pins=_STRICT)
    for name, other_value in (("null", None), ("text", "key"), ("number", 1)):
        document = {"keys": [dict(FIRST_KEY.jwk), other_value]}
        fault = "beside the key stands what is no key"
        yield draft_refusal("format/key_beside", name, token, fault, why, row, keys=document, pins=_STRICT)


def _with(**members: Any) -> dict[str, Any]:
    return {"keys": [{**FIRST_KEY.jwk, **members}]}


def _octets() -> Iterator[Draft]:
    token, row = receipt(), "GW-RCPT-29"
    why = "an Ed25519 key is 32 bytes in its member x (RFC 8037 section 2)"
    absent = {"keys": [without(FIRST_KEY.jwk, "x")]}
    for name, document in (("absent", absent), ("null", _with(x=None)), ("number", _with(x=1))):
        yield draft_refusal("format/key_x_absent", name, token, "the key has no x", why, row, keys=document)
    for name, raw in (("31_bytes", FIRST_KEY.raw[:-1]), ("33_bytes", FIRST_KEY.raw + b"\0"), ("empty", b"")):
        document = _with(x=encode_base64url(raw))
        yield draft_refusal("format/key_x_length", name, token, "x does not hold 32 bytes", why, row, keys=document)
    why = "x is base64url without padding, in its one spelling"
    x = FIRST_KEY.jwk["x"]
    spare = x[:-1] + chr(ord(x[-1]) + 1)
    spellings = (("padding", x + "="), ("spare_bits", spare), ("white_space", x[:20] + "\n" + x[20:]))
    for name, text in spellings:
        fault = "x holds the key's bytes in another spelling"
        keys = _with(x=text)
        yield draft_refusal("format/key_x_spelling", name, token, fault, why, row, keys=keys, pins=_STRICT)


def _types() -> Iterator[Draft]:
    token, row = receipt(), "GW-RCPT-18"
    why = "only OKP keys on Ed25519 sign receipts (RFC 8037)"
    strict = ("profile 2.4 step 3",)
    absent = {"keys": [without(FIRST_KEY.jwk, "kty")]}
    for name, document in (("absent", absent), ("ec", _with(kty="EC")), ("lower_case", _with(kty="okp"))):
        yield draft_refusal("algorithm/key_type", name, token, "kty is not OKP", why, row, keys=document, pins=strict)
    absent = {"keys": [without(FIRST_KEY.jwk, "crv")]}
    for name, document in (("absent", absent), ("x25519", _with(crv="X25519")), ("lower_case", _with(crv="ed25519"))):
        yield draft_refusal(
            "algorithm/key_curve", name, token, "crv is not Ed25519", why, row, keys=document, pins=strict
        )
    why = "the first key counts where no kid matches, even if it then fails"
    other_keys: dict[str, dict[str, Any]] = {
        "x25519": {"kty": "OKP", "crv": "X25519", "x": TWO.jwk["x"], "kid": "enc-1", "use": "enc"},
        "oct": {"kty": "oct", "k": "AAAA", "kid": "mac-1"},
    }
    for name, other_key in other_keys.items():
        document = {"keys": [other_key, dict(FIRST_KEY.jwk)]}
        token = receipt(kid="nobody")
        fault = "no kid matches, and the first key is of another kind"
        # RFC 7517 section 5 advises to leave such a key out: then the first that is left is another.
        yield draft_refusal("algorithm/first_key", name, token, fault, why, "GW-RCPT-11", keys=document, pins=_FIRST)
    fault = "the kid names a key of another kind, and a key of another kid signed"
    why = "a kid that matches never falls back"
    document = {"keys": [{**other_keys["x25519"], "kid": FIRST_KEY.kid}, {**FIRST_KEY.jwk, "kid": "key-2"}]}
    yield draft_refusal(
        "algorithm/named_key", "x25519", receipt(), fault, why, "GW-RCPT-13", keys=document, pins=_FIRST
    )
