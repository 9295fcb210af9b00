"""What the vectors of receipts are made of: keys, receipts that are right, and drafts in one line."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from conformance.oracles import receipt_bindings
from conformance.oracles.forging import Signer
from conformance.oracles.hash_recipes import jcs_bytes, sha256_hex
from tools.vectors_builder.drafting import VALID, Draft, seed

FAMILY: Final = "receipts"
HOSTED_DOORS: Final = ("hosted", "offline")
OFFLINE: Final = ("offline",)
CODES: Final = {
    "envelope": "MISSING_ENVELOPE",
    "format": "INVALID_JWS_FORMAT",
    "algorithm": "UNSUPPORTED_ALG",
    "signature": "TAMPERED_SIGNATURE",
    "payload": "INVALID_PAYLOAD",
    "canon_version": "UNSUPPORTED_CANON_VERSION",
    "canonical": "NON_CANONICAL_PAYLOAD",
    "fields": "MISSING_FIELD",
    "values": "INVALID_PAYLOAD",
    "payment_hash": "PAYMENT_HASH_MISMATCH",
}


def signer(name: str) -> Signer:
    """Return a key that is always the same for a name; its `kid` is that of P-KY-02."""
    seed_bytes = seed(FAMILY, name)
    return Signer(seed_bytes, hashlib.sha256(Signer(seed_bytes, "").raw).hexdigest()[:32])


FIRST_KEY: Final = signer("issuer")
TWO: Final = signer("second key of the issuer")
THREE: Final = signer("third key of the issuer")
STRANGER: Final = signer("stranger")

REQUEST: Final[Mapping[str, Any]] = {
    "method": "POST",
    "path": "/pay/v1/verify/receipt",
    "query": "",
    "service_id": "receipt-verify",
    "body": {"jws": "a.b.c"},
}
RESPONSE: Final[Mapping[str, Any]] = {"result": {"verified": True, "error_code": None}}
SETTLEMENT: Final[Mapping[str, Any]] = {"tx_id": "0x" + "1" * 64, "network": "base_mainnet", "service": "weldproof"}
REFERENCE: Final = "1767225600:0011223344556677:810b7a167fcae78f8f725677312b195896cc6782690363a2edebdc2642bf33b5"
PAYER: Final[Mapping[str, Any]] = {"address": "0x000000000000000000000000000000000000b10c", "network": "base_mainnet"}
SETTLED_REF: Final = str(receipt_bindings.settled_payment_ref("0x" + "1" * 64, "base_mainnet", "weldproof"))
OTHER_HASH: Final = "sha256:" + "dd" * 32

COMPLIANCE: Final[Mapping[str, Any]] = {
    "payer_ref": receipt_bindings.payer_ref(PAYER["address"], PAYER["network"]),
    "screen_result": "ALLOW",
    "screen_timestamp_ms": 1_767_225_600_000,
    "screen_provider_did": "did:web:gateway.example",
    "jurisdiction_flags": ["UK", "EU"],
    "canon_version": "jcs-rfc8785-v1",
}
PAID_COMPLIANCE: Final[Mapping[str, Any]] = {**COMPLIANCE, "payment_hash": SETTLED_REF}
PAYABLE: Final[Mapping[str, Any]] = {
    "kind": "weldproof/payable-svc-receipt/1",
    "canon_version": "jcs-rfc8785-v1",
    "iss": "did:web:rail.example",
    "provider_did": "did:web:rail.example",
    "iat": 1_767_225_601,
    "issued_at_ms": 1_767_225_601_000,
    "service_id": "receipt-verify",
    "request_hash": receipt_bindings.request_hash(REQUEST, "receipt-verify"),
    "response_hash": receipt_bindings.response_hash(RESPONSE),
    "settled_payment_ref": SETTLED_REF,
    "payment_reference_hash": receipt_bindings.payment_reference_hash(REFERENCE),
    "network": "eip155:8453",
    "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    "pay_to": "0x1111111111111111111111111111111111111111",
    "amount_microunits": "10000",
}
ATTESTATION: Final[Mapping[str, Any]] = {
    "canon_version": "jcs-rfc8785-v1",
    "jurisdiction_flags": ["UK", "EU"],
    "settled_payment_ref": SETTLED_REF,
    "settlement_amount": {"amount_minor": "10000", "asset_id": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"},
    "settlement_chain": "base_mainnet",
    "settlement_provider_did": "did:web:rail.example",
    "settlement_result": "SETTLED",
    "settlement_timestamp_ms": 1_767_225_601_000,
}
KINDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "compliance": COMPLIANCE,
    "payable": PAYABLE,
    "attestation": ATTESTATION,
}
_TOLD_KINDS: Final = {"attestation": "settlement_attestation"}


def header(by: Signer = FIRST_KEY, /, **members: Any) -> dict[str, Any]:
    """Return the protected header of profile 2.2, with other members where they are given."""
    return {"alg": "EdDSA", "kid": by.kid, "typ": "JWT", **members}


def without(members: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return members without some."""
    return {name: member for name, member in members.items() if name not in names}


