"""Recovery of a rail after a refusal or a fault of its node: a client that paid is served, once."""

from __future__ import annotations

from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.surfaces import binding_hints
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import Challenge, pay, present, redeem
from conformance.surfaces.rail.unpaid_answers import entries, references

# Base64 of an empty object: a readable proof without a payment.
_NO_PROOF = "e30="
# Faults that act on transactions which are being submitted, and not on queries.
SUBMISSION_FAULTS = frozenset({"withhold", "reject_late", "early_finality"})


def judge_recovery(
    case: Case, answer: Answer, seen_tokens: set[str], allowed_statuses: tuple[int, ...], payment_name: str
) -> None:
    """Judge that a refusal is 402 with accepts whose tokens are new (RAIL-WELD-16), or one of `allowed_statuses`."""
    new_tokens = references(answer)
    old_tokens = new_tokens & seen_tokens
    spent_statuses = case.profile.rail_bindings.spent_status
    is_recoverable = answer.status != 402 or (bool(entries(answer)) and bool(new_tokens) and not old_tokens)
    case.expect(
        "RAIL-WELD-16",
        answer.status in {402, *allowed_statuses} and is_recoverable,
        f"402 with fresh accepts{'' if allowed_statuses == (402,) else f', or one of {allowed_statuses}'}",
        f"{brief(answer)} with {len(new_tokens)} tokens, {len(old_tokens)} of them old",
        exchange=answer,
        where={"payment": payment_name},
        hint=binding_hints.of_spent(answer.status, allowed_statuses) if allowed_statuses == spent_statuses else None,
    )
    # Tokens of this refusal are old for the next one.
    seen_tokens |= new_tokens


async def judge_fresh_terms(case: Case, operation: Operation) -> None:
    """Judge that a client recovers from a refusal: it pays what the refusal requests, and is served (RAIL-WELD-16).

    If another request than the usual one is known, that is used, because the usual one may be the server's own example.
    A refusal of another status than 402 requests nothing, and is judged elsewhere.
    """
    other_bodies = () if operation.is_guess else operation.other_bodies
    body = other_bodies[0] if other_bodies else operation.body
    refusal = await present(case, operation, _NO_PROOF, body=body)
    requested_entries = tuple(entries(refusal))
    if refusal.status != 402 or not requested_entries:
        return
    quote = Challenge(operation, body, refusal, requested_entries)
    answer = await redeem(case, operation, await pay(case, quote, case.lane), body=body)
    where = {"payment": "as a refusal requests it"}
    case.expect("RAIL-WELD-16", answer.status == 200, "200", brief(answer), exchange=answer, where=where)
