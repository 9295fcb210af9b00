"""RAIL-402-25: a payment that is older than its challenge, where the target claims the specification (5.5)."""

from __future__ import annotations

from typing import Any, Final

from conformance.assertions.rail.specified_refusals import ROW
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.lanes.registry import LANES
from conformance.oracles.rail_members import find_failure_faults
from conformance.surfaces.rail.limited_rail import LimitedRail, limited_rail
from conformance.surfaces.rail.paid_answers import find_goods
from conformance.surfaces.rail.purchase import challenge, pay, present

# Twice the tolerance of 5.5, so that a payment may take a minute to reach its block.
_AHEAD_SECONDS: Final = 120.0


@check(
    ROW,
    surface="rail",
    lane="each",
    fix="Compare the time of a payment's block with the issue time of its challenge: at most 60 s older.",
)
async def payments_before_their_challenge_are_refused(case: Case) -> None:
    """A payment whose block is more than 60 s older than its challenge is refused as too old, if the payer sends it.

    Uses a rail whose clock is two minutes ahead of the chain, so that each payment for its challenges is in a block
    that is older than the challenge. Pays one challenge of each operation. Expects 402 `payment_too_old` without
    Retry-After.
    """
    if LANES[case.lane].spellings is None:
        case.mark_not_applicable(ROW, "on this lane the rail sends the payment, after its challenge")
        return
    async with limited_rail(case) as rail:
        if rail is None:
            return
        rail.advance(max(0.0, _AHEAD_SECONDS - rail.offset))
        await run_concurrently(_judge_operation(case, rail, operation) for operation in rail.operations)


async def _judge_operation(case: Case, rail: LimitedRail, operation: Any) -> None:
    quote = await challenge(case, operation)
    proof = await pay(case, quote, case.lane)
    answer = await present(case, operation, proof, body=quote.body)
    found = (answer.status, answer.read_object().get("error"))
    faults = [] if found == (402, "payment_too_old") else [f"{found[0]} {found[1]}"]
    faults = faults or find_failure_faults(
        answer.headers.get("PAYMENT-RESPONSE"),
        "payment_too_old",
        {str(quote.entry(case.lane).get("network"))},
        {str(proof.get("tx_id"))},
    )
    faults += [f"Retry-After {value}" for value in answer.headers.getall("Retry-After", [])]
    faults += [f"it contains {place}" for place in find_goods(case, answer)]
    where = {"operation": operation.path, "payment": f"in a block {rail.offset:.0f} s before its challenge"}
    expectation = "402 payment_too_old, as 5.5 says"
    case.expect(ROW, not faults, expectation, "; ".join(faults) or "so", exchange=answer, where=where)
