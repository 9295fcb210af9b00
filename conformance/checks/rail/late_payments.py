"""RAIL-402-25: payments at the end of a challenge's lifetime, and answers and tasks at the end of theirs (5.4, 5.8)."""

from __future__ import annotations

from typing import Final

from conformance.assertions.rail.paid_tasks import order_task
from conformance.assertions.rail.specified_refusals import ROW, WrongPayment, judge_over_rest
from conformance.engine import clock
from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.outcome import Inconclusive
from conformance.surfaces.json_rpc import error_code
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import challenge, pay, present, purchase, redeem

_SKEW = 60
# Seconds after the end of a lifetime, so that most of the skew is left for the chain to follow.
_JUST_LATE = 5
_HOUR = 3600
_UNKNOWN_TASK: Final = -32001


@check(
    ROW,
    surface="rail",
    lane="each",
    exclusive=Exclusive.CLOCK,
    fix="Allow 60 s of skew at the end of a lifetime, for the token and for the block. Answer challenge_expired after.",
)
async def lifetimes_end_after_the_skew(case: Case) -> None:
    """A payment within 60 s after the lifetime is served, and a later one is refused as `challenge_expired`.

    Pays one challenge in time and presents the payment only after lifetime and skew. Pays and presents another just
    after the lifetime, and a third after lifetime and skew. Expects 200 for the second, and 402 `challenge_expired`
    without Retry-After for the others.
    """
    operation = case.session.catalog.operations[0]
    timely, just_late, late = [await challenge(case, operation) for _ in range(3)]
    timely_proof = await pay(case, timely, case.lane)
    lifetime = timely.entry(case.lane).get("maxTimeoutSeconds")
    if not isinstance(lifetime, int):
        raise Inconclusive("the challenge has no maxTimeoutSeconds, which RAIL-402-24 judges")
    issued_at = clock.now(case)
    await clock.pass_time(case, lifetime + _JUST_LATE)
    answer = await redeem(case, operation, await pay(case, just_late, case.lane), body=just_late.body)
    passed_seconds = clock.now(case) - issued_at
    if answer.status == 200 or passed_seconds < lifetime + _SKEW - 1:
        where = {"payment": f"within {passed_seconds - lifetime} s after the lifetime"}
        case.expect(ROW, answer.status == 200, "200", brief(answer), exchange=answer, where=where)
    await clock.pass_time(case, _SKEW + 1)
    for name, quote, proof in (
        ("paid in time, presented late", timely, timely_proof),
        ("paid late", late, await pay(case, late, case.lane)),
    ):
        await judge_over_rest(case, WrongPayment(name, quote, proof, "challenge_expired"))


@check(
    ROW,
    surface="rail",
    exclusive=Exclusive.CHAIN_AND_CLOCK,
    fix="Keep stored answers and tasks for 24 hours, and the spent payment for ever.",
)
async def stored_answers_end_after_a_day(case: Case) -> None:
    """A stored answer and a task are kept for 24 hours; after that the payment is 409 and the task unknown.

    Buys a call, and orders a task over A2A. Asks for both after 23 hours, and again two hours later. Expects the same
    answer and the task first, then 409 `payment_already_spent` and the error of an unknown task.
    """
    operation, lane = case.session.catalog.operations[0], case.profile.claims.lanes[0]
    sale = await purchase(case, operation, lane)
    task = await order_task(case, operation) if case.profile.claims.includes("rail.a2a") else None
    await clock.pass_time(case, 23 * _HOUR)
    answer = await present(case, operation, dict(sale.proof), body=sale.challenge.body)
    holds = answer.status == 200 and answer.body == sale.answer.body
    where = {"payment": "spent 23 hours ago"}
    case.expect(ROW, holds, "the stored answer", brief(answer), exchange=answer, where=where)
    if task is not None:
        kept = a2a.task_of(await a2a.fetch_task(case, task.id or ""))
        where = {"task": "ordered 23 hours ago"}
        case.expect(ROW, kept.id == task.id, "the task", kept.describe(), exchange=kept.answer, where=where)
    await clock.pass_time(case, 2 * _HOUR)
    answer = await present(case, operation, dict(sale.proof), body=sale.challenge.body)
    found = (answer.status, answer.read_object().get("error"))
    where = {"payment": "spent 25 hours ago"}
    holds = found == (409, "payment_already_spent")
    case.expect(ROW, holds, "409 payment_already_spent", brief(answer), exchange=answer, where=where)
    if task is not None:
        gone = await a2a.fetch_task(case, task.id or "")
        code = error_code(gone)
        where = {"task": "ordered 25 hours ago"}
        case.expect(ROW, code == _UNKNOWN_TASK, f"error {_UNKNOWN_TASK}", code, exchange=gone, where=where)
