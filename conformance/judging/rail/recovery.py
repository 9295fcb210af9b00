"""Recovery of a rail after a refusal or a fault of its node: a client that paid is served, once."""

from __future__ import annotations

from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.surfaces import binding_hints
from conformance.surfaces.rail.challenges import entries, references
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import Challenge, pay, present, redeem

# Base64 of an empty object: a readable proof without a payment.
_NO_PROOF = "e30="
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


async def judge_fresh_terms(case: Case, operation: Operation) -> None:
    """Judge that a client recovers from a refusal: it pays what the refusal requests, and is served (RAIL-WELD-16).

    If another request than the usual one is known, that is used, because the usual one may be the server's own example.
    A refusal of another status than 402 requests nothing, and is judged elsewhere.
    """
    others = () if operation.is_guess else operation.other_bodies
    body = others[0] if others else operation.body
    refusal = await present(case, operation, _NO_PROOF, body=body)
    asked = tuple(entries(refusal))
    if refusal.status != 402 or not asked:
        return
    quote = Challenge(operation, body, refusal, asked)
    answer = await redeem(case, operation, await pay(case, quote, case.lane), body=body)
    where = {"payment": "as a refusal requests it"}
    case.expect("RAIL-WELD-16", answer.status == 200, "200", brief(answer), exchange=answer, where=where)
