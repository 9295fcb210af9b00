"""Texts that are not receipts or not compact JWS: segments, sizes, base64url."""

from __future__ import annotations

import json
from collections.abc import Iterator

from conformance.oracles.ed25519_keys import encode_base64url
from conformance.oracles.hash_recipes import jcs_bytes
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.receipts.material import (
    COMPLIANCE,
    FIRST_KEY,
    OFFLINE,
    PAYABLE,
    draft_refusal,
    header,
    receipt,
)
from tools.vectors_builder.receipts.valid import long_header, long_payload, sign_with_none

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_STRICT = ("profile 2.4 step 2",)
_PLACES = ("header", "payload", "signature")


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _envelopes()
    yield from _segments()
    yield from _sizes()
    yield from _characters()
    yield from _spellings()


def _envelopes() -> Iterator[Draft]:
    row, why = "GW-RCPT-28", "without a receipt there is nothing to verify"
    for name, token in (("absent", ...), ("null", None), ("empty", "")):
        yield draft_refusal("envelope/no_receipt", name, token, f"the receipt is {name}", why, row)
    head, body, tail = receipt().split(".")
    flattened_jws = {"payload": body, "protected": head, "signature": tail}
    general = {"payload": body, "signatures": [{"protected": head, "signature": tail}]}
    why = "a receipt is a text in compact serialisation, not a JSON value"
    for name, value in (("flattened", flattened_jws), ("general", general), ("array", [head, body, tail])):
        fault = "the receipt is a JSON value and no text"
        yield draft_refusal("envelope/no_text", name, value, fault, why, "GW-RCPT-23", doors=OFFLINE)


def _segments() -> Iterator[Draft]:
    head, body, tail = receipt().split(".")
    row, why = "GW-RCPT-23", "compact serialisation has exactly three segments (RFC 7515 section 7.1)"
    for name, text in (("one", head), ("two", f"{head}.{body}"), ("words", "this is no receipt")):
        yield draft_refusal("format/too_few_segments", name, text, "there are fewer than three segments", why, row)
    for name, text in (
        ("four", f"{head}.{body}.{tail}.{tail}"),
        ("five", f"{head}.{body}.{tail}.{body}.{tail}"),
        ("dot_after", f"{head}.{body}.{tail}."),
    ):
        yield draft_refusal("format/too_many_segments", name, text, "there are more than three segments", why, row)
    why = "a receipt carries its payload: neither detached nor empty"
    detached_token = f"{head}..{tail}"
    yield draft_refusal(
        "format/no_payload", "detached", detached_token, "the payload is left out of the text", why, row
    )
    empty = FIRST_KEY.sign_segments(head, "")
    yield draft_refusal("format/no_payload", "empty", empty, "the payload is empty, and truly signed so", why, row)
    why = "an empty segment is no part of a signed token"
    fault = "the header is empty, and the signature is over that"
    yield draft_refusal("format/empty_segment", "header", FIRST_KEY.sign_segments("", body), fault, why, row)
    fault = "the signature is empty"
    yield draft_refusal("format/empty_segment", "signature", f"{head}.{body}.", fault, why, row, "GW-RCPT-02")
    yield draft_refusal("format/empty_segment", "all", "..", "all three segments are empty", why, row)
    why = "an unsecured token proves nothing, however the name is spelled"
    for alg in ("none", "None", "NONE"):
        fault = "an unsecured token: its signature is empty"
        name = {"none": "lower_case", "None": "capital", "NONE": "upper_case"}[alg]
        yield draft_refusal("format/unsecured", name, sign_with_none(alg), fault, why, "GW-RCPT-16")
    flattened_jws = {"payload": body, "protected": head, "signature": tail}
    general = {"payload": body, "signatures": [{"protected": head, "signature": tail}]}
    with_header = {"payload": body, "header": header(), "signature": tail}
    why = "only compact serialisation is a receipt"
    for name, value in (("flattened", flattened_jws), ("general", general), ("unprotected", with_header)):
        fault = "the receipt is in JSON serialisation"
        yield draft_refusal("format/json_serialisation", name, json.dumps(value), fault, why, row)


def _sizes() -> Iterator[Draft]:
    why = "one character more than the most that is read, and right in all else"
    fault = "the receipt has 16,385 characters"
    for name, token in (("header", long_header(16_385, PAYABLE)), ("payload", long_payload(16_385)[0])):
        yield draft_refusal("format/too_long", name, token, fault, why, "GW-RCPT-23", pins=_STRICT)


