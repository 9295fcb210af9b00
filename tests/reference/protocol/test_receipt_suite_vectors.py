"""The suite's vectors of receipts, which share no code with the reference: the same verdict and report for each."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.vectors import Vector, of_family
from reference.protocol import receipt_verification
from reference.protocol.canonical_json import JsonValue
from reference.protocol.receipt_verification import (
    Case,
    ReceiptVerifyRequest,
    count_sure_steps,
    judge_receipt,
    verify_receipt,
)

HOSTED_VECTORS = [vector for vector in of_family("receipts") if "hosted" in vector.doors]


def test_most_can_be_sent() -> None:
    """Only what a host has no members for stays at the desk."""
    assert len(HOSTED_VECTORS) >= 400


def arguments_of(vector: Vector) -> dict[str, Any]:
    """Return a vector as verification takes it."""
    request = ReceiptVerifyRequest.model_validate(dict(vector.input))
    expected = request.expected_payment_hash
    return {"jws": request.jws, "jwks": request.jwks, "expected_payment_hash": expected, "platform_keys": []}


def report_on(vector: Vector) -> dict[str, JsonValue]:
    """Return our report on a vector."""
    return verify_receipt(**arguments_of(vector))


@pytest.mark.parametrize("vector", HOSTED_VECTORS, ids=lambda vector: vector.id)
def test_report(vector: Vector) -> None:
    """As the gateway and the paid rail are asked."""
    report = report_on(vector)

    assert vector.expected.valid is report["verified"]
    assert [*vector.expected.codes, None][0] == report["error_code"]
    assert dict(vector.expected.values) == {name: report[name] for name in vector.expected.values}


def test_the_short_way_says_what_the_steps_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each report is the same when the nine steps alone make it; and the short way is gone to the end by the sound."""
    both_ways = [report_on(vector) for vector in HOSTED_VECTORS]
    cases = [judge_receipt(**arguments_of(vector)) for vector in HOSTED_VECTORS]
    short = [count_sure_steps(Case(**arguments_of(vector))) for vector in HOSTED_VECTORS]
    assert [case.is_verified for case in cases].count(True) >= short.count(9) > 0
    assert all(case.passed_steps >= passed for case, passed in zip(cases, short, strict=True))

    monkeypatch.setattr(receipt_verification, "count_sure_steps", lambda _: 0)
    assert both_ways == [report_on(vector) for vector in HOSTED_VECTORS]
