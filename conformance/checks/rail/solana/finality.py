"""RAIL-PAY-07 and RAIL-WELD-11 on Solana: payments that are not final yet, or that a reorganisation takes back.

A Solana transaction is processed, confirmed and then finalized. Before the last step its slot may still be replaced.
"""

from __future__ import annotations

import asyncio

from conformance.assertions.rail.refusals import require_honest_payment_served
from conformance.assertions.rail.solana.challenge_payments import Quoted, get_solana_payer
from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.lanes.solana.node import CONFIRMED, FINALIZED
from conformance.lanes.solana.payer import SolanaPayer
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.paid_answers import brief, extract_receipts

_MORE_SLOTS = 10
_REORG_ATTEMPTS = 4
# Long enough for the rail to ask the node, and short enough that the slot is not final yet.
_WHILE_CONFIRMED_SECONDS = 0.1


async def replace_slots(payer: SolanaPayer, tx_id: str) -> None:
    """Make the node replace all slots since a transaction's slot.

    Raises:
        Inconclusive: The node still knows the transaction.
    """
    extra_slots = _MORE_SLOTS
    for _ in range(_REORG_ATTEMPTS):
        status = await payer.node.status(tx_id)
        # The node counts from its newest slot, so the depth is measured again before each attempt.
        depth = 0 if status is None else await payer.node.slot() - status.slot
        await payer.control("reorg", depth=depth + extra_slots)
        if await payer.node.status(tx_id) is None:
            return
        # New slots arrive while the node handles the call, so the next attempt goes deeper.
        extra_slots *= 4
    raise Inconclusive("the node still knows a transaction whose slot it should have replaced")


@check(
    "RAIL-PAY-07",
    surface="rail",
    lane="solana",
    exclusive=Exclusive.CHAIN,
    fix="Wait until the transaction is in a slot and final, or answer that it is not confirmed yet. Serve only then.",
)
async def unconfirmed_solana_transaction(case: Case) -> None:
    """A transaction that is not yet confirmed is not redeemed.

    Makes the node hold a welded payment back, presents it, then lets it into a slot and presents it again. Expects that
    it is not served before its slot, and that it is served after it.
    """
    payer, operation = await get_solana_payer(case), case.session.catalog.operations[0]
    if "withhold" not in await payer.fault_names():
        case.mark_documented(
            "RAIL-PAY-07", "this node cannot be made to hold a transaction back (no control verb `withhold`)"
        )
        return
    await require_honest_payment_served(case, operation)
    quote = await Quoted.ask(case, operation)
    transfer = await quote.transfer()
    try:
        async with payer.fault("withhold"):
            tx_id = await payer.send([transfer.instruction()], wait=None)
        await quote.judge_buys_nothing("RAIL-PAY-07", tx_id, "submitted, in no slot")
    finally:
        await payer.control("release")
    # A rail may wait for finality, so the second presentation must not come before it.
    await payer.node.wait_for_success(tx_id, FINALIZED)
    answer = await quote.present(tx_id)
    if answer.status != 200:
        case.mark_inconclusive("RAIL-PAY-07", f"once final it was answered {brief(answer)}, not 200", exchange=answer)


@check(
    "RAIL-PAY-07",
    surface="rail",
    lane="solana",
    exclusive=Exclusive.CHAIN,
    fix="Ask the node at the time of the redemption. Its answers from before a reorganisation are no longer valid.",
)
async def solana_payment_that_is_taken_back(case: Case) -> None:
    """A payment that a reorganisation has taken off the chain is not redeemed.

    Sends a welded payment, makes the node replace its slot after the confirmation, and presents it. Expects that it is
    not served. Then presents another payment that is confirmed and not final, and takes it back meanwhile. A target may
    serve a confirmed payment, so the answer to the second is only noted.
    """
    payer, operation = await get_solana_payer(case), case.session.catalog.operations[0]
    if not payer.has_control:
        case.mark_documented("RAIL-PAY-07", "this node has no control verb that takes a transaction back")
        return
    await require_honest_payment_served(case, operation)
    replaced_quote = await Quoted.ask(case, operation)
    tx_id = await replaced_quote.send(send_arguments={"wait": CONFIRMED})
    await replace_slots(payer, tx_id)
    await replaced_quote.judge_buys_nothing("RAIL-PAY-07", tx_id, "taken back by a reorganisation")
    await require_honest_payment_served(case, operation)
    confirmed_quote = await Quoted.ask(case, operation)
    tx_id = await confirmed_quote.send(send_arguments={"wait": CONFIRMED})
    presentation = asyncio.create_task(confirmed_quote.present(tx_id))
    try:
        await asyncio.sleep(_WHILE_CONFIRMED_SECONDS)
        await replace_slots(payer, tx_id)
    finally:
        answer = await presentation
    case.note(f"a payment that was confirmed, not final, and then taken back was answered {brief(answer)}")


@check(
    "RAIL-WELD-11",
    surface="rail",
    lane="solana",
    exclusive=Exclusive.CHAIN,
    fix="Keep token and transaction spent after they bought a call, even if the chain changes afterwards.",
)
async def solana_chain_that_lies_about_finality(case: Case) -> None:
    """A payment that the chain called final and took back buys no second execution.

    Makes the node call every transaction in a slot final. Pays and presents a challenge, and takes the payment back.
    Then presents it again, and a new payment for the same challenge. Expects the stored answer or a refusal.
    """
    payer, operation = await get_solana_payer(case), case.session.catalog.operations[0]
    if "early_finality" not in await payer.fault_names():
        case.mark_documented("RAIL-WELD-11", "this node cannot be made to lie about finality (no `early_finality`)")
        return
    await require_honest_payment_served(case, operation)
    quote = await Quoted.ask(case, operation)
    # The count exceeds the calls that the rail makes meanwhile, so that the node lies until the fault is switched off.
    async with payer.fault("early_finality", count=10_000):
        tx_id = await quote.send(send_arguments={"wait": CONFIRMED})
        first = await quote.present(tx_id)
        await replace_slots(payer, tx_id)
    if first.status != 200:
        case.note(f"a payment that the node called final too early was answered {brief(first)}")
    # Two attempts to buy again: the payment that was taken back, and another one with the same token.
    second = await quote.send()
    known_receipts = [extract_receipts(first)] if first.status == 200 else []
    for payment_id, description in (
        (tx_id, "the payment that was taken back"),
        (second, "a second payment for the same token"),
    ):
        answer = await quote.present(payment_id)
        if answer.status == 200 and not known_receipts and payment_id == second:
            known_receipts.append(extract_receipts(answer))
        is_refused_or_stored = answer.status != 200 or extract_receipts(answer) in known_receipts
        where = {"operation": operation.path, "payment": description}
        expectation = "the stored answer or a refusal"
        case.expect("RAIL-WELD-11", is_refused_or_stored, expectation, brief(answer), exchange=answer, where=where)
