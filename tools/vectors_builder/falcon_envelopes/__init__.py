"""Vectors of credentials and federation tokens: the family's envelope with its Falcon-1024 signature (profile 8)."""

from __future__ import annotations

from typing import Final

from conformance.vectors.judges.falcon_envelopes import judge
from tools.vectors_builder.falcon_envelopes import bad_signatures, edges, unreadable, untrusted, valid
from tools.vectors_builder.falcon_envelopes.known_differences import DIFFERENCES
from tools.vectors_builder.falcon_envelopes.second_opinion import complaints
from tools.vectors_builder.family import Family

FAMILY: Final = Family(
    name="falcon_envelopes",
    prefix="falcon",
    title="Credentials and federation tokens signed with Falcon-1024",
    input={
        "envelope": "the text: base64url of JSON with payload, alg, kid and sig",
        "keys": "the trust set: keys of 1793 bytes in base64 by DID, as GET /v1/issuer-pks has them",
        "now": "Unix seconds at which it must hold; clocks may differ by 60 seconds",
        "expect": "what must be in it: credential (an ATB certificate or an agent passport) or federation_token",
        "expected_issuer": "DID whose word it must be; left out, anybody's who is trusted",
        "min_score": "score that a certificate must reach, having passed; left out, none",
        "audience": "whom a token must be for; left out, nobody in particular",
    },
    stages=(
        "envelope_decode",
        "envelope_shape",
        "unsupported_alg",
        "wrong_issuer",
        "no_public_key",
        "kid_mismatch",
        "timestamp_parse",
        "sig_invalid",
        "expired",
        "score_too_low",
        "not_passed",
        "wrong_audience",
    ),
    files={
        "valid.json": (valid.drafts, edges.valid_drafts),
        "unreadable.json": (unreadable.decode_drafts, unreadable.shape_drafts),
        "untrusted.json": (untrusted.key_drafts, untrusted.time_drafts),
        "signatures.json": (bad_signatures.drafts, edges.refused_drafts),
    },
    judge=judge,
    second=complaints,
    differences=DIFFERENCES,
)
