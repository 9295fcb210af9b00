"""The suite's vectors of receipts, which share no code with the reference: the same verdict and report for each."""

from __future__ import annotations

import pytest

from conformance.vectors import Vector, of_family
from reference.protocol.receipt_verification import ReceiptVerifyRequest, verify_receipt

HOSTED = [vector for vector in of_family("receipts") if "hosted" in vector.doors]


def test_most_can_be_sent() -> None:
    """Only what a host has no members for stays at the desk."""
    assert len(HOSTED) >= 400


@pytest.mark.parametrize("vector", HOSTED, ids=lambda vector: vector.id)
def test_report(vector: Vector) -> None:
    """As the gateway and the paid rail are asked."""
    asked = ReceiptVerifyRequest.model_validate(dict(vector.input))
    report = verify_receipt(
        jws=asked.jws, jwks=asked.jwks, expected_payment_hash=asked.expected_payment_hash, platform_keys=[]
    )

    assert vector.expected.valid is report["verified"]
    assert [*vector.expected.codes, None][0] == report["error_code"]
    assert dict(vector.expected.values) == {name: report[name] for name in vector.expected.values}
