"""RAIL-PAY on Algorand: payments that must be refused. Each check first shows that an honest payment is served.

That control matters: a rail that refuses everything, or whose node is unreachable, would pass every check of a refusal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import base58

from conformance.assertions.rail.paid_tasks import (
    can_pay_tasks,
    judge_served_later,
    judge_undecided,
    order_quoted_task,
)
from conformance.assertions.rail.refusals import judge_refusal, judge_refused, require_honest_payment_served
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.lanes.algorand.payer import AlgorandPayer, Refused
from conformance.lanes.algorand.transaction_ids import invented_id
from conformance.outcome import Inconclusive
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.algorand.payments import algorand_payer, pay_welded, price_of
from conformance.surfaces.rail.base.unsigned import unsigned_proof
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import Challenge, challenge, name_live_values, present, redeem

# The most payments that are presented at once, until one is answered before its block, on a node without control.
_TRIES = 6


@check(
    "RAIL-PAY-06",
    surface="rail",
    lane="algorand",
    fix="Serve only when the node itself shows the transaction.",
)
async def unknown_transaction(case: Case) -> None:
    """A transaction id that the chain does not know is not redeemed.

    Presents well-formed ids of transactions that were never sent, with live tokens: invented ones, and a paid one with
    one letter changed. Expects that none is served.
    """
    # The paid id is almost right, so a rail that compares only a prefix, or looks in its own table, finds it.

    async def present_unknown(quote: Challenge, tx_id: str) -> None:
        proof = {"tx_id": tx_id, "payment_reference": quote.reference(case.lane)}
        await judge_refused(case, "RAIL-PAY-06", quote, proof, "an id that was never sent")

    async def judge_operation(operation: Operation, raw: Sequence[bytes]) -> None:
        paid_proof = await require_honest_payment_served(case, operation)
        near_id = str(paid_proof["tx_id"])
        ids = [*map(invented_id, raw), ("A" if near_id[0] != "A" else "B") + near_id[1:]]
        quotes = [await challenge(case, operation) for _ in ids]
        await run_concurrently(map(present_unknown, quotes, ids))

    random_ids = [[case.rng.randbytes(32) for _ in range(2)] for _ in case.session.catalog.operations]
    await run_concurrently(map(judge_operation, case.session.catalog.operations, random_ids))


@check(
    "RAIL-PAY-08",
    "RAIL-PAY-09",
    "RAIL-PAY-10",
    surface="rail",
    lane="algorand",
    fix="Compare receiver with payTo, amount with maxAmountRequired and asset by its id, on the transaction itself.",
)
async def payment_of_something_else(case: Case) -> None:
    """A payment to another recipient, of less than the price, or in another asset is not redeemed.

    Sends transfers with the right note and one fault. The receiver is another account or the payer, also with the rest
    of the account closed out to payTo. The amount is nothing, one unit short, or half. The asset is one of the same
    unit name, or native coin. Expects that none is served.
    """
    payer = await algorand_payer(case)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    asset = payer.asset_id((await challenge(case, operation)).entry(case.lane))
    # An Algorand account must opt in to an asset before it can receive it.
    stranger = await payer.new_account(assets=[asset])

    async def pay_elsewhere(receiver: str, description: str) -> None:
        quote = await challenge(case, operation)
        await judge_refused(case, "RAIL-PAY-08", quote, await pay_welded(payer, quote, receiver=receiver), description)

    async def close_out_to_payee() -> None:
        quote = await challenge(case, operation)
        payee = str(quote.entry(case.lane)["payTo"])
        proof = await pay_welded(payer, quote, receiver=stranger.address, close_to=payee)
        # The transaction names payTo as its close-to address, which a rail may mistake for the receiver.
        await judge_refused(case, "RAIL-PAY-08", quote, proof, "to another account, and nothing closed out to payTo")

    async def pay_too_little(part: int) -> None:
        quote = await challenge(case, operation)
        price = price_of(quote.entry(case.lane))
        # One unit short finds a comparison with a tolerance, and nothing finds a missing comparison.
        amount = (0, price - 1, price // 2)[part]
        await judge_refused(
            case, "RAIL-PAY-09", quote, await pay_welded(payer, quote, amount=amount), f"{amount} of {price}"
        )

    await run_concurrently(
        (
            pay_elsewhere(stranger.address, "to another account"),
            pay_elsewhere(payer.address, "to the payer itself"),
            close_out_to_payee(),
            *map(pay_too_little, range(3)),
            _pay_wrong_asset(case, payer, operation),
        )
    )


async def _pay_wrong_asset(case: Case, payer: AlgorandPayer, operation: Operation) -> None:
    quote = await challenge(case, operation)
    entry = quote.entry(case.lane)
    # A payment transaction has an amount and a receiver, too. A rail that reads only these takes ALGO for USDC.
    native_tx_id = await payer.send_native(str(entry["payTo"]), price_of(entry), quote.reference(case.lane).encode())
    proof = {"tx_id": native_tx_id, "payment_reference": quote.reference(case.lane)}
    await judge_refused(case, "RAIL-PAY-10", quote, proof, "native coin instead of the asset")
    if await payer.lacks("opt_in"):
        case.note("a look-alike asset needs the payee to opt in, which only a simulated node does without its key")
        return
    # Anyone can create an asset with the unit name USDC. Only its id distinguishes it.
    fake_asset = await payer.create_asset(unit_name="USDC")
    await payer.control("opt_in", address=str(entry["payTo"]), asset=str(fake_asset))
    quote = await challenge(case, operation)
    await judge_refused(
        case, "RAIL-PAY-10", quote, await pay_welded(payer, quote, asset=fake_asset), "an asset of the same unit name"
    )


@check(
    "RAIL-PAY-07",
    surface="rail",
    lane="algorand",
    exclusive=Exclusive.CHAIN,
    fix="Wait for the block, or answer that the transaction is not confirmed yet. Serve only after it is confirmed.",
)
async def unconfirmed_transaction(case: Case) -> None:
    """A transaction that is not yet confirmed is not redeemed.

    Makes the node hold a welded payment in its pool, presents it, then lets it into a block and presents it again.
    Expects that it is not served before its block, and that it is served after it. Does the same for a task over A2A.
    On a node without that control, presents payments at once, since an ordinary payment waits two rounds for its block.
    """
    payer = await algorand_payer(case)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    if "withhold" not in await payer.fault_names():
        await _present_before_round(case, payer, operation)
        return
    quote = await challenge(case, operation)
    await payer.hold(payer.asset_id(quote.entry(case.lane)))
    task = await order_quoted_task(case, operation) if await can_pay_tasks(case, operation) else None
    task_proof: Mapping[str, Any] = {}
    try:
        async with payer.fault("withhold", count=1 if task is None else 2):
            proof = await pay_welded(payer, quote, wait=False)
            await judge_refused(case, "RAIL-PAY-07", quote, proof, "still in the pool")
            if task is not None:
                task_proof = await pay_welded(payer, task[1], wait=False)
                name_live_values(case, task_proof)
                undecided_task = await a2a.pay_task(case, task[0].id or "", task_proof)
                judge_undecided(case, "RAIL-PAY-07", task[0], undecided_task, "still in the pool")
    finally:
        await payer.control("release")
    await payer.wait_for_block(proof["tx_id"])
    answer = await present(case, operation, proof)
    if answer.status != 200:
        case.mark_inconclusive(
            "RAIL-PAY-07", f"once confirmed it was answered {brief(answer)}, not 200", exchange=answer
        )
    if task is not None:
        await payer.wait_for_block(task_proof["tx_id"])
        await judge_served_later(case, "RAIL-PAY-07", task[0], task_proof, "still in the pool")


async def _present_before_round(case: Case, payer: AlgorandPayer, operation: Operation) -> None:
    """Present payments at once, until one is answered while the node still has it in its pool."""
    # A refusal counts if the payment's round is still to come when the answer arrives. The rail may ask another node,
    # which may be one round ahead of the suite's. So a served call counts only if two rounds are still to come.
    for _ in range(_TRIES):
        quote = await challenge(case, operation)
        await payer.hold(payer.asset_id(quote.entry(case.lane)))
        proof = await pay_welded(payer, quote, wait=False)
        answer = await present(case, operation, proof)
        newest_round = await payer.newest_round()
        rounds_left = await payer.wait_for_block(proof["tx_id"]) - newest_round
        if rounds_left > 1 or (rounds_left == 1 and answer.status >= 300):
            judge_refusal(case, "RAIL-PAY-07", quote, answer, "still in the pool")
            answer = await redeem(case, operation, proof)
            if answer.status != 200:
                reason = f"once confirmed it was answered {brief(answer)}, not 200"
                case.mark_inconclusive("RAIL-PAY-07", reason, exchange=answer)
            return
    case.mark_documented(
        "RAIL-PAY-07",
        "this node confirms a payment before it can be presented, and cannot be made to hold a transaction back "
        "(no control verb `withhold`)",
    )


@check(
    "RAIL-PAY-11",
    surface="rail",
    lane="algorand",
    exclusive=Exclusive.CHAIN,
    fix="Serve nothing for a transaction that left the pool with an error or that the node refused: it paid nothing.",
)
async def failed_transaction(case: Case) -> None:
    """A failed transaction is not redeemed.

    Sends a welded payment that the node's pool drops with an error, and one that the node refuses outright, and
    presents both. Expects that neither is served.
    """
    payer = await algorand_payer(case)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    quote = await challenge(case, operation)
    empty_account = await payer.new_account()
    try:
        # The id of a refused transaction is well-formed and signed, so a rail that trusts the client's id accepts it.
        proof = await pay_welded(payer, quote, sender=empty_account)
    except Refused as refusal:
        proof = {"tx_id": refusal.tx_id, "payment_reference": quote.reference(case.lane)}
        await judge_refused(case, "RAIL-PAY-11", quote, proof, "refused by the node")
    else:
        raise Inconclusive("the node accepted a payment from an empty account")
    if "reject_late" not in await payer.fault_names():
        case.note("this node cannot be made to drop a transaction from its pool (no control verb `reject_late`)")
        return
    quote = await challenge(case, operation)
    await payer.hold(payer.asset_id(quote.entry(case.lane)))
    async with payer.fault("reject_late"):
        proof = await pay_welded(payer, quote, wait=False)
        await payer.wait_for_drop(proof["tx_id"])
    await judge_refused(case, "RAIL-PAY-11", quote, proof, "dropped from the pool with an error")


@check(
    "RAIL-PAY-15",
    surface="rail",
    lane="algorand",
    fix="Take the lane from the token, and refuse a proof that does not have that lane's form.",
)
async def proof_of_another_lane(case: Case) -> None:
    """A Base-shaped proof for an Algorand challenge is not redeemed, nor an Algorand-shaped one for a Base challenge.

    Pays an Algorand challenge. Presents the payment in the form of a Base proof, in a mixed form, with ids of other
    chains as tx_id, and with the tokens of the other lanes that the challenge offers. Expects that none is served.
    """
    payer = await algorand_payer(case)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    quote = await challenge(case, operation)
    proof = await pay_welded(payer, quote)
    for description, other_proof in make_foreign_proofs(case, payer, quote, proof).items():
        await judge_refused(case, "RAIL-PAY-15", quote, other_proof, description)


def make_foreign_proofs(
    case: Case, payer: AlgorandPayer, quote: Challenge, proof: Mapping[str, Any]
) -> Mapping[str, Mapping[str, Any]]:
    """Return proofs of other lanes made from an Algorand payment, by description."""
    token, entry = proof["payment_reference"], quote.entry(case.lane)
    # A proof in another lane's form with this lane's token: the rail must not let the proof's form choose the lane.
    base = unsigned_proof(payer.address, entry, token, case.rng.randbytes(32))
    evm_id = "0x" + case.rng.randbytes(32).hex()
    solana_id = base58.b58encode(case.rng.randbytes(64)).decode()
    shapes: dict[str, Mapping[str, Any]] = {
        "a Base proof with an Algorand token": base,
        "a Base transaction id with an Algorand token": {**proof, "tx_id": evm_id},
        "a Solana transaction id with an Algorand token": {**proof, "tx_id": solana_id},
        "the Algorand payment under the Base member name": {"tx_id": proof["tx_id"], "challenge_token": token},
    }
    for lane, reference in quote.other_references(case.lane).items():
        shapes[f"the Algorand payment with a token of the lane {lane}"] = {**proof, "payment_reference": reference}
    return shapes
