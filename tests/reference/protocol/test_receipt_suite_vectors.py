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

HOSTED = [vector for vector in of_family("receipts") if "hosted" in vector.doors]


def test_most_can_be_sent() -> None:
    """Only what a host has no members for stays at the desk."""
    assert len(HOSTED) >= 400


def asked(vector: Vector) -> dict[str, Any]:
    """Return a vector as verification takes it."""
    given = ReceiptVerifyRequest.model_validate(dict(vector.input))
    expected = given.expected_payment_hash
    return {"jws": given.jws, "jwks": given.jwks, "expected_payment_hash": expected, "platform_keys": []}


def reported(vector: Vector) -> dict[str, JsonValue]:
    """Return our report on a vector."""
    return verify_receipt(**asked(vector))


@pytest.mark.parametrize("vector", HOSTED, ids=lambda vector: vector.id)
def test_report(vector: Vector) -> None:
    """As the gateway and the paid rail are asked."""
    report = reported(vector)

    assert vector.expected.valid is report["verified"]
    assert [*vector.expected.codes, None][0] == report["error_code"]
    assert dict(vector.expected.values) == {name: report[name] for name in vector.expected.values}


def test_the_short_way_says_what_the_steps_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each report is the same when the nine steps alone make it; and the short way is gone to the end by the sound."""
    both_ways = [reported(vector) for vector in HOSTED]
    judged = [judge_receipt(**asked(vector)) for vector in HOSTED]
    short = [count_sure_steps(Case(**asked(vector))) for vector in HOSTED]
    assert [case.is_verified for case in judged].count(True) >= short.count(9) > 0
    assert all(case.passed_steps >= passed for case, passed in zip(judged, short, strict=True))

    monkeypatch.setattr(receipt_verification, "count_sure_steps", lambda _: 0)
    assert both_ways == [reported(vector) for vector in HOSTED]
