"""Oracle of reports: the report of the reference has no fault for any vector, and a change of any member is one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from conformance.oracles.forging import Signer
from conformance.oracles.receipt_reports import find_report_faults
from conformance.oracles.receipts import examine
from conformance.receipts import report_vectors
from conformance.receipts.live_mutations import PROFILE_PAYLOAD, Material, Vector, keys, vectors
from reference.protocol.receipt_verification import verify_receipt

PLATFORM = Signer(bytes(range(32)), "platform")
REQUEST_ID = "req_1"


@pytest.fixture(scope="module")
def material() -> Material:
    token = PLATFORM.sign({"alg": "EdDSA", "kid": PLATFORM.kid, "typ": "JWT"}, PROFILE_PAYLOAD)
    return Material.of(token, keys(PLATFORM), random.Random(5))


def make_report(vector: Vector) -> dict[str, Any]:
    """Return the report of the reference, as its gateway answers it."""
    body: dict[str, Any] = {
        "jws": vector.jws,
        "jwks": vector.jwks,
        "expected_payment_hash": vector.expected_payment_hash,
    }
    report: dict[str, Any] = verify_receipt(**body, platform_keys=keys(PLATFORM)["keys"])
    if report["verified"]:
        return report
    envelope = {"error": "receipt_verification_failed", "message": report["error_message"], "request_id": REQUEST_ID}
    return {**report, **envelope}


def find_faults(vector: Vector, report: Any) -> list[str]:
    """Return the faults of a report of a vector."""
    chosen_keys = keys(PLATFORM) if vector.jwks is None else vector.jwks
    examination = examine(vector.jws, chosen_keys, expected_payment_hash=vector.expected_payment_hash)
    return find_report_faults(report, examination, is_supplied=vector.jwks is not None, request_id=REQUEST_ID)


def list_vectors(material: Material) -> list[Vector]:
    """Return all vectors whose receipt is a text."""
    return [one for one in (*vectors(material), *report_vectors.vectors(material)) if isinstance(one.jws, str)]


def test_reports_of_the_reference_have_no_fault(material: Material) -> None:
    """Two verifiers without common code agree on every member."""
    for vector in list_vectors(material):
        report = make_report(vector)
        assert report["verified"] is vector.valid, vector.name
        assert find_faults(vector, report) == [], vector.name


def test_every_member_of_a_report_counts(material: Material) -> None:
    """A member that is left out, or has another value, is a fault of passes and of fails."""
    for name in ("the platform's", "the platform's, another key set supplied"):
        vector = next(one for one in vectors(material) if one.name == name)
        report = make_report(vector)
        for member, value in report.items():
            less = {one: other for one, other in report.items() if one != member}
            assert find_faults(vector, less), member
            if member not in {"error_message", "error_field"} or report["verified"]:
                assert find_faults(vector, {**report, member: 7 if value is None else None}), member


def test_departures_are_no_faults(material: Material) -> None:
    """A target may answer MISSING_FIELD at step 8b and TAMPERED_SIGNATURE at step 7 (P-RV-04)."""
    for name, code in (
        ("truly signed: a screen_result outside its set", "MISSING_FIELD"),
        ("truly signed: white space in the JSON", "TAMPERED_SIGNATURE"),
    ):
        vector = next(one for one in vectors(material) if one.name == name)
        assert find_faults(vector, {**make_report(vector), "error_code": code}) == []
        assert find_faults(vector, {**make_report(vector), "error_code": "INVALID_JWS_FORMAT"})
