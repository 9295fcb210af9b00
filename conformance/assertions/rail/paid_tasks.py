"""Tasks over A2A that are paid: what REST is judged by, judged over the second transport as well.

Each payment is made on the terms of its own task, so that only the fault that is tried can be the reason of a refusal.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.agent.answer_reader import leaves
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.a2a import Task
from conformance.surfaces.rail.paid_answers import extract_receipts
from conformance.surfaces.rail.purchase import Challenge, header_value, name_live_values, pay

LEAK_ROW: Final = "X-ROB-02"
_UNDECIDED_IS_OPEN: Final = OpenPoint("the interface leaves open what follows the payment-required state", "P-RA-08")
_HISTORY_IS_OPEN: Final = OpenPoint("the interface leaves open what the history of a task contains", "P-RA-07")
_DEPTH: Final = 16
_FEW: Final = 4
_PART: Final = "wrong payments, each for a separate task over A2A; REST is sent all"
MakePayment = Callable[[Challenge], Awaitable[Mapping[str, Any]]]


async def order_task(case: Case, operation: Operation) -> Task:
    """Return a task that asks for payment.

    Raises:
        Inconclusive: The order made no such task, which RAIL-A2A-03 judges.
    """
    task = await a2a.order_service(case, operation)
    if task.id is None or not task.asks_for_payment:
        raise Inconclusive("no task over A2A asked for payment, which RAIL-A2A-03 judges")
    return task


async def order_quoted_task(case: Case, operation: Operation) -> tuple[Task, Challenge]:
    """Return a task that asks for payment, and its terms as a challenge."""
    task = await order_task(case, operation)
    return task, Challenge(operation, operation.body, task.answer, tuple(dict(one) for one in task.entries))


async def submit_payment(case: Case, task: Task, proof: Mapping[str, Any]) -> Task:
    """Pay a task with a proof and return the task in its final state."""
    name_live_values(case, proof)
    return await a2a.settle_task(case, task.id or "", proof)


def list_new_receipts(unpaid_task: Task, paid_task: Task) -> frozenset[str]:
    """Return every compact JWS that the payment added to the task. Those of the unpaid task do not count."""
    return extract_receipts(paid_task.answer) - extract_receipts(unpaid_task.answer)


def judge_unpaid(case: Case, row: str, unpaid_task: Task, paid_task: Task, payment: str) -> None:
    """Judge that a wrong payment completed no task and brought no receipt."""
    new_receipts = list_new_receipts(unpaid_task, paid_task)
    holds = paid_task.state != "completed" and not new_receipts
    where = {"door": "A2A", "payment": payment}
    case.expect(row, holds, "no completed task", paid_task.describe(), exchange=paid_task.answer, where=where)


def judge_undecided(case: Case, row: str, unpaid_task: Task, undecided_task: Task, payment: str) -> None:
    """Judge that a payment that is not decided yet completed no task, and may be sent again (P-RA-08)."""
    judge_unpaid(case, row, unpaid_task, undecided_task, payment)
    where = {"door": "A2A", "payment": payment}
    holds, expectation = undecided_task.payment_status == "payment-submitted", "payment-submitted: not decided yet"
    finding, answer = undecided_task.describe(), undecided_task.answer
    case.expect(row, holds, expectation, finding, exchange=answer, where=where, beyond=_UNDECIDED_IS_OPEN)


async def judge_served_later(case: Case, row: str, task: Task, proof: Mapping[str, Any], payment: str) -> None:
    """Judge that a payment that was not decided before completes its task when it is sent again (P-RA-08)."""
    paid_task = await a2a.settle_task(case, task.id or "", proof)
    where = {"door": "A2A", "payment": f"{payment}, sent again"}
    holds, finding, answer = paid_task.state == "completed", paid_task.describe(), paid_task.answer
    case.expect(row, holds, "completed", finding, exchange=answer, where=where, beyond=_UNDECIDED_IS_OPEN)


async def can_pay_tasks(case: Case, operation: Operation) -> bool:
    """Return whether the target has the option and an honest payment completes a task.

    The interface leaves open how a task is paid. If the suite's form is not understood, refusals show nothing, and REST
    alone decides.
    """
    if not case.profile.claims.includes("rail.a2a"):
        return False
    try:
        task, quote = await order_quoted_task(case, operation)
        paid_task = await submit_payment(case, task, await pay(case, quote, case.lane))
    except Inconclusive as reason:
        case.note(f"nothing is judged over A2A: {reason}")
        return False
    if paid_task.state != "completed":
        case.note(f"nothing is judged over A2A: an honest payment became {paid_task.describe()}, its form is open")
    return paid_task.state == "completed"


async def judge_wrong_payments(
    case: Case, row: str | tuple[str, ...], operation: Operation, payments: Mapping[str, MakePayment]
) -> None:
    """Judge that wrong payments complete no task. A few are drawn, since REST is sent all of them.

    Args:
        case: The case.
        row: The row, or several.
        operation: What is ordered.
        payments: By description, what makes the proof of a wrong payment for a task's terms.
    """
    if not await can_pay_tasks(case, operation):
        return
    for name in case.draw_part(payments, _FEW, _PART):
        task, quote = await order_quoted_task(case, operation)
        proof = await payments[name](quote)
        name_live_values(case, proof)
        paid_task = await a2a.settle_task(case, task.id or "", proof)
        for one in (row,) if isinstance(row, str) else row:
            judge_unpaid(case, one, task, paid_task, name)


def judge_secrets(case: Case, proof: Mapping[str, Any], where: Mapping[str, str], *tasks: Task) -> None:
    """Judge that no task repeats a payment, as the submitted object or in the form of the REST header (P-RA-07)."""
    # A proof that can still pay must not be in a history that other agents may read.
    for task in tasks:
        places = [place for place, value in leaves(dict(task.members), depth=_DEPTH) if _is_payment(value, proof)]
        expectation, finding = "no payment in the task", ", ".join(map(str, places)) or "nowhere"
        task_where, beyond = {**where, "door": "A2A"}, _HISTORY_IS_OPEN
        case.expect(LEAK_ROW, not places, expectation, finding, exchange=task.answer, where=task_where, beyond=beyond)


def _is_payment(value: Any, proof: Mapping[str, Any]) -> bool:
    if isinstance(value, Mapping):
        return all(value.get(name) == member for name, member in proof.items())
    return isinstance(value, str) and header_value(proof) in value
