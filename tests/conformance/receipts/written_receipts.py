"""Unsigned receipts for tests of comparing, since comparing verifies nothing."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from conformance.oracles.hash_recipes import jcs_bytes
from conformance.receipts.offline.parsing import Receipt, parse_receipt

HASHES = {name: f"sha256:{digit * 64}" for name, digit in (("request", "1"), ("response", "2"), ("paid", "3"))}
PAYABLE: Mapping[str, Any] = {
    "kind": "weldproof/payable-svc-receipt/1",
    "canon_version": "jcs-rfc8785-v1",
    "iss": "did:web:localhost%3A8402",
    "provider_did": "did:web:localhost%3A8402",
    "iat": 1_790_000_000,
    "issued_at_ms": 1_790_000_000_123,
    "service_id": "receipt-verify",
    "request_hash": HASHES["request"],
    "response_hash": HASHES["response"],
    "settled_payment_ref": HASHES["paid"],
    "payment_reference_hash": "sha256:" + "4" * 64,
    "network": "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k",
    "asset": "31566704",
    "pay_to": "A" * 58,
    "amount_microunits": "10000",
}
COMPLIANCE: Mapping[str, Any] = {
    "canon_version": "jcs-rfc8785-v1",
    "payer_ref": "sha256:" + "a" * 64,
    "screen_result": "ALLOW",
    "screen_timestamp_ms": 1_790_000_000_123,
    "screen_provider_did": "did:web:localhost%3A8401",
    "jurisdiction_flags": ["UK", "EU"],
    "payment_hash": HASHES["paid"],
}
ATTESTATION: Mapping[str, Any] = {
    "canon_version": "jcs-rfc8785-v1",
    "jurisdiction_flags": ["UK", "EU"],
    "settled_payment_ref": HASHES["paid"],
    "settlement_amount": {"amount_minor": "10000", "asset_id": "31566704"},
    "settlement_chain": "algorand_mainnet",
    "settlement_provider_did": "did:web:localhost%3A8402",
    "settlement_result": "SETTLED",
    "settlement_timestamp_ms": 1_790_000_000_123,
}
HEADER: Mapping[str, Any] = {"alg": "EdDSA", "kid": "56475aa75463474c0285df5dbf2bcab7", "typ": "JWT"}


def segment(data: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(claims: Mapping[str, Any], header: Mapping[str, Any] = HEADER, *, canonical: bool = True) -> str:
    """Return a compact JWS of these claims with a signature of no key."""
    payload = jcs_bytes(claims) if canonical else json.dumps(claims).encode()
    return ".".join((segment(json.dumps(header).encode()), segment(payload), segment(b"\1" * 64)))


def receipt(claims: Mapping[str, Any], header: Mapping[str, Any] = HEADER, *, canonical: bool = True) -> Receipt:
    """Return such a receipt, taken apart."""
    return parse_receipt(token(claims, header, canonical=canonical))


def change_claims(claims: Mapping[str, Any], **members: Any) -> dict[str, Any]:
    """Return claims with members changed, or removed by None."""
    return {name: value for name, value in {**claims, **members}.items() if value is not None}
