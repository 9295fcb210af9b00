"""Contents that are not what their Content-Digest says, and digests that say nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import Any, Final

from conformance.oracles.message_signatures.digests import digest_value
from conformance.oracles.message_signatures.faults import Code
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.message_signatures.drafting import (
    BODY,
    draft_refusal,
    get,
    post,
    sign,
    with_body,
    with_headers,
)

_COVER: Final = '"@method" "@path" "content-digest"'
_ROW: Final = "AGENT-VERIFY-10"


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _absent()
    yield from _malformed_drafts()
    yield from _unsupported_drafts()
    yield from _changed_drafts()
    yield from _wrong()


def _bad(kind: str, variant: str, value: str | list[str], code: Code, fault: str, why: str, **more: Any) -> Draft:
    """Return a vector whose Content-Digest is truly signed as it stands."""
    message = sign(with_headers(post(), content_digest=value), _COVER)
    return draft_refusal(f"digest/{kind}", variant, message, code, fault, why, **more)


def _absent() -> Iterator[Draft]:
    why = "a signature over fields alone leaves the content to anybody (RFC 9421 7.2.8)"
    pins = ("profile 6.2 require_content_digest",)
    bare = sign(with_headers(post(), "content-digest"), '"@method" "@path"')
    code = Code.CONTENT_DIGEST_MISSING
    yield draft_refusal("digest/missing", "post", bare, code, "content without a Content-Digest", why, pins=pins)
    wrong = with_headers(post(), "content-digest", repr_digest=digest_value(BODY))
    message = sign(wrong, '"@method" "@path" "repr-digest"')
    fault = "a covered Repr-Digest stands in for Content-Digest"
    yield draft_refusal("digest/missing", "repr-digest", message, code, fault, why, pins=pins)
    old = base64.b64encode(hashlib.sha256(BODY).digest()).decode()
    message = sign(with_headers(post(), "content-digest", digest=f"SHA-256={old}"), '"@method" "digest"')
    fault = "the Digest field of RFC 3230 stands in for Content-Digest"
    yield draft_refusal("digest/missing", "digest-of-rfc-3230", message, code, fault, why, pins=pins)
    code = Code.CONTENT_DIGEST_NOT_COVERED
    fault = "Content-Digest is there and not covered"
    for variant, cover in (("one-left-out", '"@method" "@path"'), ("all-but-it", '"date" "content-type" "@method"')):
        yield draft_refusal("digest/not-covered", variant, sign(post(), cover), code, fault, why, pins=pins)
    for variant, name, value, fault in (
        ("begins-alike", "content", "x", "the covered field Content stands in for Content-Digest"),
        ("ends-alike", "x-content-digest", digest_value(BODY), "a covered X-Content-Digest stands in for it"),
        ("goes-on", "content-digest-note", "x", "the covered field Content-Digest-Note stands in for Content-Digest"),
    ):
        message = sign(with_headers(post(), **{name: value}), f'"@method" "@path" "{name}"')
        yield draft_refusal("digest/another-covered", variant, message, code, fault, why, pins=pins)


def _malformed_drafts() -> Iterator[Draft]:
    code = Code.CONTENT_DIGEST_MALFORMED
    why = "Content-Digest is a dictionary of byte sequences (RFC 9530 2)"
    text = digest_value(BODY)
    inner = text.removeprefix("sha-256=")
    for kind, variant, value, fault in (
        ("no-dictionary", "old-form", text.replace(":", ""), "base64 without colons"),
        ("no-dictionary", "no-algorithm", inner, "a byte sequence without an algorithm"),
        ("no-dictionary", "upper-case", text.replace("sha", "SHA"), "the algorithm is in upper case"),
        ("cut-off", "behind-first-colon", "sha-256=:", "the field ends behind its first colon"),
        ("cut-off", "before-second-colon", text[:-1], "the second colon is missing"),
        ("value-not-bytes", "string", f'sha-256="{inner.strip(":")}"', "the digest is a String"),
        ("value-not-bytes", "hex", f"sha-256=a{hashlib.sha256(BODY).hexdigest()}", "the digest is a Token"),
        ("value-not-bytes", "list", f"sha-256=({inner})", "the digest is a list"),
    ):
        yield _bad(f"{kind}", variant, value, code, fault, why, pins=("profile 6.3 content_digest_malformed",))
    pins = ("P-AG-06 canonical base64",)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = inner[-3]
    spare = f"sha-256={inner[:-3]}{letters[letters.index(last) ^ 1]}=:"
    for variant, value, fault in (
        ("no-padding", text.replace("=:", ":"), "the base64 has no padding"),
        ("spare-bits", spare, "the last letter's spare bits are not zero"),
    ):
        yield _bad("another-spelling", variant, value, code, fault, "one digest, one text", pins=pins)
    pins = ("decision 0005: no repeated key",)
    other_digest = digest_value(b"other")
    for variant, lines in (("wrong-first", [other_digest, text]), ("wrong-last", [text, other_digest])):
        fault = "the field gives one algorithm twice"
        yield _bad("repeated-algorithm", variant, lines, code, fault, "what comes twice is ambiguous", pins=pins)


def _unsupported_drafts() -> Iterator[Draft]:
    why = "a digest that nobody computes shows nothing (RFC 9530 5: the rest of the registry is legacy)"
    pins = ("P-AG-06",)
    sha1, md5 = (base64.b64encode(hashlib.new(name, BODY).digest()).decode() for name in ("sha1", "md5"))
    for variant, value in (("sha", f"sha=:{sha1}:"), ("md5", f"md5=:{md5}:"), ("both", f"md5=:{md5}:, sha=:{sha1}:")):
        fault = "the field has no algorithm that is still in use"
        yield _bad("unsupported", variant, value, Code.CONTENT_DIGEST_UNSUPPORTED, fault, why, pins=pins)


def _changed_drafts() -> Iterator[Draft]:
    code = Code.CONTENT_DIGEST_MISMATCH
    why = "the signature holds: only comparing the digest shows the change"
    for algorithm in ("sha-256", "sha-512"):
        message = sign(with_headers(post(), content_digest=digest_value(BODY, algorithm)), _COVER)
        for variant, body, fault in (
            ("one-digit", BODY.replace(b"2}", b"3}"), "one digit of the content is another"),
            ("line-feed", BODY + b"\n", "a line feed was added to the content"),
            ("written-anew", BODY.replace(b",", b", "), "the same JSON in another spelling"),
        ):
            changed_message = with_body(message, body)
            yield draft_refusal(f"digest/content-changed-{algorithm}", variant, changed_message, code, fault, why, _ROW)
    message = sign(post(), _COVER)
    for variant, body, fault in (
        ("emptied", b"", "the content was taken away"),
        ("cut", BODY[:-1], "the content's last byte is missing"),
        ("replaced", b'{"item":7,"quantity":2000}', "another content"),
    ):
        yield draft_refusal("digest/content-replaced", variant, with_body(message, body), code, fault, why, _ROW)
    empty = sign(with_headers(get(), content_digest=digest_value(b"")), _COVER)
    with_content = with_body(empty, b"x")
    fault = "content was added to a message without any"
    yield draft_refusal("digest/content-added", "one-byte", with_content, code, fault, why, _ROW)


def _wrong() -> Iterator[Draft]:
    code = Code.CONTENT_DIGEST_MISMATCH
    why = "a digest that is signed is not therefore the content's"
    good, long = digest_value(BODY), digest_value(BODY, "sha-512")
    bad, bad_long = digest_value(b"other"), digest_value(b"other", "sha-512")
    for variant, value, fault in (
        ("sha-512", f"{good}, {bad_long}", "sha-256 matches, sha-512 does not"),
        ("sha-256", f"{bad}, {long}", "sha-512 matches, sha-256 does not"),
        ("beside-unknown", f"unixsum=:AAA=:, {bad}", "the only known digest does not match"),
    ):
        yield _bad("one-of-several", variant, value, code, fault, "every known digest must match", pins=("P-AG-06",))
    raw = hashlib.sha256(BODY).digest()
    for variant, digest, fault in (
        ("of-another-content", hashlib.sha256(b"other").digest(), "the digest is another content's"),
        ("hex-inside", raw.hex().encode(), "the byte sequence holds the hex text of the digest"),
        ("of-the-base64", hashlib.sha256(base64.b64encode(BODY)).digest(), "the digest is of the content's base64"),
    ):
        value = f"sha-256=:{base64.b64encode(digest).decode()}:"
        yield _bad("wrong", variant, value, code, fault, why)
    swapped_digest = f"sha-512=:{base64.b64encode(raw).decode()}:"
    yield _bad("wrong-algorithm", "sha-256-as-sha-512", swapped_digest, code, "a sha-256 is called sha-512", why)
    cut = f"sha-256=:{base64.b64encode(raw[:16]).decode()}:"
    yield _bad("wrong-algorithm", "half-a-digest", cut, code, "the first half of the digest", why)
    loose = {"require_content_digest": False}
    pins = ("profile 6.2 require_content_digest",)
    message = with_body(sign(post(), _COVER), b"other")
    fault = "a covered digest does not match, though none is required"
    yield draft_refusal("digest/not-required", "covered", message, code, fault, why, policy=loose, pins=pins)
    message = with_body(sign(post(), '"@method" "@path"'), b"other")
    fault = "an uncovered digest does not match, though none is required"
    yield draft_refusal("digest/not-required", "uncovered", message, code, fault, why, policy=loose, pins=pins)
