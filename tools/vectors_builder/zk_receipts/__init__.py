"""Vectors of ZK receipts: a score shown to reach a threshold, and what must not pass for that (profile 8.4)."""

from __future__ import annotations

from typing import Final

from conformance.vectors.judges.zk_receipts import judge
from tools.vectors_builder.family import Family
from tools.vectors_builder.zk_receipts import elements, envelopes, equations, valid
from tools.vectors_builder.zk_receipts.known_differences import DIFFERENCES
from tools.vectors_builder.zk_receipts.second_opinion import complaints

FAMILY: Final = Family(
    name="zk_receipts",
    prefix="zk",
    title="ZK receipts: bulletproofs-ed25519/1 in an envelope signed with Falcon-1024",
    input={
        "receipt": "the text: base64url of JSON with payload, alg, kid and sig",
        "keys": "the trust set: keys of 1793 bytes in base64 by DID, as GET /v1/issuer-pks has them; kid alone chooses",
        "now": "Unix seconds at which it must hold; clocks may differ by 60 seconds",
    },
    stages=(
        "envelope_decode",
        "envelope_shape",
        "unsupported_alg",
        "no_public_key",
        "timestamp_parse",
        "sig_invalid",
        "expired",
        "unknown_proof_system",
        "proof_invalid",
    ),
    files={
        "valid.json": (valid.drafts,),
        "envelopes.json": (envelopes.drafts,),
        "elements.json": (elements.drafts,),
        "equations.json": (equations.drafts,),
    },
    judge=judge,
    second=complaints,
    differences=DIFFERENCES,
)
