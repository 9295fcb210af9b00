"""Whole reports of a receipt verification, at a target that claims the specification (2.4, P-GR-02)."""

from __future__ import annotations

from typing import Final

from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.oracles.receipt_reports import find_report_faults
from conformance.oracles.receipts import examine
from conformance.receipts.material import Vector
from conformance.receipts.verifier import Verifier

ROW: Final = "GW-REPORT-01"


def judge_report(case: Case, verifier: Verifier, vector: Vector, answer: Answer) -> None:
    """Judge status and members of the report of one receipt.

    Nothing is judged where the receipt is no text, or if its key would be the platform's and that is unknown.
    """
    keys = verifier.material.jwks if vector.jwks is None else vector.jwks
    if keys is None or not isinstance(vector.jws, str):
        return
    examination = examine(vector.jws, keys, expected_payment_hash=vector.expected_payment_hash)
    report = answer.read_object()
    # The suite lets padded segments pass (P-RV-04).
    if "=" in vector.jws and report.get("verified") is True:
        return
    expected_status = 200 if examination.is_verified else 422
    faults = [] if answer.status == expected_status else [f"status {answer.status}, not {expected_status}"]
    faults += find_report_faults(
        report, examination, is_supplied=vector.jwks is not None, request_id=answer.headers.get("X-Request-Id")
    )
    where = {"receipt": vector.name}
    case.expect(ROW, not faults, "the report of 2.4", "; ".join(faults) or "so", exchange=answer, where=where)
