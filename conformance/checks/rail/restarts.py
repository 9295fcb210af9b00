"""RAIL-WELD-11 and RAIL-PAY-02 to -04 over a restart: what was bought stays bought, and what was paid is served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.attacks.engine import receipts
from conformance.discovery.rail import INDEX
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.quick import OWN_PROCESSES
from conformance.http.client import Answer
from conformance.ledger import load
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import Challenge, Purchase, challenge, pay, present, purchase, redeem
from conformance.surfaces.restarts import leave_without_restart, restart_command, start_again

_ONCE: Final = "RAIL-WELD-11"
# By lane, the row that a payment made on it is served.
_SERVED: Final = {str(load()[row].lane): row for row in ("RAIL-PAY-02", "RAIL-PAY-03", "RAIL-PAY-04")}


@dataclass(frozen=True, slots=True)
class _Before:
    """What a lane had before the restart: a call that was bought, and one that was paid and not yet called for."""

    lane: str
    bought: Purchase
    quote: Challenge
    proof: Mapping[str, Any]


@check(
    _ONCE,
    *_SERVED.values(),
    surface="rail",
    exclusive="restart",
    fix="Keep redemptions, stored answers and the secret of the tokens on the disk, before each counts.",
    quick=OWN_PROCESSES,
)
async def a_restart_forgets_no_payment(case: Case) -> None:
    """After a restart a spent payment buys nothing more, and one made before it for a live challenge is served.

    On every lane buys one call, and pays for another; has the rail started again by the profile's command; presents the
    first proof on the same request, and then the second, twice. Expects the stored answer or a refusal for the first,
    200 for the second, and then its stored answer or a refusal.
    """
    words = restart_command(case, "rail")
    if words is None:
        leave_without_restart(case, "rail")
        return
    lanes = [lane for lane in _SERVED if lane in case.profile.claims.lanes]
    for lane, row in _SERVED.items():
        if lane not in lanes:
            case.not_applicable(row, f"the profile does not claim the lane {lane}")
    before = await run_concurrently(_paid(case, lane) for lane in lanes)
    await start_again(case, words, case.session.rail + INDEX)
    await run_concurrently(_judged(case, one) for one in before)


async def _paid(case: Case, lane: str) -> _Before:
    operation = case.session.operations[0]
    bought = await purchase(case, operation, lane)
    quote = await challenge(case, operation)
    return _Before(lane, bought, quote, await pay(case, quote, lane))


async def _judged(case: Case, before: _Before) -> None:
    operation, where = before.quote.operation, {"lane": before.lane, "restart": "after the payment"}
    again = await present(case, operation, dict(before.bought.proof), body=before.bought.challenge.body)
    same = again.status != 200 or receipts(again) == receipts(before.bought.answer)
    expected = "the stored answer or a refusal"
    case.expect(_ONCE, same, expected, _describe(again, same), exchange=again, where=where)
    bound = case.profile.rail_bindings.replay
    if bound == "stored-answer" and same:
        case.expect(
            _ONCE,
            again.status == 200,
            "the stored answer",
            brief(again),
            exchange=again,
            where=where,
            beyond="nothing is bought twice, but the profile says that the identical request gets the stored answer",
        )
    served = await redeem(case, operation, dict(before.proof), body=before.quote.body)
    row = _SERVED[before.lane]
    case.expect(row, served.status == 200, "200", brief(served), exchange=served, where=where)
    if served.status == 200:
        last = await present(case, operation, dict(before.proof), body=before.quote.body)
        same = last.status != 200 or receipts(last) == receipts(served)
        case.expect(_ONCE, same, expected, _describe(last, same), exchange=last, where=where)


def _describe(answer: Answer, same: bool) -> str:
    return brief(answer) if same else f"{brief(answer)} with another receipt"
