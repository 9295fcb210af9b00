"""RAIL-PAY on Base: settlements that wait in the pool, fail in their block, or are taken back by a reorganisation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from conformance.assertions.rail.base.funded_challenges import FundedChallenge, FundedChallenges, get_base_payer
from conformance.assertions.rail.base.pending_settlements import (
    apply_node_fault,
    can_show,
    judge_delayed_payment,
    judge_served_once,
    judge_wide_windows,
    present_later,
)
from conformance.assertions.rail.refusals import require_honest_payment_served
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.http.client import Answer
from conformance.lanes.base.authorization import Authorization
from conformance.lanes.base.payer import BasePayer
from conformance.surfaces.rail.paid_answers import brief, extract_receipts

Act = Callable[[FundedChallenge, Authorization], Awaitable[None]]
_POLL_SECONDS, _POLL_COUNT = 0.02, 500
# Ends of windows that overflow a signed and an unsigned number of 64 bits, and the largest one.
_WIDE_WINDOWS: Final[Mapping[str, int]] = {"2^63": 2**63, "2^64": 2**64, "2^256 - 1": 2**256 - 1}


@check(
    "RAIL-PAY-04",
    "RAIL-PAY-07",
    "RAIL-PAY-11",
    surface="rail",
    lane="base",
    exclusive=Exclusive.CHAIN,
    fix="Serve only when the settlement's receipt shows success and the transfer. A successful dry run proves nothing. "
    "Read the numbers of an authorization with all 256 bits.",
)
async def settlement_that_waits_and_fails(case: Case) -> None:
    """A settlement that is in no block yet pays no call, and a settlement that fails in its block never pays one.

    Makes the node hold the rail's settlements in its pool, and presents four authorizations. Meanwhile one payer
    empties the account, one cancels, and one uses the nonce to pay itself. Then lets the settlements into a block and
    presents all again. Expects that none is served while it waits, and that those three are never served. Expects that
    the fourth is served, if its money moved and a challenge of its age can still be paid.

    Also presents authorizations whose window ends beyond 64 bits. A rail may refuse them. If it refuses them in another
    way than it answers the waiting one, it must not cash them.
    """
    payer = await get_base_payer(case)
    if not await can_show(case, payer, "withhold"):
        return
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    other_address = (await payer.new_account()).address

    async def wait(_: FundedChallenge, __: Authorization) -> None:
        """Leave it to its settlement."""

    async def empty_account(stake: FundedChallenge, _: Authorization) -> None:
        await payer.transfer(stake.token.address, other_address, stake.price, sender=stake.account)

    async def cancel(stake: FundedChallenge, authorizations: Authorization) -> None:
        await payer.cancel(stake.account, authorizations)

    async def pay_itself(stake: FundedChallenge, _: Authorization) -> None:
        await payer.use(await stake.sign(to=stake.account.address))

    acts: dict[str, Act] = {"waits": wait, "empties its account": empty_account, "cancels": cancel}
    acts["uses the nonce to pay itself"] = pay_itself
    stakes = FundedChallenges(case, payer)
    control = await stakes.open_challenge(operation)
    challenges = await run_concurrently(stakes.open_challenge(operation, coin=True) for _ in acts)
    authorizations = await run_concurrently(stake.sign() for stake in challenges)
    # The contract compares 256 bits. A rail that cuts them to 64 sees such a window as closed, or as negative.
    wide_windows = await _make_wide_windows(stakes, operation)
    async with apply_node_fault(payer, "withhold"):
        pending_payments = [*zip(challenges, authorizations, strict=True), *wide_windows.values()]
        answers = await run_concurrently(stake.present(case, one) for stake, one in pending_payments)
        # From here on the node accepts transactions again, so those of the payers enter blocks before the held
        # settlements.
        await payer.control("fault", name="withhold", seed=1, count=0)
        for description, answer in zip(acts, answers[: len(acts)], strict=True):
            _judge_refusal(case, "RAIL-PAY-07", answer, f"its settlement is in no block; the payer {description}")
        await run_concurrently(
            act(stake, one) for act, stake, one in zip(acts.values(), challenges, authorizations, strict=True)
        )
        await run_concurrently(stake.accept_balance() for stake in challenges[1:])
    repetitions = await run_concurrently(
        present_later(case, stake, one) for stake, one in zip(challenges[1:], authorizations[1:], strict=True)
    )
    for description, stake, answer in zip(list(acts)[1:], challenges[1:], repetitions, strict=True):
        _judge_refusal(case, "RAIL-PAY-11", answer, f"its settlement failed in its block; the payer {description}")
        stake.judged_rows.append(("RAIL-PAY-11", description))
    await judge_delayed_payment(
        case, challenges[0], authorizations[0], control, "its settlement was held up for a while"
    )
    # An authorization that the rail refused must not be settled later: the payer would pay for a refused call.
    await judge_wide_windows(case, wide_windows, answers[len(acts) :], ordinary_answers=answers[: len(acts)])
    await stakes.audit()


async def _make_wide_windows(
    stakes: FundedChallenges, operation: Operation
) -> dict[str, tuple[FundedChallenge, Authorization]]:
    """Return authorizations with long windows, each for a separate challenge, by the end of the window."""

    async def make_payment(end: int) -> tuple[FundedChallenge, Authorization]:
        stake = await stakes.open_challenge(operation)
        return stake, await stake.sign(valid_after=0, valid_before=end)

    payments = await run_concurrently(map(make_payment, _WIDE_WINDOWS.values()))
    return dict(zip(_WIDE_WINDOWS, payments, strict=True))


def _judge_refusal(case: Case, row: str, answer: Answer, payment: str) -> None:
    case.expect(row, answer.status >= 300, "not served", brief(answer), exchange=answer, where={"payment": payment})


@check(
    "RAIL-PAY-07",
    "RAIL-WELD-11",
    surface="rail",
    lane="base",
    exclusive=Exclusive.CHAIN,
    fix="Wait for enough confirmations that the block stays, look again after a wait, and send a lost settlement again "
    "with the same nonce.",
)
async def settlement_that_is_taken_back(case: Case) -> None:
    """A settlement that a reorganisation takes back, or that the pool loses, is served only when mined again.

    Makes the node drop a settlement from its pool. Then replaces the blocks in which another was just mined. Then makes
    the node lie about finality until a call is served, and replaces those blocks. Expects that the first two, if they
    are served, moved one price, and that the third yields no second receipt.
    """
    payer = await get_base_payer(case)
    if not await can_show(case, payer, "reject_late", "early_finality"):
        return
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    stakes = FundedChallenges(case, payer)
    # The accounts are funded before any reorganisation, which would otherwise take their money back as well.
    lost_challenge, mined_challenge, served_challenge = await run_concurrently(
        stakes.open_challenge(operation, prices=3) for _ in range(3)
    )
    await _judge_lost_settlement(case, payer, lost_challenge)
    await _judge_mined_settlement(case, payer, mined_challenge)
    await _judge_served_settlement(case, payer, served_challenge)


async def _judge_lost_settlement(case: Case, payer: BasePayer, stake: FundedChallenge) -> None:
    authorization = await stake.sign()
    # The node accepts the settlement and forgets it, as a full pool does. Only the rail can notice and send it again.
    async with apply_node_fault(payer, "reject_late", count=1):
        answer = await stake.present(case, authorization)
        if answer.status == 200 and (moved_amount := await stake.measure_loss()) != stake.price:
            where = {"payment": "its settlement was lost from the pool"}
            finding = f"200, {moved_amount} of {stake.price} moved"
            case.expect("RAIL-PAY-07", False, "served for one price", finding, exchange=answer, where=where)
    await judge_served_once(case, stake, authorization, "its settlement was lost from the pool")


async def _read_head(payer: BasePayer) -> int:
    return int((await payer.node.newest())["number"])


async def _judge_mined_settlement(case: Case, payer: BasePayer, stake: FundedChallenge) -> None:
    authorization, description = await stake.sign(), "its settlement's block was taken back"
    await payer.wait_for_blocks(2)
    start = await _read_head(payer)
    presentation = asyncio.create_task(stake.present(case, authorization))
    try:
        is_mined = await _await_use(stake, authorization, presentation)
        if is_mined:
            await payer.control("reorg", depth=await _read_head(payer) - start)
    finally:
        answer = await presentation
    if answer.status == 200 and await stake.measure_loss() == 0:
        # The target chooses how many blocks make a payment final, and bears the loss.
        case.note(f"{description}: it was served before, and nothing has moved")
        await stake.redeem(case, authorization)
    else:
        await judge_served_once(case, stake, authorization, description)


async def _await_use(stake: FundedChallenge, authorization: Authorization, presentation: asyncio.Task[Answer]) -> bool:
    """Wait until the authorization is used; return False if the answer arrives first."""
    for _ in range(_POLL_COUNT):
        if await stake.token.is_used(authorization.sender, authorization.nonce):
            return not presentation.done()
        if presentation.done():
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return False


async def _judge_served_settlement(case: Case, payer: BasePayer, stake: FundedChallenge) -> None:
    authorization = await stake.sign()
    await payer.wait_for_blocks(2)
    start = await _read_head(payer)
    # With a lying node the rail serves too early, which is not its fault. What it must not do is serve twice.
    async with apply_node_fault(payer, "early_finality"):
        first = await stake.present(case, authorization)
        await payer.control("reorg", depth=await _read_head(payer) - start)
    repetition = await stake.present(case, authorization)
    case.expect(
        "RAIL-WELD-11",
        len({extract_receipts(answer) for answer in (first, repetition) if answer.status == 200}) <= 1,
        "one receipt, however often the chain is replaced",
        f"{brief(first)}, then {brief(repetition)}",
        exchange=repetition,
        where={"payment": "served on a lie about finality, then its block was taken back"},
    )
    await require_honest_payment_served(case, stake.quote.operation)