def jwks(*signers: Signer) -> dict[str, Any]:
    """Return a JWKS document; of the issuer's first key, where none is named."""
    return {"keys": [dict(one.jwk) for one in signers or (FIRST_KEY,)]}


def receipt(claims: Mapping[str, Any] = COMPLIANCE, by: Signer = FIRST_KEY, /, **members: Any) -> str:
    """Return a receipt over the JCS form of claims; header members may be given."""
    return by.sign(header(by, **members), jcs_bytes(dict(claims)))


def over(payload: bytes, by: Signer = FIRST_KEY) -> str:
    """Return a receipt over bytes as they are."""
    return by.sign(header(by), payload)


def valid(
    property_name: str,
    variant: str,
    token: str,
    why: str,
    *rows: str,
    keys: Any = None,
    kind: str = "compliance",
    payload: bytes | None = None,
    claims: Mapping[str, Any] | None = None,
    pins: tuple[str, ...] = (),
    doors: tuple[str, ...] = HOSTED_DOORS,
    **draft_members: Any,
) -> Draft:
    """Return a vector that holds.

    Args:
        property_name: What it shows; with the variant its name.
        variant: The difference from others.
        token: The receipt.
        why: Why it is worth having.
        rows: Requirements; GW-RCPT-06 where none is named.
        keys: The key set; that of the issuer's first key where none is given.
        kind: The receipt's kind.
        payload: Its payload; else the JCS form of `claims`, else of the kind's example.
        claims: Its claims.
        pins: What the verdict rests on beyond interface and standards.
        doors: Where it can be sent.
        draft_members: Further members of the input.
    """
    body = jcs_bytes(dict(claims or KINDS[kind])) if payload is None else payload
    return Draft(
        stage=VALID,
        fault_name=property_name,
        variant=variant,
        input={"jws": token, "jwks": jwks() if keys is None else keys, **draft_members},
        why=why,
        requirements=rows or ("GW-RCPT-06",),
        values={"receipt_kind": _TOLD_KINDS.get(kind, kind), "content_hash": sha256_hex(body)},
        pinned_members=("valid", "values") if pins else ("values",),
        pins=pins,
        doors=doors,
    )


def draft_refusal(
    name: str,
    variant: str,
    token: Any,
    fault: str,
    why: str,
    *rows: str,
    keys: Any = None,
    pins: tuple[str, ...] = (),
    codes: tuple[str, ...] = (),
    values: Mapping[str, Any] | None = None,
    doors: tuple[str, ...] = HOSTED_DOORS,
    **draft_members: Any,
) -> Draft:
    """Return a vector with one fault.

    Args:
        name: Stage and fault, with a stroke between.
        variant: The difference from others of its kind.
        token: What stands for the receipt; an Ellipsis for nothing at all.
        fault: The one fault in a sentence.
        why: Why it is worth having.
        rows: Requirements.
        keys: The key set; that of the issuer's first key where none is given.
        pins: What the refusal itself, not only its stage, rests on beyond interface and standards.
        codes: Codes where they are not the stage's.
        values: Values that a verifier can report nevertheless.
        doors: Where it can be sent.
        draft_members: Further members of the input.
    """
    stage, _, fault_name = name.partition("/")
    jws_member = {} if token is ... else {"jws": token}
    return Draft(
        stage=stage,
        fault_name=fault_name,
        variant=variant,
        input={**jws_member, "jwks": jwks() if keys is None else keys, **draft_members},
        why=why,
        requirements=rows,
        fault=fault,
        codes=codes or (CODES[stage],),
        values=dict(values or {}),
        pinned_members=(*(("valid",) if pins else ()), "stage", "codes", *(("values",) if values else ())),
        pins=pins,
        doors=doors,
    )
