"""ZK receipts as their issuer makes them, proofs drawn once and kept, and drafts of vectors."""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from conformance.oracles.credentials.envelope import open_envelope
from conformance.oracles.ed25519_keys import encode_base64url
from conformance.oracles.hash_recipes import jcs_bytes
from conformance.oracles.range_proof.making import Forgery, commitment_text, proof_of, secret
from conformance.oracles.range_proof.system import LAYOUT, NAME, Transcript
from tools.vectors_builder.drafting import Draft, draft_holding, draft_refusal
from tools.vectors_builder.falcon_envelopes.making import NOW, base64_text, encode_value
from tools.vectors_builder.falcon_envelopes.recordings import Entry, Recorded
from tools.vectors_builder.falcon_envelopes.signing import Signer

_FOLDER = Path(__file__).parent / "recorded"
SIGNER: Final = Signer(_FOLDER)
PROOFS: Final = Recorded(_FOLDER / "proofs.json", "Proofs hide their score by drawn numbers. These were made once.")
ADDON, BENCH = "addon", "bench"
DIDS: Final = {ADDON: "did:weldproof:zkp-receipt", BENCH: "did:web:bench.example"}
ROWS: Final = ("CP-ADDON-08",)
USUAL: Final = "usual"
HIGH, THRESHOLD, LOW = 912, 700, 3
# When the usual receipt ends, Unix seconds: thirty days after 2026-07-01T11:31:00Z.
END: Final = NOW - 29 * 60 + 30 * 86_400


def statement(**changes: Any) -> dict[str, Any]:
    """Return a receipt's payload but for commitment, threshold and proof; a change to None takes a member away."""
    payload = {
        "type": "zkp_receipt",
        "version": "1",
        "payment_id": "payment-20260701-0042",
        "chain": "algorand_mainnet",
        "amount_microusd": 50_000,
        "recipient": "7777777777777777777777777777777777777777777777777774MSJUVU",
        "tx_id": "HYDR6WZLPTKPGWM5ANQMNUBSCVZDJUNJ2ZQDKV5FGRWFQ3TJXQ7A",
        "settled_at": "2026-07-01T11:30:00Z",
        "atb_cert_version": "2",
        "bench_issuer": DIDS[BENCH],
        "proof_system": NAME,
        "issued_at": "2026-07-01T11:31:00Z",
        "expires_at": "2026-07-31T11:31:00Z",
    }
    return without(payload, changes)


def without(payload: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a payload with changes; those to None take a member away."""
    return {name: value for name, value in {**payload, **changes}.items() if value is not None}


def proven(
    name: str = USUAL,
    score: int = HIGH,
    threshold: int = THRESHOLD,
    *,
    forgery: Forgery | None = None,
    start_transcript: Callable[[Mapping[str, Any]], Transcript] = Transcript,
    **changes: Any,
) -> dict[str, Any]:
    """Return a payload with its commitment and proof, which were drawn once under a name and for this statement."""
    statement_members = {**statement(**changes), "threshold_milliunits": threshold}

    def draw() -> Entry:
        rng = random.SystemRandom()
        secret_numbers = secret(score, rng, forgery)
        payload = {**statement_members, "commitment_b64": commitment_text(secret_numbers)}
        proof = proof_of(payload, secret_numbers, rng, forgery, start_transcript)
        return {"commitment_b64": payload["commitment_b64"], "proof_b64": base64_text(proof)}

    entry = f"{name} {hashlib.sha256(jcs_bytes(statement_members)).hexdigest()[:16]}"
    return {**statement_members, **PROOFS.of(entry, draw)}


def proof_bytes(payload: Mapping[str, Any]) -> bytes:
    """Return the proof of a payload, as bytes."""
    return base64.b64decode(payload["proof_b64"])


def element(proof: bytes, name: str) -> bytes:
    """Return an element of a proof, 32 bytes."""
    at = 32 * LAYOUT.index(name)
    return proof[at : at + 32]


def place_elements(proof: bytes, **elements: bytes) -> bytes:
    """Return a proof with other elements."""
    for name, value in elements.items():
        at = 32 * LAYOUT.index(name)
        proof = proof[:at] + value + proof[at + 32 :]
    return proof


def receipt(payload: Mapping[str, Any], by: str = ADDON, **changes: Any) -> str:
    """Return a receipt's text, signed by `by` over the payload; changes of the envelope come after the signature."""
    signature = SIGNER.sign(by, jcs_bytes(payload))
    return encode_value(
        {"payload": payload, "alg": "Falcon-1024", "kid": SIGNER.kid(by), "sig": encode_base64url(signature), **changes}
    )


def trust_set(*names: str) -> dict[str, str]:
    """Return a trust set of issuers by name."""
    return {DIDS[name]: SIGNER.public_text(name) for name in names}


def build_input(text: str, trusted_keys: Mapping[str, str] | None, now: int) -> dict[str, Any]:
    """Return a vector's input."""
    return {"receipt": text, "keys": trust_set(ADDON) if trusted_keys is None else dict(trusted_keys), "now": now}


def holds(
    property_name: str,
    variant: str,
    text: str,
    why: str,
    *,
    trusted_keys: Mapping[str, str] | None = None,
    now: int = NOW,
    pins: tuple[str, ...] = (),
) -> Draft:
    """Return a draft of a receipt that holds: what it shows, its variant, its text, why it is worth having."""
    values = {"content_hash": open_envelope(text).content_hash}
    return draft_holding(
        property_name,
        variant,
        build_input(text, trusted_keys, now),
        why,
        ROWS,
        values=values,
        pins=("profile 8.4", *pins),
    )


def draft_refused_receipt(
    kind: str,
    variant: str,
    text: str,
    fault: str,
    why: str,
    *,
    code: str | None = None,
    trusted_keys: Mapping[str, str] | None = None,
    now: int = NOW,
    rows: tuple[str, ...] = ROWS,
    pins: tuple[str, ...] = (),
) -> Draft:
    """Return a draft of a receipt with one fault; the proof system is ours, so the profile alone decides it.

    Args:
        kind: Stage and fault.
        variant: The difference from others of its kind.
        text: The receipt.
        fault: The fault, in a sentence.
        why: Why it is worth having.
        code: Where a proof is refused.
        trusted_keys: The trust set.
        now: Unix seconds.
        rows: Rows of the ledger.
        pins: Further clauses.
    """
    vector_input = build_input(text, trusted_keys, now)
    codes = (code,) if code else ()
    return draft_refusal(kind, variant, vector_input, fault, why, rows, codes=codes, pins=("profile 8.4", *pins))
