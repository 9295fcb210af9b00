"""RAIL-WELD-13: nothing is served while the chain cannot be consulted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from conformance.assertions.rail.challenge_payments import QuotedPayment
from conformance.assertions.rail.paid_tasks import (
    can_pay_tasks,
    judge_served_later,
    judge_undecided,
    order_quoted_task,
)
from conformance.assertions.rail.recovery_after_refusal import SUBMISSION_FAULTS
from conformance.assertions.rail.refusals import AWAY, judge_outage, require_honest_payment_served
from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.lanes.node_control import Controlled
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import pay

# Calls of the node that the fault affects: more than any check makes, so that it lasts until it is lifted.
_CALLS = 10_000


async def list_node_faults(case: Case, node: Controlled) -> list[str]:
    """Return the faults that a node can apply while payments are presented.

    If it has none, or cannot be made unavailable, the rows are documented.
    """
    # Faults of submitted transactions concern settlements, which other checks judge.
    names = [name for name in await node.fault_names() if name not in SUBMISSION_FAULTS]
    if AWAY not in names:
        case.mark_documented("RAIL-WELD-16", "this node has no control verb that makes it unavailable")
    if not names:
        case.mark_documented("RAIL-WELD-13", "this node has no control verb that makes it unavailable")
    return names


async def judge_under_fault(
    case: Case, node: Controlled, fault: str, payments: Mapping[str, Callable[[], Awaitable[Answer]]]
) -> None:
    """Judge the answers to payments while a node has a fault.

    Args:
        case: The case.
        node: The node.
        fault: The fault.
        payments: Presents each payment, by its description.
    """
    # The seed makes the fault fail the same calls when the run is replayed.
    async with node.fault(fault, seed=case.rng.randrange(2**16), count=_CALLS):
        # At the same time, because a node's fault may end after a number of its calls.
        answers = await run_concurrently(presented() for presented in payments.values())
        for answer, payment_name in zip(answers, payments, strict=True):
            judge_outage(case, answer, {"fault": fault, "payment": payment_name})


async def judge_nothing_served(case: Case, lane: type[QuotedPayment], node: Controlled) -> None:
    """Judge a real payment and an invented one under each fault, and note the answer to the real one afterwards.

    Args:
        case: The case, of a lane whose payer sends the transaction.
        lane: The lane's challenges.
        node: Its node.
    """
    faults = await list_node_faults(case, node)
    if not faults:
        return
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    # A separate challenge for each: with a shared one the first that is served would spend it.
    quotes = [(await lane.ask(case, operation), await lane.ask(case, operation)) for _ in faults]
    tx_ids = await run_concurrently(challenge_of_payment.send() for challenge_of_payment, _ in quotes)
    for fault, (challenge_of_payment, unpaid), tx_id in zip(faults, quotes, tx_ids, strict=True):
        present_real = partial(challenge_of_payment.present, tx_id)
        present_invented = partial(_present_invented, unpaid)
        await judge_under_fault(
            case, node, fault, {"a real payment": present_real, "an invented one": present_invented}
        )
        answer = await present_real()
        # The payer has paid, and the outage is over. The row does not say for how long a proof stays valid, so this is
        # only noted.
        if answer.status != 200:
            case.note(f"after the fault {fault} ended, the payment was answered {brief(answer)}: money was lost")
    if AWAY in faults and await can_pay_tasks(case, operation):
        await _judge_task_without_node(case, node, operation)


async def _judge_task_without_node(case: Case, node: Controlled, operation: Operation) -> None:
    """Judge that a payment over A2A completes no task while the node is away, and is not refused for good (P-RA-08)."""
    task, quote = await order_quoted_task(case, operation)
    proof = await pay(case, quote, case.lane)
    payment_name = f"a real payment, fault {AWAY}"
    async with node.fault(AWAY, seed=case.rng.randrange(2**16), count=_CALLS):
        undecided_task = await a2a.pay_task(case, task.id or "", proof)
        judge_undecided(case, "RAIL-WELD-13", task, undecided_task, payment_name)
    await judge_served_later(case, "RAIL-WELD-13", task, proof, payment_name)


async def _present_invented(challenge: QuotedPayment) -> Answer:
    return await challenge.present(challenge.invented_id())
