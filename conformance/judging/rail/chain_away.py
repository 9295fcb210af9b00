"""RAIL-WELD-13: nothing is served while the chain cannot be asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from conformance.engine.check import Case
from conformance.engine.concurrency import run_concurrently
from conformance.http.client import Answer
from conformance.judging.rail.quoted import QuotedPayment
from conformance.judging.rail.recovery import SUBMISSION_FAULTS
from conformance.judging.rail.refusals import AWAY, honest_payment_is_served, judge_outage
from conformance.lanes.node_control import Controlled
from conformance.surfaces.rail.paid_answers import brief

_CALLS = 10_000


async def faults_to_show(case: Case, node: Controlled) -> list[str]:
    """Return the faults that a node can be made to show while payments are presented.

    Where it can show none, or cannot be away, that is written down for the rows.
    """
    names = [name for name in await node.fault_names() if name not in SUBMISSION_FAULTS]
    if AWAY not in names:
        case.mark_documented("RAIL-WELD-16", "this node has no control verb that takes it away")
    if not names:
        case.mark_documented("RAIL-WELD-13", "this node has no control verb that takes it away")
    return names


async def judge_under_fault(
    case: Case, node: Controlled, fault: str, payments: Mapping[str, Callable[[], Awaitable[Answer]]]
) -> None:
    """Judge what is answered while a node shows a fault.

    Args:
        case: The case.
        node: The node.
        fault: The fault.
        payments: What presents each payment, by what it is.
    """
    async with node.fault(fault, seed=case.rng.randrange(2**16), count=_CALLS):
        answers = await run_concurrently(presented() for presented in payments.values())
        for answer, what in zip(answers, payments, strict=True):
            judge_outage(case, answer, {"fault": fault, "payment": what})


async def nothing_is_served(case: Case, lane: type[QuotedPayment], node: Controlled) -> None:
    """Judge a real payment and an invented one under each fault, and note what the real one is answered afterwards.

    Args:
        case: The case, of a lane whose payer sends the transaction.
        lane: The lane's challenges.
        node: Its node.
    """
    faults = await faults_to_show(case, node)
    if not faults:
        return
    operation = case.session.catalog.operations[0]
    await honest_payment_is_served(case, operation)
    # Each is presented with a challenge of its own: whichever is served, the other could be as well.
    quotes = [(await lane.ask(case, operation), await lane.ask(case, operation)) for _ in faults]
    paid = await run_concurrently(quoted.send() for quoted, _ in quotes)
    for fault, (quoted, unpaid), tx_id in zip(faults, quotes, paid, strict=True):
        real = partial(quoted.present, tx_id)
        invented = partial(_present_invented, unpaid)
        await judge_under_fault(case, node, fault, {"a real payment": real, "an invented one": invented})
        answer = await real()
        if answer.status != 200:
            case.note(f"after the fault {fault} ended, the payment was answered {brief(answer)}: money was lost")


async def _present_invented(quoted: QuotedPayment) -> Answer:
    return await quoted.present(quoted.invented_id())
