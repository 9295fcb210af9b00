"""A settlement on Base that is on its way: kept in the pool by the node's own control, and what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from conformance.engine.check import Case
from conformance.engine.concurrency import run_concurrently
from conformance.http.client import Answer, retry_after
from conformance.judging.rail.base.funded_challenges import FundedChallenge, FundedChallenges, base_payer
from conformance.lanes.base.authorization import Authorization
from conformance.lanes.base.payer import BasePayer
from conformance.surfaces.rail.paid_answers import brief

Judge = Callable[[], Awaitable[None]]
_BLOCKS_LATER = 4
# In conflict with itself, too early, too many.
_LATER: Final = frozenset({409, 425, 429})
# So long a rail may wait for a settlement before it says that it is on its way, and is then started again.
_SENT_SECONDS = 5.0


@asynccontextmanager
async def node_fault(payer: BasePayer, name: str, count: int = 10_000) -> AsyncIterator[None]:
    """Show a fault of the node until the end, and let go then of what it kept out of blocks."""
    try:
        async with payer.fault(name, count=count):
            yield
    finally:
        await payer.control("release")
        await payer.control("advance", blocks=1)


@asynccontextmanager
async def settlement_on_its_way(case: Case, lane: str) -> AsyncIterator[Judge | None]:
    """Keep a settlement of the rail's on a lane in the node's pool by the node's own control, and let it in at the end.

    Yields what judges it then (RAIL-PAY-07, RAIL-PAY-04): it is charged once, and its call is served where a challenge
    of its age can be paid. Where the node cannot be made to keep it, None is yielded, and RAIL-PAY-07 says why.
    """
    payer = await base_payer(case, lane)
    if not await can_show(case, payer, "withhold", rows=["RAIL-PAY-07"]):
        yield None
        return
    stakes, operation = FundedChallenges(case, payer), case.session.catalog.operations[0]
    control, stake = await run_concurrently(stakes.stake(operation) for _ in range(2))
    given = await stake.sign()

    async def judge() -> None:
        await held_up(case, stake, given, control, "the rail was started again while its settlement was on its way")
        await stakes.audit()

    async with node_fault(payer, "withhold"):
        asking = asyncio.create_task(stake.present(case, given))
        try:
            await asyncio.wait([asking], timeout=_SENT_SECONDS)
            yield judge
        finally:
            await asyncio.wait([asking])


async def held_up(
    case: Case, stake: FundedChallenge, given: Authorization, control: FundedChallenge, what: str
) -> None:
    """Judge a payment whose settlement is in a block at last; `control` is a challenge of its age, not paid yet."""
    answer = await served_once(case, stake, given, what)
    if (await control.redeem(case, await control.sign())).status == 200:
        judge_cashed(case, answer, await stake.moved(), what)
    else:
        case.note("a challenge of that age was not live any more, so that a refusal of what was cashed says nothing")


async def can_show(case: Case, payer: BasePayer, *names: str, rows: Sequence[str] = ()) -> bool:
    """Return whether the node can be made to show some faults; where it cannot, the rows say so, all by default."""
    if set(names) <= set(await payer.fault_names()):
        return True
    for row in rows or case.check.rows:
        case.mark_documented(row, f"this node cannot be made to do it (no control verbs {', '.join(names)})")
    return False


async def once_more(case: Case, stake: FundedChallenge, given: Authorization) -> Answer:
    """Present a proof some blocks later, as a client does that is told to try again, and return the last word."""
    await stake.payer.blocks_later(_BLOCKS_LATER)
    return await stake.redeem(case, given)


async def served_once(case: Case, stake: FundedChallenge, given: Authorization, what: str) -> Answer:
    """Judge that a payment that was held up has moved one price when it is served, and never more than one."""
    answer = await once_more(case, stake, given)
    moved, where = await stake.moved(), {"payment": what}
    held = moved == stake.price if answer.status == 200 else moved <= stake.price
    found = f"{brief(answer)}, {moved} of {stake.price} moved"
    case.expect("RAIL-PAY-07", held, "served for one price", found, exchange=answer, where=where)
    if answer.status != 200:
        case.note(f"{what}: in the end it was answered {found}")
    return answer


def judge_cashed(case: Case, answer: Answer, moved: int, what: str) -> None:
    """Judge that a valid payment of a live challenge is not refused for good while what it moved is kept.

    The payer has done all that is asked, and must not pay again because it took a while.
    """
    hint = (
        "A settlement that was sent may come to its block after the answer: answer with Retry-After, keep the claim, "
        "and serve the same proof once the chain shows that it paid."
    )
    found, where = f"{brief(answer)}, {moved} moved", {"payment": what}
    held, expected = not (_is_final(answer) and moved > 0), "served, or refused and nothing cashed"
    case.expect("RAIL-PAY-04", held, expected, found, exchange=answer, where=where, hint=hint)


async def judge_wide_windows(
    case: Case,
    wide: Mapping[str, tuple[FundedChallenge, Authorization]],
    answers: Sequence[Answer],
    *,
    beside: Sequence[Answer],
) -> None:
    """Judge that no payment with a long window was refused while it waited, and cashed all the same.

    Args:
        case: The check's case.
        wide: The payments, by when their windows end.
        answers: What each was answered while its settlement waited.
        beside: What ordinary payments were answered meanwhile: where they are told the same, another word is of the
            window.
    """
    usual = {_said(one) for one in beside}
    for (what, (stake, _)), answer in zip(wide.items(), answers, strict=True):
        moved, final = await stake.moved(), _is_final(answer) and len(usual) == 1 and _said(answer) not in usual
        where = {"payment": f"its settlement is in no block; validBefore is {what}"}
        found = f"{brief(answer)}, and {moved} of {stake.price} moved afterwards"
        expected = "refused and nothing cashed, or served for one price"
        hint = (
            "Read validBefore and the other numbers of an authorization as numbers of 256 bits wherever they are "
            "compared; once its settlement was sent, only the chain says that it came to nothing."
        )
        held = moved == 0 if final else moved <= stake.price
        case.expect("RAIL-PAY-04", held, expected, found, exchange=answer, where=where, hint=hint)


def _is_final(answer: Answer) -> bool:
    """Return whether an answer refuses a payment for good: neither "later" nor that the service is not itself."""
    return 400 <= answer.status < 500 and answer.status not in _LATER and retry_after(answer) is None


def _said(answer: Answer) -> str:
    return f"{answer.status} {answer.object().get('error')}"
