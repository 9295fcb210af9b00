"""A pending settlement on Base: the node's control keeps it in the pool, and its end is judged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from conformance.assertions.rail.base.funded_challenges import FundedChallenge, FundedChallenges, get_base_payer
from conformance.engine.check import Case
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer, read_retry_after
from conformance.lanes.base.authorization import Authorization
from conformance.lanes.base.payer import BasePayer
from conformance.surfaces.rail.paid_answers import brief

Judge = Callable[[], Awaitable[None]]
# More blocks than the default finality of the simulated chain, so that the rail cannot wait for another one.
_BLOCKS_LATER = 4
# Statuses that ask the client to wait: a conflict with the same payment, too early, too many.
_WAIT_STATUSES: Final = frozenset({409, 425, 429})
# Seconds. A rail may wait so long for a settlement before it answers that it is pending; after that it is restarted.
_SENT_SECONDS = 5.0


@asynccontextmanager
async def apply_node_fault(payer: BasePayer, name: str, count: int = 10_000) -> AsyncIterator[None]:
    """Apply a fault to the node, and at the end release the transactions that it withheld."""
    try:
        async with payer.fault(name, count=count):
            yield
    finally:
        # Released in any case, and put into a block: a withheld transaction would block the rail's account for later
        # checks.
        await payer.control("release")
        await payer.control("advance", blocks=1)


@asynccontextmanager
async def withhold_settlement(case: Case, lane: str) -> AsyncIterator[Judge | None]:
    """Keep a settlement of the rail in the node's pool by the node's own control, and release it at the end.

    Yields the function that judges it then (RAIL-PAY-07, RAIL-PAY-04). It must be charged once, and its call must be
    served if a challenge of its age can still be paid. If the node cannot withhold it, yields None and documents
    RAIL-PAY-07.
    """
    payer = await get_base_payer(case, lane)
    if not await can_show(case, payer, "withhold", rows=["RAIL-PAY-07"]):
        yield None
        return
    stakes, operation = FundedChallenges(case, payer), case.session.catalog.operations[0]
    control, stake = await run_concurrently(stakes.open_challenge(operation) for _ in range(2))
    authorization = await stake.sign()

    async def judge() -> None:
        await judge_delayed_payment(
            case, stake, authorization, control, "the rail was restarted while its settlement was pending"
        )
        await stakes.audit()

    async with apply_node_fault(payer, "withhold"):
        request_task = asyncio.create_task(stake.present(case, authorization))
        try:
            await asyncio.wait([request_task], timeout=_SENT_SECONDS)
            yield judge
        finally:
            await asyncio.wait([request_task])


async def judge_delayed_payment(
    case: Case, stake: FundedChallenge, authorization: Authorization, control: FundedChallenge, payment_name: str
) -> None:
    """Judge a payment whose settlement is finally in a block; `control` is an unpaid challenge of the same age."""
    answer = await judge_served_once(case, stake, authorization, payment_name)
    # The control has the same age and was never cashed. If it is refused, the challenge is simply too old.
    if (await control.redeem(case, await control.sign())).status == 200:
        judge_cashed(case, answer, await stake.measure_loss(), payment_name)
    else:
        case.note("a challenge of that age had expired, so the refusal of the cashed payment proves nothing")


async def can_show(case: Case, payer: BasePayer, *names: str, rows: Sequence[str] = ()) -> bool:
    """Return whether the node has some faults; if not, the rows are documented, by default all of the check."""
    if set(names) <= set(await payer.fault_names()):
        return True
    for row in rows or case.check.rows:
        case.mark_documented(row, f"this node cannot do it (no control verbs {', '.join(names)})")
    return False


async def present_later(case: Case, stake: FundedChallenge, authorization: Authorization) -> Answer:
    """Present a proof some blocks later, as a client does that is asked to try again, and return the last answer."""
    await stake.payer.wait_for_blocks(_BLOCKS_LATER)
    return await stake.redeem(case, authorization)


async def judge_served_once(
    case: Case, stake: FundedChallenge, authorization: Authorization, payment_name: str
) -> Answer:
    """Judge that a delayed payment has moved exactly one price if it is served, and never more than one."""
    answer = await present_later(case, stake, authorization)
    loss, where = await stake.measure_loss(), {"payment": payment_name}
    holds = loss == stake.price if answer.status == 200 else loss <= stake.price
    finding = f"{brief(answer)}, {loss} of {stake.price} moved"
    case.expect("RAIL-PAY-07", holds, "served for one price", finding, exchange=answer, where=where)
    if answer.status != 200:
        case.note(f"{payment_name}: the last answer was {finding}")
    return answer


def judge_cashed(case: Case, answer: Answer, loss: int, payment_name: str) -> None:
    """Judge that a valid payment of a live challenge is not refused for good while its money is kept.

    The payer has done everything that was requested, and must not pay again because of a delay.
    """
    hint = (
        "A settlement may reach its block after the answer: answer with Retry-After, keep the claim, and serve the "
        "same proof once the chain shows that it paid."
    )
    finding, where = f"{brief(answer)}, {loss} moved", {"payment": payment_name}
    holds, requirement = not (_is_final(answer) and loss > 0), "served, or refused and nothing cashed"
    case.expect("RAIL-PAY-04", holds, requirement, finding, exchange=answer, where=where, hint=hint)


async def judge_wide_windows(
    case: Case,
    wide_payments: Mapping[str, tuple[FundedChallenge, Authorization]],
    answers: Sequence[Answer],
    *,
    ordinary_answers: Sequence[Answer],
) -> None:
    """Judge that no payment with a long window was refused while it waited, and cashed nevertheless.

    Args:
        case: The check's case.
        wide_payments: The payments, by the end of their windows.
        answers: The answer to each while its settlement waited.
        ordinary_answers: The answers to ordinary payments meanwhile. If these are all alike, another answer is due to
            the window.
    """
    usual_refusals = {_describe_refusal(one) for one in ordinary_answers}
    for (window_name, (stake, _)), answer in zip(wide_payments.items(), answers, strict=True):
        loss, is_final = (
            await stake.measure_loss(),
            _is_final(answer) and len(usual_refusals) == 1 and _describe_refusal(answer) not in usual_refusals,
        )
        where = {"payment": f"its settlement is in no block; validBefore is {window_name}"}
        finding = f"{brief(answer)}, and {loss} of {stake.price} moved afterwards"
        requirement = "refused and nothing cashed, or served for one price"
        hint = (
            "Read validBefore and the other numbers of an authorization as numbers of 256 bits wherever they are "
            "compared; after a settlement was sent, only the chain shows that it failed."
        )
        holds = loss == 0 if is_final else loss <= stake.price
        case.expect("RAIL-PAY-04", holds, requirement, finding, exchange=answer, where=where, hint=hint)


def _is_final(answer: Answer) -> bool:
    """Return whether an answer refuses a payment for good: neither "later", nor that the service is unavailable."""
    # Retry-After turns a refusal into "later", whatever its status.
    return 400 <= answer.status < 500 and answer.status not in _WAIT_STATUSES and read_retry_after(answer) is None


def _describe_refusal(answer: Answer) -> str:
    return f"{answer.status} {answer.read_object().get('error')}"