def _characters() -> Iterator[Draft]:
    row, why = "GW-RCPT-24", "base64url knows 64 letters and no others (RFC 7515 section 2)"
    for number, place in enumerate(_PLACES):
        fault = f"a star stands within the {place}"
        yield draft_refusal("format/foreign_letter", place, _within(number, "*"), fault, why, row)
        fault = f"the {place} is written in the alphabet of plain base64"
        yield draft_refusal("format/plain_base64", place, _plain(number), fault, why, row, pins=_STRICT)
        fault = f"a line end stands within the {place}"
        yield draft_refusal("format/line_end", place, _within(number, "\n"), fault, why, row)
        fault = f"a letter beyond ASCII stands within the {place}"
        yield draft_refusal("format/beyond_ascii", place, _within(number, "é"), fault, why, row)
        fault = f"the {place} has a length that no bytes encode to"
        yield draft_refusal("format/impossible_length", place, _impossible(number), fault, why, row)
    why = "nothing stands around a receipt; whoever trims it accepts two texts for one"
    token = receipt()
    for name, text in (("space_before", f" {token}"), ("space_after", f"{token} "), ("line_end_after", f"{token}\n")):
        fault = f"a {name.replace('_', ' ')} the receipt"
        yield draft_refusal("format/around", name, text, fault, why, row, pins=_STRICT)


def _spellings() -> Iterator[Draft]:
    row = "GW-RCPT-24"
    for number, place in enumerate(_PLACES):
        why = "base64url in JOSE has no padding; signed over the padded text, so that nothing else is wrong"
        fault = f"the {place} is padded"
        yield draft_refusal("format/padding", place, _pad_segment(number), fault, why, row, pins=(*_STRICT, "P-RV-04"))
        why = "bits that encode nothing must be zero, or one receipt has several texts"
        fault = f"the last letter of the {place} has spare bits that are not zero"
        yield draft_refusal("format/spare_bits", place, _spare(number), fault, why, row, pins=_STRICT)


def _rebuilt(segments: list[str], number: int, text: str) -> str:
    """Return a token with a segment replaced, signed over what it then says unless that is the signature itself."""
    if number == 2:
        return f"{segments[0]}.{segments[1]}.{text}"
    new_segments = [*segments[:number], text, *segments[number + 1 :]]
    return FIRST_KEY.sign_segments(new_segments[0], new_segments[1])


def _within(number: int, letter: str) -> str:
    segments = receipt().split(".")
    text = segments[number]
    return _rebuilt(segments, number, text[:8] + letter + text[8:])


def _of_remainder(number: int, *remainders: int) -> list[str]:
    """Return a receipt's segments of which one has a length with a wanted remainder by four."""
    for count in range(4):
        pad = {"note": "n" * count}
        token = receipt(**{"x-pad": "p" * count}) if number == 0 else receipt({**COMPLIANCE, **pad})
        segments = token.split(".")
        if len(segments[number]) % 4 in remainders:
            return segments
    raise ValueError("no such length")


def _pad_segment(number: int) -> str:
    segments = _of_remainder(number, 2, 3)
    return _rebuilt(segments, number, segments[number] + "=" * (-len(segments[number]) % 4))


def _spare(number: int) -> str:
    segments = _of_remainder(number, 2, 3)
    text = segments[number]
    spare = {2: 15, 3: 3}[len(text) % 4]
    return _rebuilt(segments, number, text[:-1] + _ALPHABET[_ALPHABET.index(text[-1]) | spare])


def _impossible(number: int) -> str:
    if number == 2:
        return receipt()[:-1]
    segments = _of_remainder(number, 0)
    return _rebuilt(segments, number, segments[number] + "A")


def _plain(number: int) -> str:
    """Return a receipt whose segment has one of the two letters, spelled as plain base64 spells it."""
    for count in range(200):
        # Letters of six and seven bits set make the two letters that the alphabets differ in.
        members = {"x-pad": "~?" * count}
        claims = {**COMPLIANCE, "note": "~?" * count}
        segments = receipt(**members).split(".") if number == 0 else receipt(claims).split(".")
        if set(segments[number]) & set("-_"):
            return _rebuilt(segments, number, segments[number].replace("-", "+").replace("_", "/"))
    raise ValueError("no such letters")


def raw_header(text: str | bytes) -> str:
    """Return a receipt whose protected header is any bytes, truly signed."""
    data = text if isinstance(text, bytes) else text.encode()
    return FIRST_KEY.sign_segments(encode_base64url(data), encode_base64url(jcs_bytes(dict(COMPLIANCE))))
