"""Malformed protected headers, or headers that demand an unknown extension; each token is truly signed."""

from __future__ import annotations

import json
from collections.abc import Iterator

from conformance.oracles.ed25519_keys import encode_base64url
from conformance.oracles.hash_recipes import jcs_bytes
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.receipts.material import COMPLIANCE, FIRST_KEY, TWO, draft_refusal, header, jwks, receipt

_STRICT = ("profile 2.4 step 2",)
_BODY = encode_base64url(jcs_bytes(dict(COMPLIANCE)))


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _no_objects()
    yield from _lenient()
    yield from _duplicates()
    yield from _types()
    yield from _critical()
    yield from _unencoded_drafts()


def under(text: str | bytes) -> str:
    """Return a receipt whose protected header is any bytes, truly signed."""
    data = text if isinstance(text, bytes) else text.encode()
    return FIRST_KEY.sign_segments(encode_base64url(data), _BODY)


def _text() -> str:
    return json.dumps(header(), separators=(",", ":"))


def _no_objects() -> Iterator[Draft]:
    row, why = "GW-RCPT-23", "a protected header is a JSON object (RFC 7515 section 4)"
    for name, text in (("array", f"[{_text()}]"), ("text", '"EdDSA"'), ("null", "null")):
        yield draft_refusal(
            "format/header_no_object", name, under(text), f"the header is JSON, and no object: {name}", why, row
        )
    for name, data in (
        ("words", b"alg=EdDSA"),
        ("cut", _text()[:-1].encode()),
        ("no_utf8", _text().replace("JWT", "J\xff").encode("latin-1")),
    ):
        yield draft_refusal("format/header_no_json", name, under(data), "the header is not JSON in UTF-8", why, row)


def _lenient() -> Iterator[Draft]:
    row = "GW-RCPT-23"
    why = "RFC 8259 lets a parser read more than JSON; a signed header is read one way only"
    pins = (*_STRICT, "P-CV-02")
    with_byte_order_mark = b"\xef\xbb\xbf" + _text().encode()
    yield draft_refusal(
        "format/header_not_strict",
        "bom",
        under(with_byte_order_mark),
        "a byte order mark begins the header",
        why,
        row,
        pins=pins,
    )
    nan = _text()[:-1] + ',"x-more":NaN}'
    yield draft_refusal(
        "format/header_not_strict", "nan", under(nan), "a member of the header is NaN", why, row, pins=pins
    )
    comma = _text()[:-1] + ",}"
    yield draft_refusal(
        "format/header_not_strict",
        "comma",
        under(comma),
        "a comma stands after the header's last member",
        why,
        row,
        pins=pins,
    )
    after = _text() + "{}"
    yield draft_refusal(
        "format/header_and_more", "object", under(after), "another object stands after the header", why, row
    )
    deep = _text()[:-1] + ',"x-more":' + "[" * 32 + "]" * 32 + "}"
    fault = "the header nests 33 levels deep"
    yield draft_refusal("format/header_depth", "33", under(deep), fault, "32 levels are the most", row, pins=pins)


def _duplicates() -> Iterator[Draft]:
    why = "two readers that take another of two members verify two different things"
    text = _text()
    for name, more in (
        ("alg_first_none", text.replace("{", '{"alg":"none",', 1)),
        ("kid_twice", text[:-1] + f',"kid":"{FIRST_KEY.kid}"}}'),
        ("unknown_twice", text[:-1] + ',"x-more":1,"x-more":1}'),
    ):
        fault = "the header names a member twice"
        yield draft_refusal("format/header_member_twice", name, under(more), fault, why, "GW-RCPT-04", pins=_STRICT)


def _types() -> Iterator[Draft]:
    why = "alg is a text (RFC 7515 section 4.1.1)"
    for name, value in (("number", 1), ("null", None), ("array", ["EdDSA"])):
        yield draft_refusal("format/alg_no_text", name, receipt(alg=value), "alg is no text", why, "GW-RCPT-18")
    why = "kid is a text (RFC 7515 section 4.1.4)"
    for name, value in (("number", 1), ("null", None), ("array", [FIRST_KEY.kid])):
        yield draft_refusal(
            "format/kid_no_text", name, receipt(kid=value), "kid is no text", why, "GW-RCPT-09", pins=_STRICT
        )


def _critical() -> Iterator[Draft]:
    row = "GW-RCPT-26"
    why = "what is critical and not understood refuses the token (RFC 7515 section 4.1.11)"
    fault = "crit names a parameter that nobody here understands"
    unknown = {"urn:example:expires": 1}
    for name, token in (
        ("urn", receipt(crit=list(unknown), **unknown)),
        ("short_name", receipt(crit=["lvl"], lvl=3)),
        ("beside_a_known_one", receipt(crit=["b64", *unknown], b64=True, **unknown)),
    ):
        yield draft_refusal("format/crit_unknown", name, token, fault, why, row)
    why = "no parameter at all is understood as critical"
    for name, token in (
        ("b64_true", receipt(crit=["b64"], b64=True)),
        ("exp", receipt(crit=["exp"], exp=4_102_444_800)),
        ("alg", receipt(crit=["alg"])),
    ):
        fault = "crit names a parameter that somebody might know"
        yield draft_refusal("format/crit_known", name, token, fault, why, row, pins=_STRICT)
    why = "crit is a list of names that stand in the header (RFC 7515 section 4.1.11)"
    for name, token in (
        ("empty", receipt(crit=[])),
        ("null", receipt(crit=None)),
        ("text", receipt(crit="exp", exp=4_102_444_800)),
    ):
        yield draft_refusal("format/crit_form", name, token, "crit is no list of names", why, row, pins=_STRICT)
    token = receipt(crit=["urn:example:expires"])
    fault = "crit names a parameter that the header has not"
    yield draft_refusal("format/crit_of_nothing", "absent", token, fault, why, row)
    token = receipt(COMPLIANCE, TWO, crit=["urn:example:expires"], **{"urn:example:expires": 1})
    why = "with another key it is as critical"
    fault = "crit names a parameter that nobody here understands"
    yield draft_refusal(
        "format/crit_under_another_key", "second_of_two", token, fault, why, row, keys=jwks(FIRST_KEY, TWO)
    )


def _unencoded_drafts() -> Iterator[Draft]:
    row = "GW-RCPT-26"
    why = "a payload that is not base64url is no receipt (RFC 7797)"
    fault = "b64 is false: the payload is meant to be signed as it stands"
    for name, token in (("false", receipt(b64=False)), ("false_and_critical", receipt(b64=False, crit=["b64"]))):
        yield draft_refusal("format/b64", name, token, fault, why, row, pins=_STRICT)
    token, fault = receipt(b64="true"), "b64 is a text and not true"
    yield draft_refusal("format/b64", "text", token, fault, "only true changes nothing", row, pins=_STRICT)
