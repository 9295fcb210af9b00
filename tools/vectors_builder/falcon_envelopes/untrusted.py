"""Envelopes with a wrong algorithm, issuer or key, with malformed or lapsed times, or that miss a requested value."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import Any

from conformance.oracles.credentials.judging import kid_of
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.falcon_envelopes.making import (
    BENCH,
    DIDS,
    REGISTRY,
    SIGNER,
    STRANGER,
    TOKEN,
    base64_text,
    certificate,
    draft_refused_envelope,
    envelope,
    passport,
    token,
    trust_set,
)

_KEY = ("P-KY-09",)


def key_drafts() -> Iterator[Draft]:
    """Yield those that are refused before the signature is looked at."""
    yield from _algorithms()
    yield from _issuers()
    yield from _keys()
    yield from _kids()
    yield from _times()


def time_drafts() -> Iterator[Draft]:
    """Yield those whose signature holds, and that are refused all the same."""
    yield from _expired_drafts()
    yield from _wishes()


def _algorithms() -> Iterator[Draft]:
    why = (
        "The trust set holds Falcon-1024 keys only, so only that can be verified; a name is compared letter by letter."
    )
    for variant, alg in (("ml_dsa_65", "ML-DSA-65"), ("falcon_512", "Falcon-512"), ("none", "none")):
        fault = f"The envelope names the algorithm {alg}."
        yield draft_refused_envelope("unsupported_alg/another", variant, envelope(certificate(), alg=alg), fault, why)
    for variant, alg in (("small_letters", "falcon-1024"), ("padded", "Falcon-padded-1024"), ("fips", "FN-DSA-1024")):
        fault = f"The envelope names the algorithm {alg}, and the signature is of Falcon-1024."
        text_of_envelope = envelope(certificate(), alg=alg)
        yield draft_refused_envelope(
            "unsupported_alg/spelling", variant, text_of_envelope, fault, why, pins=("P-AD-06",)
        )


def _issuers() -> Iterator[Draft]:
    why = "Who asks for one issuer is not answered with another, however trusted."
    fault = "The issuer is trusted, and another one was expected."
    both_issuers = trust_set(BENCH, REGISTRY)
    texts: dict[str, dict[str, Any]] = {
        "certificate": {
            "text": envelope(certificate()),
            "trusted_keys": both_issuers,
            "expected_issuer": DIDS[REGISTRY],
        },
        "passport": {"text": envelope(passport()), "trusted_keys": both_issuers, "expected_issuer": DIDS[BENCH]},
        "token": {"text": envelope(token()), "expect": TOKEN, "expected_issuer": "did:other:federation-validator"},
    }
    for variant, text_of_envelope in texts.items():
        text = text_of_envelope.pop("text")
        yield draft_refused_envelope(
            "wrong_issuer/another", variant, text, fault, why, pins=("profile 8.2",), **text_of_envelope
        )
    yield draft_refused_envelope(
        "wrong_issuer/spelling",
        "capitals",
        envelope(certificate()),
        "The issuer's DID was asked for in other letters.",
        "A DID is compared letter by letter.",
        pins=("profile 8.2",),
        expected_issuer=DIDS[BENCH].replace("bench", "Bench"),
    )


def _keys() -> Iterator[Draft]:
    rows = ("CP-ADDON-07", "CP-ISSUER-11")
    text = envelope(certificate())
    unknown = {
        "empty_set": ({}, "The trust set is empty."),
        "another_issuer": (trust_set(REGISTRY), "The trust set holds another issuer."),
        "key_of_another_did": (
            {DIDS[STRANGER]: SIGNER.public_text(BENCH)},
            "The key that signed stands in the trust set under another DID.",
        ),
    }
    for variant, (trusted_keys, fault) in unknown.items():
        why = "A credential's issuer chooses the key; a revoked issuer is an unknown one."
        yield draft_refused_envelope(
            "no_public_key/unknown", variant, text, fault, why, trusted_keys=trusted_keys, rows=rows
        )
    fault = "The validator's key is not in the trust set."
    why = "A token is verified as a credential is."
    yield draft_refused_envelope(
        "no_public_key/unknown_validator",
        "token",
        envelope(token()),
        fault,
        why,
        trusted_keys=trust_set(BENCH),
        expect=TOKEN,
        rows=rows,
    )
    yield from _no_keys(SIGNER.public(BENCH))


def _no_keys(key: bytes) -> Iterator[Draft]:
    raw = {
        "key_length/one_byte_short": (key[:-1], "The issuer's key is 1792 bytes."),
        "key_length/one_byte_long": (key + b"\0", "The issuer's key is 1794 bytes."),
        "key_length/of_degree_512": (b"\x09" + key[1:897], "The issuer's key is 897 bytes, as one of Falcon-512."),
        "key_header/of_degree_512": (b"\x09" + key[1:], "The issuer's key begins with 0x09."),
        "key_header/of_a_signature": (b"\x3a" + key[1:], "The issuer's key begins with 0x3a, as a signature does."),
    }
    for name, (data, fault) in raw.items():
        kind, variant = name.split("/")
        kid = kid_of(data)
        yield draft_refused_envelope(
            f"no_public_key/{kind}",
            variant,
            envelope(certificate(bench_kid=kid), kid=kid),
            fault,
            "What is no Falcon-1024 key is no key of the issuer's: 1793 bytes, the first 0x0a.",
            trusted_keys={DIDS[BENCH]: base64_text(data)},
            rows=("CP-TRUST-04",),
        )
    spelt = base64.urlsafe_b64encode(key).decode()
    yield draft_refused_envelope(
        "no_public_key/key_text",
        "base64url",
        envelope(certificate()),
        "The issuer's key stands in the trust set in base64url.",
        "Keys are in standard base64 there; a letter that is left out moves all the others.",
        trusted_keys={DIDS[BENCH]: spelt},
        rows=("CP-TRUST-02",),
        pins=("P-CV-06",),
    )


def _kids() -> Iterator[Draft]:
    why = "The kid tells which of an issuer's keys has signed; where it is another's, there is a mistake or a swap."
    theirs, ours = SIGNER.kid(STRANGER), SIGNER.kid(BENCH)
    payload = certificate()
    pins = ("P-KY-09",)
    wrong = {
        "another_key": (theirs, "The envelope's kid is that of another key."),
        "capitals": (ours.upper(), "The envelope's kid is in capital letters."),
        "whole_hash": (
            _whole_hash(BENCH),
            "The envelope's kid is the whole hash of the key and not its first 16 digits.",
        ),
    }
    for variant, (kid, fault) in wrong.items():
        yield draft_refused_envelope(
            "kid_mismatch/envelope", variant, envelope(payload, kid=kid), fault, why, pins=pins
        )
    yield draft_refused_envelope(
        "kid_mismatch/bench_kid",
        "another_key",
        envelope(certificate(bench_kid=theirs)),
        "The certificate names another key than the one that has signed it.",
        "bench_kid is signed, the envelope's kid is not: they must be one.",
        pins=pins,
    )
    kid = SIGNER.kid(STRANGER)
    text = envelope(token(), kid=kid)
    fault = "The token's kid is that of another key."
    yield draft_refused_envelope("kid_mismatch/token", "another_key", text, fault, why, expect=TOKEN, pins=pins)


def _whole_hash(name: str) -> str:
    return hashlib.sha256(SIGNER.public(name)).hexdigest()


def _times() -> Iterator[Draft]:
    why = "What cannot be read cannot be compared: a time that is none must not count as one that never comes."
    pins = ("P-CV-04",)
    ends = {
        "no_zone": ("2026-08-01T12:00:00", "The expiry has no zone."),
        "no_such_day": ("2026-06-31T12:00:00Z", "The expiry is on the 31st of June."),
        "unix_seconds": ("1785585600", "The expiry is a number of seconds, as a text."),
    }
    for variant, (end, fault) in ends.items():
        text = envelope(certificate(expires_at=end))
        yield draft_refused_envelope("timestamp_parse/expires_at", variant, text, fault, why, pins=pins)
    starts = {
        "day_only": ("2026-06-01", "The time of issue is a day."),
        "a_word": ("yesterday", "The time of issue is a word."),
    }
    for variant, (start, fault) in starts.items():
        text, trusted_keys = envelope(passport(issued_at=start)), trust_set(REGISTRY)
        why = "Both times are read, also the one that nothing is compared with."
        yield draft_refused_envelope(
            "timestamp_parse/issued_at", variant, text, fault, why, trusted_keys=trusted_keys, pins=pins
        )


def _expired_drafts() -> Iterator[Draft]:
    skew = ("P-CV-09",)
    fault = "It ended 61 seconds ago, and clocks may differ by 60."
    why = "The first second beyond the skew."
    text = envelope(certificate(expires_at="2026-07-01T11:58:59Z"))
    yield draft_refused_envelope("expired/beyond_the_skew", "certificate", text, fault, why, pins=skew)
    text = envelope(token(issued_at="2026-07-01T11:53:59Z", expires_at="2026-07-01T11:58:59Z"))
    yield draft_refused_envelope("expired/beyond_the_skew", "token", text, fault, why, expect=TOKEN, pins=skew)
    text, trusted_keys = envelope(passport(expires_at="2026-07-01T11:58:59Z")), trust_set(REGISTRY)
    yield draft_refused_envelope(
        "expired/beyond_the_skew", "passport", text, fault, why, trusted_keys=trusted_keys, pins=skew
    )
    text = envelope(certificate(issued_at="2024-06-01T12:00:00Z", expires_at="2024-08-01T12:00:00Z"))
    yield draft_refused_envelope("expired/long_ago", "certificate", text, "It ended two years ago.", "Over is over.")


def _wishes() -> Iterator[Draft]:
    pins = ("profile 8.2",)
    text = envelope(certificate())
    fault = "The score is 0.912 and 0.913 was asked for."
    yield draft_refused_envelope(
        "score_too_low/certificate", "just", text, fault, "Whole, active, and too low.", min_score=0.913
    )
    yield draft_refused_envelope(
        "score_too_low/no_score",
        "passport",
        envelope(passport()),
        "A passport has no score, and one was asked for.",
        "What has no score reaches none.",
        trusted_keys=trust_set(REGISTRY),
        min_score=0,
        pins=pins,
    )
    text = envelope(certificate(passed=False))
    fault = "The score is high enough, and the certificate says that it was not passed."
    why = "Whoever asks for a score asks for a passed one."
    yield draft_refused_envelope("not_passed/certificate", "high_score", text, fault, why, min_score=0.5, pins=pins)
    audiences = {
        "another": (token(), "https://other.example", "The token is for somebody else."),
        "nobody": (token(audience=None), "https://rail.example", "The token is for nobody in particular."),
        "a_slash_more": (token(), "https://rail.example/", "The token is for the same address without its last slash."),
    }
    for variant, (payload, audience, fault) in audiences.items():
        why = "A token that somebody else was given must not be of use here."
        text_of_envelope = envelope(payload)
        pins = ("profile 8.3",)
        yield draft_refused_envelope(
            "wrong_audience/asked", variant, text_of_envelope, fault, why, expect=TOKEN, audience=audience, pins=pins
        )
