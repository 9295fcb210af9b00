"""RAIL-WELD-08 and -11: a proof that was spent by REST buys nothing over A2A, and the reverse.

Both transports must share one ledger. A rail with a table for each would execute one payment twice.
"""

from __future__ import annotations

from collections.abc import Mapping

from conformance.attacks.engine import receipts
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.a2a import Task
from conformance.surfaces.rail.purchase import Purchase, lane_of, name_live_values, present, purchase

_OTHER, _SAME = "RAIL-WELD-08", "RAIL-WELD-11"
_NO_DOOR = "the profile does not claim the option rail.a2a"
_FIX = (
    "Redeem payments by REST and over A2A with one atomic statement on one table. Answer the identical request with "
    "the stored answer."
)


@check(_OTHER, _SAME, surface="rail", lane="each", fix=_FIX)
async def a_proof_spent_at_rest_is_dead_over_a2a(case: Case) -> None:
    """A captured X-PAYMENT that bought a call by REST buys nothing over A2A.

    Buys one operation by REST, orders another operation and the same one over A2A, and submits the captured proof for
    both tasks. Expects no completed task with a further receipt. The identical request may get the stored answer.
    """
    if "rail.a2a" not in case.profile.claims.options:
        for row in (_OTHER, _SAME):
            case.mark_not_applicable(row, _NO_DOOR)
        return
    operations = case.session.catalog.operations
    bought = await purchase(case, operations[0], case.lane)
    for row, operation in ((_OTHER, operations[-1]), (_SAME, operations[0])):
        if row == _OTHER and len(operations) < 2:
            case.mark_not_applicable(row, "the rail has only one operation")
            continue
        task = await a2a.order_service(case, operation)
        if task.id is None or not task.asks_for_payment:
            case.mark_inconclusive(row, "no task over A2A asked for payment, which RAIL-A2A-03 judges")
            continue
        became = await a2a.pay_task(case, task.id, bought.proof)
        _judge(case, row, operation, bought, became)


def _judge(case: Case, row: str, operation: Operation, bought: Purchase, became: Task) -> None:
    fresh = receipts(became.answer) - receipts(bought.answer)
    stored = row == _SAME and not fresh
    holds = stored or (became.state != "completed" and not fresh)
    expected = "a refusal, or the stored answer" if row == _SAME else "a refusal"
    where = {"operation": operation.path, "door": "REST, then A2A"}
    case.expect(row, holds, expected, became.describe(), exchange=became.answer, where=where)


@check(_OTHER, _SAME, surface="rail", lane="each", fix=_FIX)
async def a_proof_spent_over_a2a_is_dead_at_rest(case: Case) -> None:
    """A proof that bought a task over A2A buys nothing by REST.

    Orders one operation over A2A, pays the task, and presents the proof by REST for another operation and for the same
    one. Expects no 200 with a further receipt. The identical request may get the stored answer.
    """
    if "rail.a2a" not in case.profile.claims.options:
        for row in (_OTHER, _SAME):
            case.mark_not_applicable(row, _NO_DOOR)
        return
    operations = case.session.catalog.operations
    task, proof = await _bought(case, operations[0])
    if task is None:
        for row in (_OTHER, _SAME):
            case.mark_inconclusive(
                row, "no task over A2A could be bought: the interface leaves the form of its payment open"
            )
        return
    for row, operation in ((_OTHER, operations[-1]), (_SAME, operations[0])):
        answer = await present(case, operation, proof)
        fresh = receipts(answer) - receipts(task.answer)
        stored = row == _SAME and not fresh
        holds = answer.status != 200 or stored
        where = {"operation": operation.path, "door": "A2A, then REST"}
        case.expect(row, holds, "a refusal", answer.status, exchange=answer, where=where)


async def _bought(case: Case, operation: Operation) -> tuple[Task | None, Mapping[str, object]]:
    """Order and pay a task. Return the completed task, or None, and the proof."""
    task = await a2a.order_service(case, operation)
    entry = next((one for one in task.entries if lane_of(one) == case.lane), None)
    if task.id is None or entry is None:
        return None, {}
    payer = await case.session.payers.for_rail(case.lane)
    proof = await payer.pay(entry)
    name_live_values(case, proof)
    became = await a2a.settle_task(case, task.id, proof)
    return (became if became.state == "completed" else None), proof
