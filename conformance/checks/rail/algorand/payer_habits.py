"""RAIL-PAY-18 on Algorand: paid answers to payments of wallets with other habits."""

from __future__ import annotations

from conformance.assertions.rail.paid_answer_members import ROW, judge_sale
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.lanes.algorand.payer_habits import HABITS
from conformance.surfaces.rail.algorand.payments import algorand_payer, price_of
from conformance.surfaces.rail.keys import published_did, published_keys
from conformance.surfaces.rail.purchase import challenge


@check(
    ROW,
    surface="rail",
    lane="algorand",
    fix="Judge the transfer alone, whatever is in its group. Compute each member of the answer from the challenge and "
    "the transfer, and store the answer with its headers.",
    quick=sample("habits"),
)
async def answers_to_habits_on_algorand(case: Case) -> None:
    """Each member of a paid answer is right, whatever habit the payer's wallet on Algorand has.

    Pays each operation in turn: by a transfer alone, in groups of several shapes, with a lease, in a short window, and
    with a high fee. Expects 200 with exactly the members of 5.9, each computed from request, challenge and transfer,
    and the same bytes for the same proof again.
    """
    payer, operations = await algorand_payer(case), case.session.catalog.operations
    keys, did = (await published_keys(case))[0], await published_did(case)

    async def attempt(number: int, habit: str) -> None:
        quote = await challenge(case, operations[number % len(operations)])
        entry, token = quote.entry(case.lane), quote.reference(case.lane)
        draft = await payer.draft(
            asset=payer.asset_id(entry), receiver=str(entry["payTo"]), amount=price_of(entry), note=token.encode()
        )
        proof = {"tx_id": await HABITS[habit](payer, draft), "payment_reference": token}
        await judge_sale(case, quote, proof, keys, did, habit)

    await run_concurrently((attempt(number, habit) for number, habit in enumerate(case.sample(HABITS))), at_once=4)
