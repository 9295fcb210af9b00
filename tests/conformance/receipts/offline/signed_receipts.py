"""Receipts truly signed by a key of the tests, with everything that they bind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.oracles import receipt_bindings
from conformance.oracles.forging import Signer
from conformance.oracles.hash_recipes import jcs_bytes

SIGNER = Signer(bytes(range(32)), "56475aa75463474c0285df5dbf2bcab7")
OTHER_SIGNER = Signer(bytes(range(1, 33)), "another")
HEX = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
DID_KEY = "did:key:z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd"
DID = "did:web:localhost%3A8402"
HEADER = {"alg": "EdDSA", "kid": SIGNER.kid, "typ": "JWT"}
JWKS = {"keys": [SIGNER.jwk]}
REQUEST: Mapping[str, Any] = {
    "body": {"jws": "a.b.c"},
    "method": "POST",
    "path": "/pay/v1/verify/receipt",
    "query": "",
    "service_id": "receipt-verify",
}
RESULT = {"verified": True, "error_code": None}
TX_ID, NETWORK, TOKEN = "0x" + "1" * 64, "base_mainnet", "challenge.token"
PAYER = "0x000000000000000000000000000000000000b10c"
PAYABLE: Mapping[str, Any] = {
    "kind": "weldproof/payable-svc-receipt/1",
    "canon_version": "jcs-rfc8785-v1",
    "iss": DID,
    "provider_did": DID,
    "iat": 1_763_700_000,
    "issued_at_ms": 1_763_700_000_123,
    "service_id": "receipt-verify",
    "request_hash": "sha256:21385cbf54ac22efc2a87002cdd4ee775d387ff38cbdd13f0bfa3381db5265ca",
    "response_hash": "sha256:c59feba9c4327ac83064fcccb8e584c5323d0c9febe0527e12aa66fe9fadd7ef",
    "settled_payment_ref": "sha256:545d69b8e1119527e01aa05a578de3d5b093e1a3f6829932ae56bd5d56051af0",
    "payment_reference_hash": receipt_bindings.payment_reference_hash(TOKEN),
    "network": "eip155:8453",
    "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    "pay_to": "0x" + "2" * 40,
    "amount_microunits": "10000",
}
COMPLIANCE: Mapping[str, Any] = {
    "payer_ref": "sha256:a2f76a7619eca18971e66c7317a9a326ca1be7a023ece47709a865848ffd44ae",
    "screen_result": "ALLOW",
    "screen_timestamp_ms": 1_763_700_000_123,
    "screen_provider_did": DID,
    "jurisdiction_flags": ["UK", "EU"],
    "canon_version": "jcs-rfc8785-v1",
    "payment_hash": PAYABLE["settled_payment_ref"],
}
ATTESTATION: Mapping[str, Any] = {
    "canon_version": "jcs-rfc8785-v1",
    "jurisdiction_flags": ["UK", "EU"],
    "settled_payment_ref": PAYABLE["settled_payment_ref"],
    "settlement_amount": {"amount_minor": "8410000", "asset_id": PAYABLE["asset"]},
    "settlement_chain": NETWORK,
    "settlement_provider_did": DID,
    "settlement_result": "SETTLED",
    "settlement_timestamp_ms": 1_763_700_000_123,
}


def sign_receipt(claims: Mapping[str, Any], *, by: Signer = SIGNER, header: Mapping[str, Any] | None = None) -> str:
    """Return a receipt over the canonical form of some claims."""
    return by.sign(HEADER if header is None else header, jcs_bytes(dict(claims)))


def did_document(
    did: str = DID, *, asserting_signers: tuple[Signer, ...] = (SIGNER,), idle: tuple[Signer, ...] = ()
) -> Any:
    """Return a DID document in the form of P-KY-07."""
    methods = [
        {
            "id": f"{did}#{signer.kid}",
            "type": "JsonWebKey2020",
            "controller": did,
            "publicKeyJwk": signer.jwk,
        }
        for signer in (*asserting_signers, *idle)
    ]
    return {
        "id": did,
        "verificationMethod": methods,
        "assertionMethod": [f"{did}#{one.kid}" for one in asserting_signers],
    }


def write_all(folder: Path) -> Path:
    """Write the receipts, and the files that they bind, into a folder."""
    token, screening_token = sign_receipt(PAYABLE), sign_receipt(COMPLIANCE)
    texts: Mapping[str, Any] = {
        "answer.json": {"result": RESULT, "receipt": {"jws": token}, "screening": {"receipt": screening_token}},
        "request.json": REQUEST,
        "body.json": REQUEST["body"],
        "jwks.json": JWKS,
        "did.json": did_document(),
        "key.jwk": SIGNER.jwk,
    }
    for name, value in texts.items():
        (folder / name).write_text(json.dumps(value), "utf-8")
    (folder / "receipt.jws").write_text(f"{token}\n", "ascii")
    (folder / "screening.jws").write_text(screening_token, "ascii")
    (folder / "token").write_text(f"{TOKEN}\n", "ascii")
    (folder / "public.pem").write_bytes(SIGNER.pem())
    return folder
