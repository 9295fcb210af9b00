"""RAIL-WELD-13 where the payer sends the transaction: nothing is served while the chain cannot be asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from conformance.engine.check import Case
from conformance.engine.concurrency import run_concurrently
from conformance.http.client import Answer
from conformance.judging.rail.refusals import judge_outage
from conformance.surfaces.rail.paid_answers import brief

_CALLS = 10_000


async def nothing_is_served(
    case: Case,
    control: Callable[..., Awaitable[Any]],
    fault: str,
    tx_id: str,
    invent: Callable[[], str],
    present: Callable[[str], Awaitable[Answer]],
) -> None:
    """Judge what is answered while a node shows a fault, and note what a real payment is answered afterwards.

    Args:
        case: The case.
        control: Carries out a control verb of the node.
        fault: The fault.
        tx_id: A transaction that pays.
        invent: Returns the id of one that nobody sent.
        present: Presents a transaction.
    """
    seed, fake = case.rng.randrange(2**16), invent()
    await control("fault", name=fault, seed=seed, count=_CALLS)
    try:
        answers = await run_concurrently(present(one) for one in (tx_id, fake))
        for answer, what in zip(answers, ("a real payment", "an invented one"), strict=True):
            judge_outage(case, answer, {"fault": fault, "payment": what})
    finally:
        await control("fault", name=fault, seed=0, count=0)
    answer = await present(tx_id)
    if answer.status != 200:
        case.note(f"after the fault {fault} ended, the payment was answered {brief(answer)}: money was lost")
