"""The nine steps of specification 2.4, as far as each receipt goes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.oracles.forging import compact
from conformance.oracles.receipts import STEPS, examine
from tests.conformance.receipts.offline.signed_receipts import (
    COMPLIANCE,
    HEADER,
    JWKS,
    OTHER_SIGNER,
    PAYABLE,
    SIGNER,
    sign_receipt,
)

GOOD = sign_receipt(PAYABLE)


def payload(text: str | bytes) -> str:
    """Return a truly signed receipt over any bytes."""
    return SIGNER.sign(HEADER, text.encode() if isinstance(text, str) else text)


def test_a_receipt_that_verifies_passes_nine_steps() -> None:
    """Claims, kind and key are reported."""
    examination = examine(GOOD, JWKS, expected_payment_hash=PAYABLE["settled_payment_ref"])
    assert examination.is_verified
    assert [{"code": code, "result": "pass"} for code in STEPS] == examination.checks
    assert (PAYABLE, "payable", SIGNER.jwk) == (examination.claims, examination.kind, examination.jwk)


@pytest.mark.parametrize(
    ("token", "jwks", "code", "steps_passed"),
    [
        (None, JWKS, "MISSING_ENVELOPE", 0),
        (5, JWKS, "MISSING_ENVELOPE", 0),
        (GOOD + "=", JWKS, "INVALID_JWS_FORMAT", 1),
        (GOOD, {"keys": []}, "INVALID_JWS_FORMAT", 1),
        (GOOD, {"keys": [{**SIGNER.jwk, "x": "AA"}]}, "INVALID_JWS_FORMAT", 1),
        (
            sign_receipt(PAYABLE, header={"alg": "HS256"}),
            {"keys": [{**SIGNER.jwk, "x": "AA"}]},
            "INVALID_JWS_FORMAT",
            1,
        ),
        (SIGNER.sign("\ufeff{}", b"{}"), JWKS, "INVALID_JWS_FORMAT", 1),
        (SIGNER.sign('{"alg":"EdDSA","x":NaN}', b"{}"), JWKS, "INVALID_JWS_FORMAT", 1),
        (sign_receipt(PAYABLE, header={**HEADER, "alg": "none"}), JWKS, "UNSUPPORTED_ALG", 2),
        (GOOD, {"keys": [{**SIGNER.jwk, "kty": "EC"}]}, "UNSUPPORTED_ALG", 2),
        (GOOD, {"keys": [OTHER_SIGNER.jwk]}, "TAMPERED_SIGNATURE", 3),
        (compact(HEADER, b"not JSON", bytes(64)), JWKS, "TAMPERED_SIGNATURE", 3),
        (payload("[1]"), JWKS, "INVALID_PAYLOAD", 4),
        (payload('{"a":NaN}'), JWKS, "INVALID_PAYLOAD", 4),
        (payload('\ufeff{"a":1}'), JWKS, "INVALID_PAYLOAD", 4),
        (payload('{"a":1}'.encode("utf-16")), JWKS, "INVALID_PAYLOAD", 4),
        (payload('{"a":' + "[" * 32 + "]" * 32 + "}"), JWKS, "INVALID_PAYLOAD", 4),
        (payload('{"a":' + "[" * 31 + "]" * 31 + "}"), JWKS, "UNSUPPORTED_CANON_VERSION", 5),
        (payload('{"a":' + "[" * 10_000 + "]" * 10_000 + "}"), JWKS, "INVALID_JWS_FORMAT", 1),
        (sign_receipt({**PAYABLE, "canon_version": None}), JWKS, "UNSUPPORTED_CANON_VERSION", 5),
        (payload(json.dumps(dict(PAYABLE))), JWKS, "NON_CANONICAL_PAYLOAD", 6),
        (payload('{"canon_version":"jcs-rfc8785-v1","iat":9007199254740992}'), JWKS, "NON_CANONICAL_PAYLOAD", 6),
        (payload('{"canon_version":"jcs-rfc8785-v1","iat":' + "9" * 5000 + "}"), JWKS, "NON_CANONICAL_PAYLOAD", 6),
        (payload('{"canon_version":"jcs-rfc8785-v1","iat":1e999}'), JWKS, "NON_CANONICAL_PAYLOAD", 6),
        (payload('{"canon_version":"jcs-rfc8785-v1","iat":"\\ud800"}'), JWKS, "NON_CANONICAL_PAYLOAD", 6),
        (payload('{"a":1,"a":1,"canon_version":"jcs-rfc8785-v1"}'), JWKS, "NON_CANONICAL_PAYLOAD", 6),
        (sign_receipt({**PAYABLE, "service_id": None}), JWKS, "MISSING_FIELD", 7),
        (sign_receipt({**PAYABLE, "request_hash": "sha256:AB"}), JWKS, "INVALID_PAYLOAD", 7),
        (sign_receipt({**COMPLIANCE, "screen_result": ["ALLOW"]}), JWKS, "INVALID_PAYLOAD", 7),
    ],
)
def test_the_first_step_that_fails_decides(token: Any, jwks: Any, code: str, steps_passed: int) -> None:
    """Its code, and how many steps passed before; the rest is skipped."""
    examination = examine(token, jwks)
    assert examination.fault is not None
    assert (code, steps_passed) == (examination.fault.code, examination.passed_steps)
    results = ["pass"] * steps_passed + ["fail"] + ["skipped"] * (8 - steps_passed)
    assert results == [check["result"] for check in examination.checks]


def test_what_nobody_signed_is_not_told() -> None:
    """Claims come from a payload whose signature held, the header as soon as it parses."""
    examination = examine(sign_receipt(PAYABLE, by=OTHER_SIGNER), JWKS)
    assert examination.claims == {}
    assert examination.envelope is not None
    assert examination.envelope.header["alg"] == "EdDSA"


def test_the_member_at_fault_is_named() -> None:
    """Step 8 and 8b name it, in the order of the kind's table; step 9 the payment's."""
    for claims, field in (
        ({**PAYABLE, "service_id": None, "request_hash": None}, "service_id"),
        ({**PAYABLE, "response_hash": "x"}, "response_hash"),
        ({**COMPLIANCE, "screen_result": "allow"}, "screen_result"),
    ):
        fault = examine(sign_receipt(claims), JWKS).fault
        assert fault is not None
        assert field == fault.field
    last = examine(sign_receipt(COMPLIANCE), JWKS, expected_payment_hash="sha256:other").fault
    assert last is not None
    assert (last.code, last.field) == ("PAYMENT_HASH_MISMATCH", "payment_hash")
