"""What a rail must do after a fault of its node: serve who has paid, once."""

from __future__ import annotations

from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.surfaces import binding_hints
from conformance.surfaces.rail.challenges import entries, references
from conformance.surfaces.rail.paid_answers import brief

SUBMISSION_FAULTS = frozenset({"withhold", "reject_late", "early_finality"})


def judge_recovery(case: Case, answer: Answer, seen: set[str], allowed: tuple[int, ...], what: str) -> None:
    """Judge that a refusal is 402 with accepts whose tokens are new (RAIL-WELD-16), or an `allowed` status."""
    fresh = references(answer)
    old = fresh & seen
    spent = case.profile.rail_bindings.spent_status
    recoverable = answer.status != 402 or (bool(entries(answer)) and bool(fresh) and not old)
    case.expect(
        "RAIL-WELD-16",
        answer.status in {402, *allowed} and recoverable,
        f"402 with fresh accepts{'' if allowed == (402,) else f', or one of {allowed}'}",
        f"{brief(answer)} with {len(fresh)} tokens, {len(old)} of them old",
        exchange=answer,
        where={"payment": what},
        hint=binding_hints.of_spent(answer.status, allowed) if allowed == spent else None,
    )
    seen |= fresh
