"""Texts that are not envelopes, and envelopes with a wrong payload."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from conformance.oracles.ed25519_keys import encode_base64url
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.falcon_envelopes.making import (
    BENCH,
    DIDS,
    REGISTRY,
    TOKEN,
    VALIDATOR,
    certificate,
    draft_refused_envelope,
    encode_value,
    envelope,
    members,
    nest_lists,
    passport,
    token,
    trust_set,
)

_STRICT = ("P-CV-02",)
_SPELLING = ("P-CV-06",)
_FORM = ("P-AD-06",)


def decode_drafts() -> Iterator[Draft]:
    """Yield texts that are not base64url of JSON."""
    yield from _spellings()
    yield from _no_json()
    yield from _lenient_json()


def shape_drafts() -> Iterator[Draft]:
    """Yield JSON that is not an envelope, and empty payloads."""
    yield from _no_envelope()
    yield from _no_canonical_form()
    yield from _no_payload()
    yield from _no_token()
    yield from _confusions()


def _text_of(count: int) -> str:
    """Return an envelope whose text is so many letters more than a multiple of four."""
    for number in range(4):
        text = encode_value({**members(certificate()), "x": "." * number})
        if len(text) % 4 == count:
            return text
    raise AssertionError("no such length among four")


def _spellings() -> Iterator[Draft]:
    why = "One envelope has one text; who keeps texts to tell what was seen must not be shown a second one."
    two = _text_of(2)
    spelt = {
        "padding/needed": (two + "==", "The text has the padding that base64 would have."),
        "padding/beyond": (_text_of(0) + "==", "Padding follows a text that needs none."),
        "alphabet/line_break": (two[:76] + "\n" + two[76:], "A line break stands in the text."),
        "alphabet/full_stop": (two[:76] + "." + two[76:], "A full stop stands in the text, as in a JWS."),
        "spare_bits/last_letter": (_with_spare_bits(two), "The last letter has spare bits that are not zero."),
    }
    for name, (text, fault) in spelt.items():
        kind, variant = name.split("/")
        yield draft_refused_envelope(f"envelope_decode/{kind}", variant, text, fault, why, pins=_SPELLING)
    data = base64.urlsafe_b64decode(two + "==")
    fault = "The text is one letter longer than a multiple of four."
    yield draft_refused_envelope(
        "envelope_decode/length", "one_letter_more", _text_of(0) + "A", fault, "No bytes have such a text."
    )
    yield draft_refused_envelope(
        "envelope_decode/length", "nothing", "", "The text is empty.", "No text is no envelope."
    )
    fault = "The text is the JSON itself, not its base64url."
    yield draft_refused_envelope(
        "envelope_decode/plain", "json", data.decode(), fault, "Braces are not of the alphabet."
    )


def _with_spare_bits(text: str) -> str:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return text[:-1] + alphabet[alphabet.index(text[-1]) + 1]


def _no_json() -> Iterator[Draft]:
    whole = json.dumps(members(certificate())).encode()
    broken_texts = {
        "cut_off": (whole[:-1], "The last brace is missing."),
        "two_values": (whole + b"{}", "Another object follows."),
        "not_utf8": (whole.replace(b"atb-core", b"atb-c\xf6re"), "A letter is coded in Latin-1."),
    }
    for variant, (data, fault) in broken_texts.items():
        yield draft_refused_envelope(
            "envelope_decode/json", variant, encode_base64url(data), fault, "JSON is one value in UTF-8."
        )


def _lenient_json() -> Iterator[Draft]:
    members_of_certificate = members(certificate())
    text = json.dumps(members_of_certificate)
    why = "Two readers take two different members: what one verifies is not what the other shows."
    twice = {
        "in_the_envelope": text[:-1] + f', "kid": "{members_of_certificate["kid"]}"}}',
        "in_the_payload": text.replace('"score": 0.912', '"score": 0.999, "score": 0.912'),
        "of_the_payload": '{"payload": {"passport_id": "x"}, ' + text[1:],
    }
    faults = {
        "in_the_envelope": "The envelope has the member kid twice.",
        "in_the_payload": "The payload has the member score twice.",
        "of_the_payload": "The envelope has the member payload twice.",
    }
    for variant, changed_text in twice.items():
        envelope_text = encode_base64url(changed_text.encode())
        yield draft_refused_envelope(
            "envelope_decode/duplicate", variant, envelope_text, faults[variant], why, pins=_STRICT
        )
    for variant, literal in (("nan", "NaN"), ("infinity", "Infinity")):
        yield draft_refused_envelope(
            "envelope_decode/literal",
            variant,
            encode_base64url(text.replace('"score": 0.912', f'"score": {literal}').encode()),
            f"The score is the literal {literal}.",
            "Languages know it, JSON does not.",
        )
    yield draft_refused_envelope(
        "envelope_decode/byte_order_mark",
        "utf8",
        encode_base64url(b"\xef\xbb\xbf" + text.encode()),
        "The JSON begins with a byte order mark.",
        "JSON is sent without one, and some readers take it for a letter.",
        pins=_STRICT,
    )
    yield draft_refused_envelope(
        "envelope_decode/depth",
        "thirty_three",
        envelope(certificate(counters=nest_lists(31))),
        "The JSON is nested 33 levels deep.",
        "A reader of one's own has a limit of its stack; the profile has one that is the same everywhere.",
        pins=_STRICT,
    )


def _no_envelope() -> Iterator[Draft]:
    members_of_certificate = members(certificate())
    why = "An envelope is an object of payload, alg, kid and sig."
    for variant, value in (("list", [members_of_certificate]), ("text", "envelope"), ("null", None)):
        fault = f"The JSON is a {variant} and no object." if value else "The JSON is null and no object."
        yield draft_refused_envelope("envelope_shape/no_object", variant, encode_value(value), fault, why, pins=_FORM)
    for name in ("payload", "kid", "sig"):
        text = encode_value({member: value for member, value in members_of_certificate.items() if member != name})
        yield draft_refused_envelope(
            "envelope_shape/member_missing", name, text, f"The member {name} is missing.", why, pins=_FORM
        )
    types: dict[str, tuple[str, Any]] = {
        "payload_as_text": ("payload", json.dumps(members_of_certificate["payload"])),
        "alg_null": ("alg", None),
        "kid_number": ("kid", 7),
    }
    for variant, (name, value) in types.items():
        fault = f"The member {name} has a value of another type."
        yield draft_refused_envelope(
            "envelope_shape/member_type",
            variant,
            encode_value({**members_of_certificate, name: value}),
            fault,
            why,
            pins=_FORM,
        )
    sig = members_of_certificate["sig"]
    signatures = {
        "padded": (sig + "=", "has padding"),
        "standard_alphabet": (sig.replace("-", "+").replace("_", "/"), "is in the other alphabet"),
        "line_break": (sig[:76] + "\n" + sig[76:], "has a line break"),
    }
    for variant, (text, fault) in signatures.items():
        yield draft_refused_envelope(
            "envelope_shape/signature_text",
            variant,
            encode_value({**members_of_certificate, "sig": text}),
            f"The signature's text {fault}.",
            "A second text for the same bytes is a second envelope for the same credential.",
            pins=_SPELLING,
        )


def _no_canonical_form() -> Iterator[Draft]:
    certificate_text = json.dumps(members(certificate()))
    values = {
        "integer_beyond_exact": (
            "9007199254740992",
            "The payload has the integer 2^53, beyond what is exact everywhere.",
        ),
        "number_beyond_binary64": ("1e400", "The payload has a number that no binary64 holds."),
        "lone_surrogate": ('"\\ud800"', "The payload has half a surrogate pair."),
    }
    for variant, (literal, fault) in values.items():
        yield draft_refused_envelope(
            "envelope_shape/no_canonical_form",
            variant,
            encode_base64url(certificate_text.replace('"tasks_run": 480', f'"tasks_run": {literal}').encode()),
            fault,
            "RFC 8785 has no form for it, so there is nothing that a signature could cover.",
            pins=("P-CV-20",),
        )


def _no_payload() -> Iterator[Draft]:
    why = "The signature holds, and what is signed is no certificate."
    certificates = {
        "payload_member/issuer_missing": (certificate(bench_issuer=None), "The certificate names no issuer."),
        "payload_member/expiry_missing": (certificate(expires_at=None), "The certificate has no expires_at."),
        "payload_member/passed_as_text": (certificate(passed="true"), "Whether it was passed is said by a text."),
        "score_range/above_one": (certificate(score=1.001), "The score is more than one."),
        "score_range/below_zero": (certificate(score=-0.001), "The score is less than zero."),
        "score_range/true": (certificate(score=True), "The score is true, which some languages take for one."),
        "methodology/no_version": (certificate(methodology_version="atb-core"), "The methodology has no version."),
        "methodology/a_word_after": (certificate(methodology_version="atb-core-v2.1-beta"), "Its version goes on."),
        "no_kind/neither": (certificate(atb_cert_version=None), "Nothing tells that the payload is a certificate."),
        "two_kinds/both": ({**passport(), **certificate()}, "The payload is a certificate and a passport at once."),
    }
    for name, (payload, fault) in certificates.items():
        kind, variant = name.split("/")
        text = envelope(payload, BENCH)
        yield draft_refused_envelope(
            f"envelope_shape/{kind}", variant, text, fault, why, pins=("P-AD-08",) if kind == "two_kinds" else _FORM
        )
    passports = {
        "scopes_as_text": (passport(scopes="pay"), "The scopes are one text."),
        "limit_below_zero": (passport(spend_limit_microusd=-1), "The limit is less than nothing."),
        "limit_as_text": (passport(spend_limit_microusd="1000000"), "The limit is a text."),
    }
    for variant, (payload, fault) in passports.items():
        why = "The signature holds, and what is signed is no passport."
        text, trusted_keys = envelope(payload), trust_set(REGISTRY)
        yield draft_refused_envelope(
            "envelope_shape/passport_member", variant, text, fault, why, trusted_keys=trusted_keys, pins=_FORM
        )


def _no_token() -> Iterator[Draft]:
    tokens = {
        "version": (token(version="2"), "The token is of version 2."),
        "hash_in_capitals": (
            token(credential_hashes=["sha256:" + "AB" * 32]),
            "A hash reference of the token has capital letters.",
        ),
        "jti_is_no_uuid": (token(jti="token-1"), "The token's jti is no UUID."),
    }
    for variant, (payload, fault) in tokens.items():
        why = "The signature holds, and what is signed is no token."
        text = envelope(payload)
        yield draft_refused_envelope(
            "envelope_shape/token_member", variant, text, fault, why, expect=TOKEN, pins=("profile 8.3",)
        )


def _confusions() -> Iterator[Draft]:
    """Everything is signed by whom it names; only what it is, is not what is expected."""
    pins = ("P-AD-08",)
    why = "Somebody trusted has signed it, for another purpose: the type is looked at before anything else."
    as_credential = {
        "token": (envelope(token()), trust_set(VALIDATOR), "A federation token is shown as a credential."),
        "certificate_with_a_type": (
            envelope(certificate(type="atb_certificate")),
            trust_set(BENCH),
            "A certificate has a member type; it even says the right thing.",
        ),
        "token_with_a_certificates_members": (
            envelope({**certificate(), **token(bench_issuer=DIDS[BENCH])}, BENCH),
            trust_set(BENCH, VALIDATOR),
            "A federation token has all that a certificate has.",
        ),
    }
    for variant, (text, trusted_keys, fault) in as_credential.items():
        yield draft_refused_envelope(
            "envelope_shape/type_as_credential", variant, text, fault, why, trusted_keys=trusted_keys, pins=pins
        )
    as_token = {
        "no_type": (token(), "A token has everything but its type."),
        "zk_receipt": (token(), "A token says that it is a ZK receipt."),
        "type_in_capitals": (token(type="FEDERATION_TOKEN"), "The token's type is written in capitals."),
    }
    as_token["no_type"][0].pop("type")
    as_token["zk_receipt"][0]["type"] = "zkp_receipt"
    for variant, (payload, fault) in as_token.items():
        text = envelope(payload, VALIDATOR)
        yield draft_refused_envelope("envelope_shape/type_as_token", variant, text, fault, why, expect=TOKEN, pins=pins)
    payload = passport(issuer_did=DIDS[VALIDATOR])
    yield draft_refused_envelope(
        "envelope_shape/credential_as_token",
        "passport",
        envelope(payload, VALIDATOR),
        "A passport that the validator itself has signed is shown as its token.",
        why,
        expect=TOKEN,
        pins=pins,
    )
