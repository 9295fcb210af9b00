"""RAIL-402-25 on Base: settlements that wait, revert or fail in their block, and what follows (P-LN-08)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from conformance.assertions.rail.base.funded_challenges import FundedChallenge, FundedChallenges, get_base_payer
from conformance.assertions.rail.base.pending_settlements import apply_node_fault, can_show, present_later
from conformance.assertions.rail.specified_refusals import ROW, WrongPayment, judge_over_rest, judge_wrong_payment
from conformance.discovery.rail import Operation
from conformance.engine import clock
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.lanes.base.authorization import Authorization
from conformance.lanes.base.payer import Account, BasePayer
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import purchase

# P-LN-08: after so many failed settlements within an hour a payer is not settled.
_MOST_FAILURES, _AN_HOUR = 3, 3600
_FOUR_PRICES: Final = 4

Payments = Sequence[tuple[FundedChallenge, Authorization]]


@check(
    ROW,
    surface="rail",
    lane="base",
    exclusive=Exclusive.CHAIN_AND_CLOCK,
    fix="Try each settlement by eth_call before you send it. Count settlements that failed in their block by payer, "
    "for an hour, and not those that a stranger's use of the same authorization made fail.",
)
async def failed_settlements_count_for_their_payer(case: Case) -> None:
    """After three settlements that failed in their block a payer is refused for an hour, and no other payer is.

    Holds three settlements of a payer in the node's pool, empties its account, and lets them into a block. Expects that
    they are `tx_not_confirmed` while they wait, and that a second payer for one of the tokens is then 409
    `payment_in_progress` and not charged. Then presents a fourth payment of the payer, which holds the price again.
    Expects 402 `settlement_failed`, and that nothing is sent for it, nor for the payment of an empty account. Expects
    that another payer is served, and so is one whose three settlements failed because a stranger had used its
    authorizations. After an hour expects that the first payer is served.
    """
    payer = await get_base_payer(case)
    if not await can_show(case, payer, "withhold"):
        return
    operation = case.session.catalog.operations[0]
    settler = await _find_settler(case, payer, operation)
    stakes = FundedChallenges(case, payer)
    failing, robbed = await _open_account(stakes, operation), await _open_account(stakes, operation)
    pending = await _sign_payments(stakes, operation, failing)
    used = await _sign_payments(stakes, operation, robbed)
    other = await payer.new_account()
    async with apply_node_fault(payer, "withhold"):
        await run_concurrently(
            judge_over_rest(case, WrongPayment("its settlement waits", stake.quote, one.proof(), "tx_not_confirmed"))
            for stake, one in pending
        )
        await run_concurrently(stake.present(case, one) for stake, one in used)
        await _judge_second_payer(case, payer, pending[0][0])
        await payer.control("fault", name="withhold", seed=1, count=0)
        token = pending[0][0].token
        await payer.transfer(token.address, other.address, await token.balance(failing.address), sender=failing)
        for _, one in used:
            await payer.use(one)
    for stake, one in pending:
        answer = await present_later(case, stake, one)
        if answer.status == 200:
            raise Inconclusive("a payment was served whose account was empty, which RAIL-PAY-11 judges")
    answers = [await present_later(case, stake, one) for stake, one in used]
    for answer in answers:
        where = {"payment": "used by a stranger while the rail's settlement waited"}
        case.expect(ROW, answer.status == 200, "200", brief(answer), exchange=answer, where=where)
    await payer.give(failing.address, token.address, pending[0][0].price * _FOUR_PRICES)
    await _judge_unsent(case, payer, stakes, operation, settler, failing, "settlement_failed")
    empty = await payer.new_account(coin=True)
    await _judge_unsent(case, payer, stakes, operation, settler, empty, "insufficient_funds")
    await _judge_served(case, stakes, operation, None, "another payer, after three settlements of one failed")
    await _judge_served(case, stakes, operation, robbed, "its settlements failed by a stranger's use")
    await clock.pass_time(case, _AN_HOUR + 1)
    await _judge_served(case, stakes, operation, failing, "an hour after its settlements failed")


async def _find_settler(case: Case, payer: BasePayer, operation: Operation) -> str:
    """Return the account that sends the rail's settlements, by a payment that is served."""
    sale = await purchase(case, operation, case.lane)
    transaction = await payer.node.ask(payer.node.web3.eth.get_transaction(str(sale.transaction)))  # type: ignore[arg-type]
    return str(transaction["from"])


async def _open_account(stakes: FundedChallenges, operation: Operation) -> Account:
    stake = await stakes.open_challenge(operation, prices=_FOUR_PRICES, coin=True)
    return stake.account


async def _sign_payments(stakes: FundedChallenges, operation: Operation, account: Account) -> Payments:
    funded = [await stakes.open_challenge(operation, account=account) for _ in range(_MOST_FAILURES)]
    return [(stake, await stake.sign()) for stake in funded]


async def _judge_second_payer(case: Case, payer: BasePayer, stake: FundedChallenge) -> None:
    """Judge another payer's authorization for a token whose settlement is on its way (P-ST-08)."""
    second = await payer.new_account()
    await payer.give(second.address, stake.token.address, stake.price)
    authorization = await payer.authorize(stake.entry, second)
    name = "another payer for a token on its way"
    await judge_wrong_payment(case, WrongPayment(name, stake.quote, authorization.proof(), "payment_in_progress"))
    balance = await stake.token.balance(second.address)
    where = {"payment": name}
    case.expect(ROW, balance == stake.price, "not charged", f"{stake.price - balance} moved", where=where)


async def _judge_unsent(
    case: Case,
    payer: BasePayer,
    stakes: FundedChallenges,
    operation: Operation,
    settler: str,
    account: Account,
    code: str,
) -> None:
    """Judge that a payment is refused with a code, and that the settler sends nothing for it."""
    stake = await stakes.open_challenge(operation, account=account)
    sent_before = await _count_sent(payer, settler)
    proof = (await stake.sign()).proof()
    await judge_wrong_payment(case, WrongPayment(f"refused unsent: {code}", stake.quote, proof, code))
    await payer.wait_for_blocks(2)
    sent = await _count_sent(payer, settler) - sent_before
    case.expect(ROW, sent == 0, "no settlement is sent", f"{sent} sent", where={"payment": code})


async def _count_sent(payer: BasePayer, settler: str) -> int:
    return int(await payer.node.ask(payer.node.web3.eth.get_transaction_count(settler, "pending")))  # type: ignore[arg-type]


async def _judge_served(
    case: Case, stakes: FundedChallenges, operation: Operation, account: Account | None, name: str
) -> None:
    stake = await stakes.open_challenge(operation, account=account)
    answer = await stake.redeem(case, await stake.sign())
    case.expect(ROW, answer.status == 200, "200", brief(answer), exchange=answer, where={"payment": name})
