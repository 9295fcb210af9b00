"""The thin path: challenge, payment, proof, answer (5.3, 5.9)."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from reference.protocol.hashes import hash_reference, request_hash, response_hash, settled_payment_ref
from reference.protocol.receipt_verification import verify_receipt
from reference.protocol.service_word import ServiceWord
from tests.reference.rail.rail_stack import (
    COMPLIANCE,
    COMPLIANCE_BODY,
    RECEIPT,
    RECEIPT_BODY,
    Payer,
    Rail,
    header,
    payload_of,
    proof_of,
)

MESSAGE = "/pay/v1/verify/rfc9421"
MESSAGE_BODY = {
    "method": "GET",
    "authority": "example.com",
    "path": "/",
    "headers": {},
    "public_key_hex": "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
}
SERVICES: list[tuple[str, str, Any, str]] = [
    ("compliance-receipt", COMPLIANCE, COMPLIANCE_BODY, "50000"),
    ("receipt-verify", RECEIPT, RECEIPT_BODY, "10000"),
    ("rfc9421-verify", MESSAGE, MESSAGE_BODY, "10000"),
]


@pytest.mark.parametrize(("service_id", "path", "body", "price"), SERVICES)
def test_a_paid_call_is_served_with_a_receipt(
    rail: Rail, payer: Payer, service_id: str, path: str, body: Any, price: str
) -> None:
    """402, payment, proof, 200: with exactly the members of 5.9, and hashes that bind request, answer and payment."""
    entry = rail.quote(path, body)
    assert entry["maxAmountRequired"] == entry["amount"] == price
    tx_id = payer.pay(entry)
    answer = rail.present(proof_of(tx_id, entry), path, body)
    assert answer.status_code == 200, answer.text
    members = answer.json()
    word = ServiceWord()
    expected_ref = settled_payment_ref(word, tx_id, "algorand_mainnet")
    assert set(members) == {
        "service_id",
        "result",
        "payable_receipt",
        "settlement_attestation",
        "settled_payment_ref",
        "request_hash",
        "response_hash",
    }
    receipt = payload_of(members["payable_receipt"])
    issued = receipt.pop("issued_at_ms")
    assert receipt.pop("iat") == issued // 1000
    did = rail.public_url.replace("http://localhost:", "did:web:localhost%3A")
    assert receipt == {
        "kind": "weldproof/payable-svc-receipt/1",
        "canon_version": "jcs-rfc8785-v1",
        "iss": did,
        "provider_did": did,
        "service_id": service_id,
        "request_hash": request_hash(body=body, path=path, query="", service_id=service_id),
        "response_hash": response_hash(members["result"]),
        "settled_payment_ref": expected_ref,
        "payment_reference_hash": hash_reference(entry["extra"]["payment_reference"].encode()),
        "network": entry["network"],
        "asset": entry["asset"],
        "pay_to": entry["payTo"],
        "amount_microunits": price,
    }
    attestation = payload_of(members["settlement_attestation"])
    assert (attestation["settlement_result"], attestation["settled_payment_ref"]) == ("SETTLED", expected_ref)
    assert attestation["settlement_amount"] == {"amount_minor": price, "asset_id": "31566704"}
    document = json.loads(base64.b64decode(answer.headers["PAYMENT-RESPONSE"]))
    assert document == {
        "success": True,
        "transaction": tx_id,
        "network": entry["network"],
        "payer": payer.address,
        "amount": price,
    }
    assert answer.headers["Cache-Control"] == "private, no-store"


def test_both_receipts_verify_with_the_published_keys(rail: Rail, payer: Payer) -> None:
    """The saved JWKS is all that is needed to verify what was bought."""
    jwks = rail.http.get("/.well-known/jwks.json").json()
    entry = rail.quote()
    members = rail.present(proof_of(payer.pay(entry), entry)).json()
    for token in (members["payable_receipt"], members["settlement_attestation"]):
        report = verify_receipt(
            jws=token, jwks=jwks, expected_payment_hash=members["settled_payment_ref"], platform_keys=()
        )
        assert report["verified"] is True, report
    compliance = members["result"]["compliance_receipt_jws"]
    assert payload_of(compliance)["payment_hash"] == members["settled_payment_ref"]
    assert verify_receipt(jws=compliance, jwks=jwks, expected_payment_hash=None, platform_keys=())["verified"] is True


def test_the_same_proof_gets_the_stored_answer(rail: Rail, payer: Payer) -> None:
    """P-ST-04: the same bytes and receipt, marked as a replay, under a request id of its own."""
    entry = rail.quote()
    proof = proof_of(payer.pay(entry), entry)
    first, again = rail.present(proof), rail.present(proof)
    assert (again.status_code, first.content) == (200, again.content)
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.headers["PAYMENT-RESPONSE"] == first.headers["PAYMENT-RESPONSE"]
    assert again.headers["X-Request-Id"] != first.headers["X-Request-Id"]


def test_the_query_is_part_of_the_request(rail: Rail, payer: Payer) -> None:
    """A challenge for a path with a query is redeemed with that query only."""
    answer = rail.http.post(f"{COMPLIANCE}?a=1&b=%20", json=COMPLIANCE_BODY)
    entry = answer.json()["accepts"][0]
    task = {"X-PAYMENT": header(proof_of(payer.pay(entry), entry))}
    assert rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY, headers=task).json()["error"] == "request_mismatch"
    reply = rail.http.post(f"{COMPLIANCE}?a=1&b=%20", json=COMPLIANCE_BODY, headers=task)
    assert reply.status_code == 200
    expected = request_hash(body=COMPLIANCE_BODY, path=COMPLIANCE, query="a=1&b=%20", service_id="compliance-receipt")
    assert reply.json()["request_hash"] == expected


@pytest.mark.parametrize(("address", "verdict"), [("allow", "ALLOW"), ("flag", "REFER"), ("block", "DENY")])
def test_the_verdict_is_categorical(rail: Rail, payer: Payer, address: str, verdict: str) -> None:
    """The paid screening answers ALLOW, REFER or DENY, and so does its receipt."""
    body = {"recipient_address": f"screen-{address}", "network": "algorand-mainnet"}
    entry = rail.quote(body=body)
    result = rail.present(proof_of(payer.pay(entry), entry), body=body).json()["result"]
    assert (verdict, verdict) == (result["verdict"], payload_of(result["compliance_receipt_jws"])["screen_result"])
