"""Credentials and tokens as their issuers make them, the envelopes they come in, and drafts of vectors."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from conformance.oracles.credentials.envelope import open_envelope
from conformance.oracles.ed25519_keys import encode_base64url
from conformance.oracles.hash_recipes import jcs_bytes
from tools.vectors_builder.drafting import Draft, draft_holding, draft_refusal
from tools.vectors_builder.falcon_envelopes.signing import Signer

SIGNER: Final = Signer(Path(__file__).parent / "recorded")
# 2026-07-01T12:00:00Z.
NOW: Final = 1_782_907_200
BENCH, REGISTRY, VALIDATOR, STRANGER = "bench", "registry", "validator", "stranger"
DIDS: Final = {
    BENCH: "did:web:bench.example",
    REGISTRY: "did:web:registry.example",
    VALIDATOR: "did:weldproof:federation-validator",
    STRANGER: "did:web:stranger.example",
}
CREDENTIAL, TOKEN = "credential", "federation_token"
CERTIFICATE_ROWS: Final = ("CP-TRUST-07", "CP-ADDON-08")
ROWS: Final = ("CP-ADDON-08",)


def certificate(**changes: Any) -> dict[str, Any]:
    """Return an ATB certificate's payload; a change to None takes a member away."""
    payload = {
        "atb_cert_version": "2",
        "bench_issuer": DIDS[BENCH],
        "bench_kid": SIGNER.kid(BENCH),
        "score": 0.912,
        "passed": True,
        "methodology_version": "atb-core-v2.1",
        "issued_at": "2026-06-01T12:00:00Z",
        "expires_at": "2026-08-01T12:00:00Z",
        "tasks_run": 480,
    }
    return _change_members(payload, changes)


def passport(**changes: Any) -> dict[str, Any]:
    """Return an agent passport's payload; a change to None takes a member away."""
    payload = {
        "passport_id": "passport-7731",
        "agent_did": "did:web:agent.example",
        "issuer_did": DIDS[REGISTRY],
        "scopes": ["pay", "quote"],
        "spend_limit_microusd": 1_000_000,
        "spend_window": "daily",
        "issued_at": "2026-06-01T12:00:00Z",
        "expires_at": "2026-08-01T12:00:00Z",
    }
    return _change_members(payload, changes)


def token(**changes: Any) -> dict[str, Any]:
    """Return a federation token's payload, issued a minute ago; `audience` may be None, which is its own value."""
    return {
        "type": TOKEN,
        "version": "1",
        "issuer_did": DIDS[VALIDATOR],
        "subject_dids": ["did:web:agent.example"],
        "audience": "https://rail.example",
        "credential_hashes": ["sha256:5f0c7c3d9c0e8a3f6f6a4a1f2f1f3b6a8f7f0f8d6c0b7e0f3f3a1a2b4c5d6e7f"],
        "issued_at": "2026-07-01T11:59:00Z",
        "expires_at": "2026-07-01T12:04:00Z",
        "jti": "0b9f3c1e-6f6c-4f0b-9a55-2f0d0c7a9c11",
        **changes,
    }


def _change_members(payload: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**payload, **changes}.items() if value is not None}


def signer_of(payload: Mapping[str, Any]) -> str:
    """Return who signs a payload: the issuer that it names."""
    did = payload.get("bench_issuer", payload.get("issuer_did"))
    return next((name for name, known in DIDS.items() if known == did), BENCH)


def members(payload: Mapping[str, Any], by: str | None = None, **changes: Any) -> dict[str, Any]:
    """Return an envelope's members, signed by `by`; changes come after the signature."""
    signer = by or signer_of(payload)
    signature = SIGNER.sign(signer, jcs_bytes(payload))
    return {
        "payload": payload,
        "alg": "Falcon-1024",
        "kid": SIGNER.kid(signer),
        "sig": encode_base64url(signature),
        **changes,
    }


def envelope(payload: Mapping[str, Any], by: str | None = None, **changes: Any) -> str:
    """Return an envelope as a text; see `members`."""
    return encode_value(members(payload, by, **changes))


def encode_value(value: Any) -> str:
    """Return a JSON value as an envelope's text is written."""
    return encode_base64url(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def base64_text(data: bytes) -> str:
    """Return standard base64 with padding."""
    return base64.b64encode(data).decode()


def nest_lists(levels: int) -> list[Any]:
    """Return a list of lists, so many levels deep."""
    outer_list: list[Any] = []
    for _ in range(levels - 1):
        outer_list = [outer_list]
    return outer_list


def trust_set(*names: str) -> dict[str, str]:
    """Return a trust set of issuers by name."""
    return {DIDS[name]: SIGNER.public_text(name) for name in names}


def build_input(text: str, trusted_keys: Mapping[str, str] | None, expect: str, **more_members: Any) -> dict[str, Any]:
    """Return a vector's input; without a trust set, that of who issues what is expected."""
    usual = {CREDENTIAL: (BENCH,), TOKEN: (VALIDATOR,)}[expect]
    keys = trust_set(*usual) if trusted_keys is None else dict(trusted_keys)
    return {"envelope": text, "keys": keys, "now": NOW, "expect": expect, **more_members}


def holds(
    property_name: str,
    variant: str,
    text: str,
    why: str,
    *,
    trusted_keys: Mapping[str, str] | None = None,
    expect: str = CREDENTIAL,
    pins: tuple[str, ...] = (),
    **more_members: Any,
) -> Draft:
    """Return a draft of an envelope that holds.

    Args:
        property_name: What it shows.
        variant: The difference from others that show it.
        text: The envelope.
        why: Why it is worth having.
        trusted_keys: The trust set.
        expect: What is expected to be in it.
        pins: Clauses by which alone it holds; none where the standards say so.
        more_members: Further members of the input.
    """
    opened_envelope = open_envelope(text)
    kind = (
        TOKEN
        if expect == TOKEN
        else "agent_passport"
        if "passport_id" in opened_envelope.payload
        else "atb_certificate"
    )
    rows = CERTIFICATE_ROWS if kind == "atb_certificate" else ROWS
    values = {"type": kind, "content_hash": opened_envelope.content_hash}
    return draft_holding(
        property_name,
        variant,
        build_input(text, trusted_keys, expect, **more_members),
        why,
        rows,
        values=values,
        pins=pins,
    )


def draft_refused_envelope(
    kind: str,
    variant: str,
    text: str,
    fault: str,
    why: str,
    *,
    trusted_keys: Mapping[str, str] | None = None,
    expect: str = CREDENTIAL,
    rows: tuple[str, ...] | None = None,
    pins: tuple[str, ...] = (),
    **more_members: Any,
) -> Draft:
    """Return a draft of an envelope with one fault.

    Args:
        kind: Stage and fault, as in `sig_invalid/salt`.
        variant: The difference from others of its kind.
        text: The envelope.
        fault: The fault, in a sentence.
        why: Why it is worth having.
        trusted_keys: The trust set.
        expect: What is expected to be in it.
        rows: Rows of the ledger, where they are not those of what is expected.
        pins: Clauses by which alone it is refused; none where Falcon, JSON or base64 refuse it.
        more_members: Further members of the input.
    """
    usual = CERTIFICATE_ROWS if expect == CREDENTIAL else ROWS
    vector_input = build_input(text, trusted_keys, expect, **more_members)
    return draft_refusal(kind, variant, vector_input, fault, why, rows or usual, pins=pins)
