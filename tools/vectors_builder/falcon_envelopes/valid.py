"""Envelopes that hold: each kind of payload, and each freedom that a writer of JSON and a signer have."""

from __future__ import annotations

import json
from collections.abc import Iterator

from conformance.oracles.ed25519_keys import encode_base64url
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.falcon_envelopes.making import (
    BENCH,
    DIDS,
    REGISTRY,
    STRANGER,
    TOKEN,
    VALIDATOR,
    certificate,
    encode_value,
    envelope,
    holds,
    members,
    nest_lists,
    passport,
    token,
    trust_set,
)


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _payloads()
    yield from _tokens()
    yield from _writers_freedom()
    yield from _number_drafts()
    yield from _questions()


def _payloads() -> Iterator[Draft]:
    yield holds("certificate", "plain", envelope(certificate()), "The whole thing, as a bench issues it.")
    yield holds(
        "certificate",
        "failed",
        envelope(certificate(score=0.2, passed=False)),
        "A certificate of an agent that did not pass is a certificate all the same, where nobody asks for a score.",
    )
    yield holds(
        "certificate",
        "further_members",
        envelope(certificate(counters={"refused": [1, 2, 3]}, agent_did="did:web:agent.example")),
        "Counters and other members are free, and covered by the signature like all the rest.",
    )
    registry = trust_set(REGISTRY)
    yield holds("passport", "plain", envelope(passport()), "An agent's passport.", trusted_keys=registry)
    yield holds(
        "passport",
        "no_scopes",
        envelope(passport(scopes=[], spend_limit_microusd=0)),
        "An empty list and a limit of nothing are a list and a limit.",
        trusted_keys=registry,
    )
    yield holds(
        "passport",
        "highest_limit",
        envelope(passport(spend_limit_microusd=2**53 - 1)),
        "The largest integer that JCS takes is covered digit for digit.",
        trusted_keys=registry,
    )


def _tokens() -> Iterator[Draft]:
    yield holds("token", "plain", envelope(token()), "A federation token.", expect=TOKEN)
    yield holds(
        "token",
        "for_nobody",
        envelope(token(audience=None)),
        "A token for no audience in particular says null, which is covered too.",
        expect=TOKEN,
    )
    yield holds(
        "token",
        "for_who_asks",
        envelope(token()),
        "Whoever it is for may ask whether it is.",
        expect=TOKEN,
        audience="https://rail.example",
    )


def _writers_freedom() -> Iterator[Draft]:
    """What is signed is the payload's JCS: how the envelope writes it is free."""
    envelope_members = members(certificate())
    backwards = dict(reversed(list(envelope_members["payload"].items())))
    yield holds(
        "canonical_form",
        "members_in_another_order",
        encode_value({**envelope_members, "payload": backwards}),
        "The signature covers JCS of the payload, so the order in which the envelope has its members is free.",
    )
    yield holds(
        "canonical_form",
        "spaces_and_lines",
        encode_base64url(json.dumps(envelope_members, indent=2).encode()),
        "White space between the members is not in what is signed.",
    )
    text = json.dumps(envelope_members).replace('"atb-core-v2.1"', '"\\u0061tb-core-v2.1"')
    yield holds(
        "canonical_form",
        "escaped_letter",
        encode_base64url(text.encode()),
        "A letter written as its escape is the same letter: who hashes the text that was sent is refuted.",
    )


def _number_drafts() -> Iterator[Draft]:
    """Numbers, names and depth, in which two readers of JSON differ."""
    yield holds(
        "number_form",
        "trailing_zero",
        encode_base64url(json.dumps(members(certificate())).replace("0.912", "0.9120").encode()),
        "A number is its value: 0.9120 is signed as 0.912.",
    )
    yield holds(
        "number_form",
        "exponent",
        encode_base64url(json.dumps(members(certificate())).replace("0.912", "912e-3").encode()),
        "912e-3 is signed as 0.912.",
    )
    yield holds(
        "number_form",
        "whole_as_fraction",
        encode_base64url(json.dumps(members(certificate(score=1))).replace('"score": 1,', '"score": 1.0,').encode()),
        "A score of 1.0 is signed as 1.",
    )
    yield holds(
        "names",
        "beyond_the_basic_plane",
        envelope(certificate(**{"\U0001f511": "key", "\ufb33": "dalet", "\u00f6": "o"})),
        "Names are sorted by their UTF-16 units: a surrogate comes before U+FB33, though its letter comes after it.",
    )
    yield holds(
        "depth",
        "thirty_two",
        envelope(certificate(counters=nest_lists(30))),
        "As deep as JSON may be.",
    )
    yield holds(
        "envelope_members",
        "further_one",
        envelope(certificate(), note="unsigned"),
        "A member beside the four is nobody's word, and no fault.",
        pins=("P-AD-06",),
    )


def _questions() -> Iterator[Draft]:
    yield holds(
        "expiry",
        "at_the_skew",
        envelope(certificate(expires_at="2026-07-01T11:59:00Z")),
        "It ended a minute ago, and clocks may differ by a minute.",
        pins=("P-CV-09",),
    )
    yield holds(
        "expiry",
        "this_second",
        envelope(certificate(expires_at="2026-07-01T12:00:00Z")),
        "It ends now.",
    )
    yield holds(
        "min_score",
        "reached_exactly",
        envelope(certificate()),
        "0.912 reaches 0.912.",
        min_score=0.912,
        pins=("profile 8.2",),
    )
    yield holds(
        "expected_issuer",
        "the_one",
        envelope(passport()),
        "Whose word it must be may be asked.",
        trusted_keys=trust_set(BENCH, REGISTRY),
        expected_issuer=DIDS[REGISTRY],
    )
    yield holds(
        "trust_set",
        "among_others",
        envelope(certificate()),
        "The issuer's DID chooses the key, wherever in the trust set it stands.",
        trusted_keys=trust_set(STRANGER, REGISTRY, BENCH, VALIDATOR),
    )
