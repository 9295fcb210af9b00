"""Payloads of ZK receipts whose proofs the suite made, and what an addon says of them."""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping
from typing import Any

import httpx

from conformance.oracles.range_proof.making import Forgery, commitment_text, proof_of, secret
from reference.protocol.range_proof import SYSTEM
from tests.reference.addons.conftest import ISSUER

LASTING = {"expires_at": "2127-01-01T00:00:00Z"}
PAYMENT = {
    "payment_id": "pay_1",
    "chain": "base_mainnet",
    "amount_microusd": 50_000,
    "recipient": "0x" + "ab" * 20,
    "tx_id": "0x" + "cd" * 32,
    "settled_at": "2026-06-01T12:00:00Z",
}


_MADE: dict[str, Mapping[str, Any]] = {}


def receipt_payload(score: int = 912, forgery: Forgery | None = None, **changes: Any) -> dict[str, Any]:
    """Return a payload whose proof the suite made: the same proof for the same arguments, made once."""
    seed = f"{score} {forgery} {changes}"
    if seed not in _MADE:
        _MADE[seed] = _make_proof(random.Random(seed), score, forgery, changes)
    return dict(_MADE[seed])


def _make_proof(
    rng: random.Random, score: int, forgery: Forgery | None, changes: Mapping[str, Any]
) -> Mapping[str, Any]:
    witness = secret(score, rng, forgery)
    payload = {
        "type": "zkp_receipt",
        "version": "1",
        **PAYMENT,
        "atb_cert_version": "2",
        "bench_issuer": ISSUER.did,
        "commitment_b64": commitment_text(witness),
        "threshold_milliunits": 700,
        "proof_system": SYSTEM,
        "issued_at": "2026-06-01T12:00:00Z",
        **LASTING,
        **changes,
    }
    return {**payload, "proof_b64": base64.b64encode(proof_of(payload, witness, rng, forgery)).decode()}


async def judge_receipt(client: httpx.AsyncClient, receipt: str) -> dict[str, Any]:
    """Return what an addon says of a receipt."""
    answer = await client.post("/v1/receipts/verify", json={"receipt": receipt})
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document
