"""RAIL-WELD-08 and -11: a proof that was spent by REST is refused over A2A, and the reverse.

Both transports must share one ledger. A rail with a table for each would execute one payment twice.
"""

from __future__ import annotations

from collections.abc import Mapping

from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.a2a import Task
from conformance.surfaces.rail.paid_answers import extract_receipts
from conformance.surfaces.rail.purchase import Purchase, lane_of, name_live_values, present, purchase

_OTHER_REQUEST_ROW, _SAME_REQUEST_ROW = "RAIL-WELD-08", "RAIL-WELD-11"
_FIX = (
    "Redeem payments by REST and over A2A with one atomic statement on one table. Answer the identical request with "
    "the stored answer."
)


def lacks_a2a(case: Case) -> bool:
    """Return whether the profile claims no A2A endpoint, and report that for each row."""
    is_absent = not case.profile.claims.includes("rail.a2a")
    for row in case.check.rows if is_absent else ():
        case.mark_not_applicable(row, "the profile does not claim the option rail.a2a")
    return is_absent


@check(_OTHER_REQUEST_ROW, _SAME_REQUEST_ROW, surface="rail", lane="each", fix=_FIX)
async def a_proof_spent_at_rest_is_dead_over_a2a(case: Case) -> None:
    """A captured X-PAYMENT that bought a call by REST is refused over A2A.

    Buys one operation by REST, orders another operation and the same one over A2A, and submits the captured proof for
    both tasks. Expects no completed task with a further receipt. The identical request may get the stored answer.
    """
    if lacks_a2a(case):
        return
    operations = case.session.catalog.operations
    sale = await purchase(case, operations[0], case.lane)
    for row, operation in ((_OTHER_REQUEST_ROW, operations[-1]), (_SAME_REQUEST_ROW, operations[0])):
        if row == _OTHER_REQUEST_ROW and len(operations) < 2:
            case.mark_not_applicable(row, "the rail has only one operation")
            continue
        task = await a2a.order_service(case, operation)
        if task.id is None or not task.asks_for_payment:
            case.mark_inconclusive(row, "no task over A2A asked for payment, which RAIL-A2A-03 judges")
            continue
        later_task = await a2a.pay_task(case, task.id, sale.proof)
        _judge(case, row, operation, sale, later_task)


def _judge(case: Case, row: str, operation: Operation, sale: Purchase, later_task: Task) -> None:
    new_receipts = extract_receipts(later_task.answer) - extract_receipts(sale.answer)
    is_stored_answer = row == _SAME_REQUEST_ROW and not new_receipts
    holds = is_stored_answer or (later_task.state != "completed" and not new_receipts)
    # The identical request may get its stored answer, also over the other transport. A new receipt means a second
    # execution.
    expectation = "a refusal, or the stored answer" if row == _SAME_REQUEST_ROW else "a refusal"
    where = {"operation": operation.path, "door": "REST, then A2A"}
    case.expect(row, holds, expectation, later_task.describe(), exchange=later_task.answer, where=where)


@check(_OTHER_REQUEST_ROW, _SAME_REQUEST_ROW, surface="rail", lane="each", fix=_FIX)
async def a_proof_spent_over_a2a_is_dead_at_rest(case: Case) -> None:
    """A proof that bought a task over A2A is refused by REST.

    Orders one operation over A2A, pays the task, and presents the proof by REST for another operation and for the same
    one. Expects no 200 with a further receipt. The identical request may get the stored answer.
    """
    if lacks_a2a(case):
        return
    operations = case.session.catalog.operations
    task, proof = await _buy_task(case, operations[0])
    # The interface leaves open the form of a payment over A2A, so a task that stays unpaid may be the suite's fault.
    if task is None:
        for row in (_OTHER_REQUEST_ROW, _SAME_REQUEST_ROW):
            case.mark_inconclusive(
                row, "no task over A2A could be bought: the interface leaves the form of its payment open"
            )
        return
    for row, operation in ((_OTHER_REQUEST_ROW, operations[-1]), (_SAME_REQUEST_ROW, operations[0])):
        answer = await present(case, operation, proof)
        new_receipts = extract_receipts(answer) - extract_receipts(task.answer)
        is_stored_answer = row == _SAME_REQUEST_ROW and not new_receipts
        holds = answer.status != 200 or is_stored_answer
        where = {"operation": operation.path, "door": "A2A, then REST"}
        case.expect(row, holds, "a refusal", answer.status, exchange=answer, where=where)


async def _buy_task(case: Case, operation: Operation) -> tuple[Task | None, Mapping[str, object]]:
    """Order and pay a task. Return the completed task, or None, and the proof."""
    task = await a2a.order_service(case, operation)
    entry = next((one for one in task.entries if lane_of(one) == case.lane), None)
    if task.id is None or entry is None:
        return None, {}
    payer = await case.session.payers.for_rail(case.lane)
    # Paid by the terms of the task itself, since a REST challenge may have another token.
    proof = await payer.pay(entry)
    name_live_values(case, proof)
    paid_task = await a2a.settle_task(case, task.id, proof)
    return (paid_task if paid_task.state == "completed" else None), proof
