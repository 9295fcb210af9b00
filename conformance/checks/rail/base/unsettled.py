"""RAIL-PAY on Base while a settlement is on its way: it waits, it fails in its block, or its block is taken back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from conformance.attacks.engine import receipts
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.http.client import Answer, retry_after
from conformance.judging.rail.base.funded_challenges import FundedChallenge, FundedChallenges, base_payer
from conformance.judging.rail.refusals import honest_payment_is_served
from conformance.lanes.base.authorization import Authorization
from conformance.lanes.base.payer import BasePayer
from conformance.surfaces.rail.paid_answers import brief

Act = Callable[[FundedChallenge, Authorization], Awaitable[None]]
Judge = Callable[[], Awaitable[None]]
_LOOK_SECONDS, _LOOKS = 0.02, 500
_BLOCKS_LATER = 4
# Ends of windows, by how they are written: one bit more than a signed number of 64 bits holds, then one more, and all.
_WIDE: Final[Mapping[str, int]] = {"2^63": 2**63, "2^64": 2**64, "2^256 - 1": 2**256 - 1}
# In conflict with itself, too early, too many.
_LATER: Final = frozenset({409, 425, 429})
# So long a rail may wait for a settlement before it says that it is on its way, and is then started again.
_SENT_SECONDS = 5.0


@asynccontextmanager
async def _fault(payer: BasePayer, name: str, count: int = 10_000) -> AsyncIterator[None]:
    """Show a fault of the node until the end, and let go then of what it kept out of blocks."""
    try:
        async with payer.fault(name, count=count):
            yield
    finally:
        await payer.control("release")
        await payer.control("advance", blocks=1)


async def _has_faults(case: Case, payer: BasePayer, *names: str) -> bool:
    if set(names) <= set(await payer.fault_names()):
        return True
    for row in case.check.rows:
        case.documented(row, f"this node cannot be made to do it (no control verbs {', '.join(names)})")
    return False


async def _once_more(case: Case, stake: FundedChallenge, given: Authorization) -> Answer:
    """Present a proof some blocks later, as a client does that is told to try again, and return the last word."""
    await stake.payer.blocks_later(_BLOCKS_LATER)
    return await stake.redeem(case, given)


@check(
    "RAIL-PAY-04",
    "RAIL-PAY-07",
    "RAIL-PAY-11",
    surface="rail",
    lane="base",
    exclusive="chain",
    fix="Serve only when the settlement's receipt shows success and the transfer; that a call would have succeeded "
    "when it was tried means nothing. Read the numbers of an authorization with all their 256 bits.",
)
async def settlement_that_waits_and_fails(case: Case) -> None:
    """A settlement that is in no block yet serves nobody, and one that fails in its block serves nobody ever.

    Keeps the rail's settlements in the node's pool by the node's own control and presents four authorizations; moves
    one payer's money away, has one cancel and one use the nonce to pay itself, in blocks without them; then lets the
    settlements in and presents all again. Expects that none is served while it waits, that the untouched one is
    afterwards, where its money moved and a challenge of its age can still be paid, and the other three never. Beside
    them wait authorizations whose window ends beyond what 64 bits hold: a rail may refuse them, but what it refuses
    otherwise than the untouched one while they wait it must not cash.
    """
    payer = await base_payer(case)
    if not await _has_faults(case, payer, "withhold"):
        return
    operation = case.session.operations[0]
    await honest_payment_is_served(case, operation)
    away = (await payer.new_account()).address

    async def nothing(_: FundedChallenge, __: Authorization) -> None:
        """Leave it to its settlement."""

    async def empties(stake: FundedChallenge, _: Authorization) -> None:
        await payer.transfer(stake.token.address, away, stake.price, sender=stake.account)

    async def cancels(stake: FundedChallenge, given: Authorization) -> None:
        await payer.cancel(stake.account, given)

    async def pays_itself(stake: FundedChallenge, _: Authorization) -> None:
        await payer.use(await stake.sign(to=stake.account.address))

    acts: dict[str, Act] = {"waits": nothing, "empties its account": empties, "cancels": cancels}
    acts["uses the nonce to pay itself"] = pays_itself
    stakes = FundedChallenges(case, payer)
    control = await stakes.stake(operation)
    all_ = await run_concurrently(stakes.stake(operation, coin=True) for _ in acts)
    given = await run_concurrently(stake.sign() for stake in all_)
    wide = await _wide_windows(stakes, operation)
    async with _fault(payer, "withhold"):
        waiting = [*zip(all_, given, strict=True), *wide.values()]
        answers = await run_concurrently(stake.present(case, one) for stake, one in waiting)
        await payer.control("fault", name="withhold", seed=1, count=0)
        for what, answer in zip(acts, answers[: len(acts)], strict=True):
            _judge(case, "RAIL-PAY-07", answer, f"its settlement is in no block; the payer {what}")
        await run_concurrently(act(stake, one) for act, stake, one in zip(acts.values(), all_, given, strict=True))
        await run_concurrently(stake.recount() for stake in all_[1:])
    again = await run_concurrently(_once_more(case, stake, one) for stake, one in zip(all_[1:], given[1:], strict=True))
    for what, stake, answer in zip(list(acts)[1:], all_[1:], again, strict=True):
        _judge(case, "RAIL-PAY-11", answer, f"its settlement failed in its block; the payer {what}")
        stake.judged.append(("RAIL-PAY-11", what))
    await _held_up(case, all_[0], given[0], control, "its settlement was held up for a while")
    await judge_wide_windows(case, wide, answers[len(acts) :], beside=answers[: len(acts)])
    await stakes.audit()


async def _held_up(
    case: Case, stake: FundedChallenge, given: Authorization, control: FundedChallenge, what: str
) -> None:
    """Judge a payment whose settlement is in a block at last; `control` is a challenge of its age, not paid yet."""
    answer = await _served_once(case, stake, given, what)
    if (await control.redeem(case, await control.sign())).status == 200:
        judge_cashed(case, answer, await stake.moved(), what)
    else:
        case.note("a challenge of that age was not live any more, so that a refusal of what was cashed says nothing")


@asynccontextmanager
async def settlement_on_its_way(case: Case) -> AsyncIterator[Judge]:
    """Keep a settlement of the rail's in the node's pool by the node's own control, and let it in at the end.

    Yields what judges it then (RAIL-PAY-07, RAIL-PAY-04): it is charged once, and its call is served where a challenge
    of its age can be paid. Where the node cannot be made to keep it, that says so.
    """
    payer = await base_payer(case)
    if "withhold" not in await payer.fault_names():
        case.documented("RAIL-PAY-07", "this node cannot be made to do it (no control verbs withhold)")
        yield _nothing
        return
    stakes, operation = FundedChallenges(case, payer), case.session.operations[0]
    control, stake = await run_concurrently(stakes.stake(operation) for _ in range(2))
    given = await stake.sign()

    async def judge() -> None:
        await _held_up(case, stake, given, control, "the rail was started again while its settlement was on its way")
        await stakes.audit()

    async with _fault(payer, "withhold"):
        asking = asyncio.create_task(stake.present(case, given))
        try:
            await asyncio.wait([asking], timeout=_SENT_SECONDS)
            yield judge
        finally:
            await asyncio.wait([asking])


async def _nothing() -> None:
    """Judge nothing."""


async def _wide_windows(
    stakes: FundedChallenges, operation: Operation
) -> dict[str, tuple[FundedChallenge, Authorization]]:
    """Return authorizations of long windows, each on a challenge of its own, by when they end."""

    async def one(end: int) -> tuple[FundedChallenge, Authorization]:
        stake = await stakes.stake(operation)
        return stake, await stake.sign(valid_after=0, valid_before=end)

    made = await run_concurrently(map(one, _WIDE.values()))
    return dict(zip(_WIDE, made, strict=True))


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


def _judge(case: Case, row: str, answer: Answer, what: str) -> None:
    case.expect(row, answer.status >= 300, "not served", brief(answer), exchange=answer, where={"payment": what})


async def _served_once(case: Case, stake: FundedChallenge, given: Authorization, what: str) -> Answer:
    """Judge that a payment that was held up has moved one price when it is served, and never more than one."""
    answer = await _once_more(case, stake, given)
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


@check(
    "RAIL-PAY-07",
    "RAIL-WELD-11",
    surface="rail",
    lane="base",
    exclusive="chain",
    fix="Wait for so many confirmations that a block is not taken back, look again after a wait, and send a lost "
    "settlement again under the same nonce.",
)
async def settlement_that_is_taken_back(case: Case) -> None:
    """A settlement that a reorganisation takes back, or that the pool loses, is served only once it stands again.

    Has the node drop a settlement from its pool; then replaces the blocks in which a settlement has just been mined;
    then makes the node lie about finality until a call is served, and replaces those blocks. Expects that what is
    served of the first two has moved one price, and that the third buys no second receipt.
    """
    payer = await base_payer(case)
    if not await _has_faults(case, payer, "reject_late", "early_finality"):
        return
    operation = case.session.operations[0]
    await honest_payment_is_served(case, operation)
    stakes = FundedChallenges(case, payer)
    # No reorganisation must take back what gave the accounts their money.
    lost, mined, served = await run_concurrently(stakes.stake(operation, prices=3) for _ in range(3))
    await _lost_from_the_pool(case, payer, lost)
    await _mined_and_taken_back(case, payer, mined)
    await _served_and_taken_back(case, payer, served)


async def _lost_from_the_pool(case: Case, payer: BasePayer, stake: FundedChallenge) -> None:
    given = await stake.sign()
    async with _fault(payer, "reject_late", count=1):
        answer = await stake.present(case, given)
        if answer.status == 200 and (moved := await stake.moved()) != stake.price:
            where = {"payment": "its settlement was lost from the pool"}
            found = f"200, {moved} of {stake.price} moved"
            case.expect("RAIL-PAY-07", False, "served for one price", found, exchange=answer, where=where)
    await _served_once(case, stake, given, "its settlement was lost from the pool")


async def _head(payer: BasePayer) -> int:
    return int((await payer.node.newest())["number"])


async def _mined_and_taken_back(case: Case, payer: BasePayer, stake: FundedChallenge) -> None:
    given, what = await stake.sign(), "its settlement's block was taken back"
    await payer.blocks_later(2)
    start = await _head(payer)
    asking = asyncio.create_task(stake.present(case, given))
    try:
        seen = await _mined(stake, given, asking)
        if seen:
            await payer.control("reorg", depth=await _head(payer) - start)
    finally:
        answer = await asking
    if answer.status == 200 and await stake.moved() == 0:
        # How many blocks make a payment final is the target's own matter; so is what it loses by that.
        case.note(f"{what}: it was served before, and nothing has moved")
        await stake.redeem(case, given)
    else:
        await _served_once(case, stake, given, what)


async def _mined(stake: FundedChallenge, given: Authorization, asking: asyncio.Task[Answer]) -> bool:
    """Look until the authorization is used; False when the answer comes first."""
    for _ in range(_LOOKS):
        if await stake.token.is_used(given.sender, given.nonce):
            return not asking.done()
        if asking.done():
            return False
        await asyncio.sleep(_LOOK_SECONDS)
    return False


async def _served_and_taken_back(case: Case, payer: BasePayer, stake: FundedChallenge) -> None:
    given = await stake.sign()
    await payer.blocks_later(2)
    start = await _head(payer)
    async with _fault(payer, "early_finality"):
        first = await stake.present(case, given)
        await payer.control("reorg", depth=await _head(payer) - start)
    again = await stake.present(case, given)
    case.expect(
        "RAIL-WELD-11",
        len({receipts(answer) for answer in (first, again) if answer.status == 200}) <= 1,
        "one receipt, however often the chain is replaced",
        f"{brief(first)}, then {brief(again)}",
        exchange=again,
        where={"payment": "served on a lie about finality, then its block was taken back"},
    )
    await honest_payment_is_served(case, stake.quote.operation)
