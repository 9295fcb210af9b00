"""The hosted verifier and the offline one judge every receipt of the vector package alike."""

from __future__ import annotations

from typing import Any

from conformance import vectors
from conformance.oracles.receipts import examine
from conformance.vectors import Vector
from conformance.vectors.judges.receipts import judge
from tests.reference.gateway.gateway_stack import VERIFY, Gateway

ASKED = ("jws", "jwks", "expected_payment_hash")


def _offline(vector: Vector) -> dict[str, Any]:
    """Return what the offline verifier tells, by the names of the hosted one's report."""
    verdict = judge(vector.input)
    examination = examine(
        *(vector.input.get(name) for name in ASKED[:2]), expected_payment_hash=vector.input.get(ASKED[2])
    )
    return {
        "verified": verdict.valid,
        "error_code": verdict.codes[0] if verdict.codes else None,
        "error_field": None if examination.fault is None else examination.fault.field,
        "checks": examination.checks,
    }


async def test_both_verifiers_agree_on_every_vector_that_can_be_sent(shop: Gateway) -> None:
    """Verdict, code, member at fault, and all nine lines of the report; and on what the vector expects."""
    sent_vectors = [one for one in vectors.of_family("receipts") if one.doors[0] == "hosted"]
    assert len(sent_vectors) >= 300
    disagreements: list[str] = []
    for vector in sent_vectors:
        body = {name: vector.input[name] for name in ASKED if name in vector.input}
        answer = await shop.http.post(VERIFY, json=body)
        report = answer.json()
        offline = _offline(vector)
        hosted_report = {name: report.get(name) for name in offline}
        expectation = (vector.expected.valid, *vector.expected.codes)
        if offline != hosted_report:
            disagreements.append(f"{vector.id}: hosted {hosted_report}, offline {offline}")
        if (hosted_report["verified"], *filter(None, [hosted_report["error_code"]])) != expectation:
            disagreements.append(f"{vector.id}: hosted {hosted_report}, expected {expectation}")
        if answer.status_code != (200 if vector.expected.valid else 422):
            disagreements.append(f"{vector.id}: status {answer.status_code}")
    assert disagreements == []
