"""Payloads with proofs, made by the reference from a seed."""

from __future__ import annotations

import base64
import random
from typing import Any

from reference.protocol import range_proof
from reference.protocol.range_proof import NONCE_BYTES, Nonces, Opening, Statement, commit, prove
from reference.protocol.range_proof.proof import ELEMENTS

PAYMENT = {
    "payment_id": "pay_1",
    "chain": "algorand_mainnet",
    "amount_microusd": 50_000,
    "recipient": "7777777777777777777777777777777777777777777777777774MSJUVU",
    "tx_id": "A" * 52,
    "settled_at": "2026-06-01T12:00:00Z",
    "bench_issuer": "did:web:bench.example",
}


def proven(score: int, threshold: int, rng: random.Random) -> tuple[dict[str, Any], bytes]:
    """Return a payload without its proof, and the proof."""
    nonces = Nonces.of(rng.randbytes(NONCE_BYTES))
    commitment = base64.b64encode(commit(Opening(score, nonces.blinding))).decode()
    payload = {**PAYMENT, "commitment_b64": commitment, "threshold_milliunits": threshold}
    return payload, prove(Statement.of(payload), score, nonces)


def find_refusal(payload: dict[str, Any], proof: bytes, verifier: Any = range_proof) -> str | None:
    """Return stage and element of a proof's refusal, None of one that holds; `verifier` is the package that checks."""
    try:
        verifier.check(verifier.Statement.of(payload), proof)
    except verifier.ProofInvalid as fault:
        return str(fault)
    return None


def place_element(proof: bytes, name: str, element: bytes) -> bytes:
    """Return a proof with another element at a name's place."""
    at = ELEMENTS.index(name) * 32
    return proof[:at] + element + proof[at + 32 :]


def element_of(proof: bytes, name: str) -> bytes:
    """Return the element of a name."""
    at = ELEMENTS.index(name) * 32
    return proof[at : at + 32]
