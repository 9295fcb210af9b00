"""The judge of receipts: the nine steps of profile 2.4, then the bindings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.oracles.hash_recipes import sha256_hex
from conformance.oracles.receipt_bindings import faults
from conformance.oracles.receipts import Examination, ReceiptFault, examine
from conformance.vectors.judges import Verdict

# The stage by the number of passed steps; the step of members is also responsible for their values (8b).
_OF_STEP: Final = (
    "envelope",
    "format",
    "algorithm",
    "signature",
    "payload",
    "canon_version",
    "canonical",
    "fields",
    "payment_hash",
)
STAGES: Final = (*_OF_STEP[:8], "values", "payment_hash", "bindings")


def judge(input: Mapping[str, Any]) -> Verdict:  # noqa: A002 - the word of the vectors' form
    """Return the verdict on a receipt.

    Args:
        input: `jws` and `jwks`; `expected_payment_hash` where that is asked; and what the receipt's hashes are
            recomputed from: `request`, `response`, `settlement`, `payment_reference`, `payer`.

    Returns:
        For a receipt that passes the nine steps, with the values `receipt_kind` and `content_hash`; for a missing or
        wrong member, with `error_field`.
    """
    verdict = examine(input.get("jws"), input.get("jwks"), expected_payment_hash=input.get("expected_payment_hash"))
    if verdict.fault is not None:
        return _make_refusal(verdict.passed_steps, verdict.fault)
    # Each code once, in the order in which the bindings are judged.
    wrong = dict.fromkeys(one.code for one in faults(verdict.claims, input))
    return Verdict.refuse("bindings", *wrong, **_values(verdict)) if wrong else Verdict.holds(**_values(verdict))


def _make_refusal(stages_passed: int, fault: ReceiptFault) -> Verdict:
    stage = _OF_STEP[stages_passed]
    if stage != "fields":
        return Verdict.refuse(stage, fault.code)
    details = {} if fault.field is None else {"error_field": fault.field}
    return Verdict.refuse("values" if fault.code == "INVALID_PAYLOAD" else stage, fault.code, **details)


def _values(verdict: Examination) -> dict[str, Any]:
    payload = verdict.envelope.payload if verdict.envelope is not None else b""
    return {"receipt_kind": verdict.kind, "content_hash": sha256_hex(payload)}
