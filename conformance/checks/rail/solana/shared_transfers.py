"""RAIL-WELD-11 on Solana: a transfer that names the references of many challenges buys only one call."""

from __future__ import annotations

from conformance.assertions.rail.refusals import require_honest_payment_served
from conformance.assertions.rail.solana.challenge_payments import Quoted
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.rail.paid_answers import extract_receipts

_CHALLENGE_COUNT = 6


@check(
    "RAIL-WELD-11",
    surface="rail",
    lane="solana",
    fix="Burn the transaction together with the token, in one atomic statement. A transaction that bought a call must "
    "not buy another one with another token, even if it is welded to that token as well.",
)
async def one_solana_transfer_for_many_challenges(case: Case) -> None:
    """One transfer that is welded to several challenges buys one call.

    Makes one transfer of the highest price that names the references of several live challenges of all operations, with
    the most expensive one first. Presents it for each of them, one after the other. Presents another such transfer for
    all of them at once. Expects one served call each time.
    """
    operations = case.session.catalog.operations
    await require_honest_payment_served(case, operations[0])
    for at_once, order in ((1, "one after the other"), (_CHALLENGE_COUNT, "all at once")):
        quotes = [await Quoted.ask(case, operations[place % len(operations)]) for place in range(_CHALLENGE_COUNT)]
        dearest = max(quotes, key=lambda quoted: quoted.order.price)
        # A target may accept only the first reference and the exact price. This transfer pays the most expensive call
        # by both.
        other_references = (quoted.order.reference for quoted in quotes if quoted is not dearest)
        tx_id = await dearest.send(references=(dearest.order.reference, *other_references))
        answers = await run_concurrently((quoted.present(tx_id) for quoted in quotes), at_once=at_once)
        _judge_single_call(case, answers, order)


@check(
    "RAIL-WELD-11",
    surface="rail",
    lane="solana",
    fix="Burn the transaction and not the transfer: the payment key is the network and the transaction id (P-ST-03).",
)
async def two_welded_transfers_of_one_transaction(case: Case) -> None:
    """One transaction with two transfers, each welded to a challenge of its own, buys one call.

    Makes one transaction with two transfers of the full price, each with the reference of another live challenge, and
    presents it for both: one after the other, and both at once. Expects one served call. The interface says that a
    spent payment buys no second execution, and leaves open whether the transaction or the transfer is the payment. So
    a second call only warns, except for a target that claims the specification.
    """
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    beyond = OpenPoint("whether the transaction or the transfer is spent is left open", "P-ST-03")
    for at_once, order in ((1, "one after the other"), (2, "both at once")):
        first, second = [await Quoted.ask(case, operation) for _ in range(2)]
        other_transfer = (await second.transfer()).instruction()
        tx_id = await first.payer.send([(await first.transfer()).instruction(), other_transfer])
        answers = await run_concurrently((quoted.present(tx_id) for quoted in (first, second)), at_once=at_once)
        served_answers = [answer for answer in answers if answer.status == 200]
        if not served_answers:
            case.mark_inconclusive("RAIL-WELD-11", "a transaction with two welded transfers is served for neither")
            continue
        case.expect(
            "RAIL-WELD-11",
            len(served_answers) == 1,
            "one call for one transaction",
            f"{len(served_answers)} calls",
            exchange=served_answers[-1],
            where={"payment": f"two welded transfers of one transaction, {order}"},
            beyond=beyond,
        )


def _judge_single_call(case: Case, answers: list[Answer], order: str) -> None:
    served_answers = [answer for answer in answers if answer.status == 200]
    receipt_sets = {extract_receipts(answer) for answer in served_answers}
    # A target may refuse a transfer with several references. Then nothing is sold twice, and nothing is shown either.
    if not served_answers:
        raise Inconclusive("a transfer with several references is served for none of them")
    case.expect(
        "RAIL-WELD-11",
        len(receipt_sets) == 1 and len(served_answers) == 1,
        "one call for one transfer",
        f"{len(served_answers)} calls with {len(receipt_sets)} receipts",
        exchange=served_answers[-1],
        where={"payment": f"one transfer for {len(answers)} challenges, {order}"},
    )
