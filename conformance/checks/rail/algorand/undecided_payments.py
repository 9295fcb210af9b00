"""RAIL-402-25 on Algorand: codes while a payment is on its way, was dropped, or the node is away (5.5, P-ER-03)."""

from __future__ import annotations

import asyncio
from typing import Final

from conformance.assertions.rail.algorand.challenge_payments import AlgorandQuote
from conformance.assertions.rail.specified_refusals import ROW, WrongPayment, judge_over_rest, judge_wrong_payment
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.algorand.payments import algorand_payer, price_of
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import purchase, redeem

_CALLS = 10_000
_NEEDED_FAULTS: Final = {"withhold", "reject_late", "unavailable"}
_CLAIMS, _IDENTICAL = 10, 3
# A rail looks more than once before it says that a transaction is not confirmed: five seconds, or less by a setting.
_LEAST_WAIT_SECONDS = 1.0
# P-ST-05: the longest answer, and some time for the machine.
_LONGEST_ANSWER_SECONDS = 20.0


@check(
    ROW,
    surface="rail",
    lane="algorand",
    exclusive=Exclusive.CHAIN,
    fix="Judge a payment by what the chain shows now: tx_not_confirmed while it is on its way, tx_failed when it was "
    "dropped, 503 chain_unavailable while the chain cannot be asked, whatever else is wrong with it.",
)
async def codes_of_undecided_algorand_payments(case: Case) -> None:
    """What the chain has not decided is refused with the code of that state, and is served or refused afterwards.

    Makes the node hold back a right payment and one of a unit less, which are `tx_not_confirmed` after a wait of the
    rail's, also in three identical calls at once. Claims the first one's token with ten transactions that were never
    sent, which are `tx_not_found`, the first again at the end. Lets the payments into a block: 200, and `wrong_amount`.
    Makes the node drop a payment: `tx_failed`. Makes it unavailable and then hang: a payment of a unit more, one of a
    unit less, an unsent one and a second payment for a spent token are 503 `chain_unavailable`. Expects that the first
    is served when the node is back.
    """
    payer, operation = await algorand_payer(case), case.session.catalog.operations[0]
    if missing := _NEEDED_FAULTS - set(await payer.fault_names()):
        case.mark_documented(ROW, f"this node cannot do it (no control verbs {', '.join(sorted(missing))})")
        return
    sale = await purchase(case, operation, case.lane)
    right, short, dropped, away, short_away, unsent = [await AlgorandQuote.ask(case, operation) for _ in range(6)]
    entry = right.quote.entry(case.lane)
    await payer.hold(payer.asset_id(entry), price_of(entry) * 10)
    less = price_of(entry) - 1
    try:
        async with payer.fault("withhold", count=2):
            right_id, short_id = await right.send(wait=False), await short.send(wait=False, amount=less)
            await _judge_waiting(case, right, right_id)
            waiting = WrongPayment("a unit less, in the pool", short.quote, short.proof(short_id), "tx_not_confirmed")
            await judge_wrong_payment(case, waiting)
            await _judge_crowd(case, right)
    finally:
        await payer.control("release")
    for tx_id in (right_id, short_id):
        await payer.wait_for_block(tx_id)
    answer = await redeem(case, operation, right.proof(right_id), body=right.quote.body)
    where = {"payment": "confirmed after it was refused as not confirmed"}
    case.expect(ROW, answer.status == 200, "200", brief(answer), exchange=answer, where=where)
    await judge_wrong_payment(case, WrongPayment("a unit less", short.quote, short.proof(short_id), "wrong_amount"))
    async with payer.fault("reject_late"):
        dropped_id = await dropped.send(wait=False)
        await payer.wait_for_drop(dropped_id)
    await judge_wrong_payment(case, WrongPayment("dropped", dropped.quote, dropped.proof(dropped_id), "tx_failed"))
    # More than the price is accepted on a lane on which the payer sends (P-LN-02).
    away_id, short_away_id = await away.send(amount=less + 2), await short_away.send(amount=less)
    second_id = await AlgorandQuote(case, sale.challenge, payer).send()
    payments = [
        WrongPayment("a unit more, the node away", away.quote, away.proof(away_id), "chain_unavailable"),
        WrongPayment(
            "a unit less, the node away", short_away.quote, short_away.proof(short_away_id), "chain_unavailable"
        ),
        WrongPayment("unsent, the node away", unsent.quote, unsent.proof(unsent.invented_id()), "chain_unavailable"),
        WrongPayment(
            "a second payment, the node away",
            sale.challenge,
            {"tx_id": second_id, "payment_reference": sale.proof["payment_reference"]},
            "chain_unavailable",
        ),
    ]
    async with payer.fault("unavailable", count=_CALLS):
        await run_concurrently(judge_wrong_payment(case, wrong) for wrong in payments)
    async with payer.fault("hang", count=_CALLS):
        await _judge_hanging(case, away, away_id)
    answer = await redeem(case, operation, away.proof(away_id), body=away.quote.body)
    where = {"payment": "a unit more, the node back"}
    case.expect(ROW, answer.status == 200, "200", brief(answer), exchange=answer, where=where)


async def _judge_waiting(case: Case, quote: AlgorandQuote, tx_id: str) -> None:
    """Judge a payment in the pool: three identical calls get one code after a wait (P-ER-05, P-ST-05)."""
    wrong = WrongPayment("in the pool", quote.quote, quote.proof(tx_id), "tx_not_confirmed")
    loop = asyncio.get_running_loop()
    start = loop.time()
    await run_concurrently(judge_over_rest(case, wrong) for _ in range(_IDENTICAL))
    seconds = loop.time() - start
    holds, where = seconds >= _LEAST_WAIT_SECONDS, {"payment": "in the pool"}
    case.expect(ROW, holds, "a wait inside of the call", f"answered after {seconds:.1f} s", where=where)
    await judge_wrong_payment(case, wrong)


async def _judge_crowd(case: Case, quote: AlgorandQuote) -> None:
    """Judge that ten claims on one token are each refused for themselves, and the first one again (P-ST-08)."""
    ids = [quote.invented_id() for _ in range(_CLAIMS)]
    for number, tx_id in enumerate([*ids, ids[0]]):
        name = f"claim {number + 1} on a token"
        await judge_over_rest(case, WrongPayment(name, quote.quote, quote.proof(tx_id), "tx_not_found"))


async def _judge_hanging(case: Case, quote: AlgorandQuote, tx_id: str) -> None:
    """Judge that a call is answered within ten seconds while the node hangs, and not served (P-ST-05)."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    answer = await quote.present(tx_id)
    seconds = loop.time() - start
    if seconds > _LONGEST_ANSWER_SECONDS * 2:
        raise Inconclusive(f"an answer took {seconds:.0f} s: too slow from here to judge how long the rail waits")
    holds = seconds <= _LONGEST_ANSWER_SECONDS and answer.status in {409, 503} and "Retry-After" in answer.headers
    finding = f"{brief(answer)} after {seconds:.1f} s"
    expectation = "409 or 503 with Retry-After within ten seconds"
    case.expect(ROW, holds, expectation, finding, exchange=answer, where={"payment": "the node hangs"})
