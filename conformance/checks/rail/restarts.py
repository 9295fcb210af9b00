"""RAIL-WELD-11, RAIL-PAY-02 to -04, RAIL-RCPT-02 and -03, and RAIL-402-26 over a restart of the rail.

A spent payment stays spent, an honest payment is served, an earlier receipt verifies with the later keys, and an
earlier quote is honoured by a rail with other prices.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.discovery.rail import INDEX
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.http.client import Answer
from conformance.ledger import load
from conformance.oracles import jose
from conformance.oracles.ed25519_keys import Ed25519Key
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.keys import published_keys
from conformance.surfaces.rail.paid_answers import brief, extract_receipts
from conformance.surfaces.rail.purchase import (
    Challenge,
    Purchase,
    challenge,
    name_live_values,
    pay,
    present,
    purchase,
    redeem,
)
from conformance.surfaces.rail.receipts import receipt_of
from conformance.surfaces.restarts import leave_without_restart, restart_command, start_again
from conformance.vocabulary.lanes.row_applicability import decided_on

_ONCE_ROW, _CHARGE_ROW = "RAIL-WELD-11", "RAIL-PAY-07"
# The row of the lane whose payments the rail itself settles.
_SETTLEMENT_ROW: Final = "RAIL-PAY-04"
_TERMS_ROW: Final = "RAIL-402-26"
_IN_SET, _IN_DID = "RAIL-RCPT-02", "RAIL-RCPT-03"
# The rows that a payment is served, one for each family of lanes.
_SERVICE_ROWS: Final = ("RAIL-PAY-02", "RAIL-PAY-03", "RAIL-PAY-04")


@dataclass(frozen=True, slots=True)
class _LaneState:
    """A lane's state before the restart: a bought call, and a paid challenge whose proof was not presented yet."""

    lane: str
    sale: Purchase
    quote: Challenge
    proof: Mapping[str, Any]


@check(
    _ONCE_ROW,
    *_SERVICE_ROWS,
    _CHARGE_ROW,
    _IN_SET,
    _IN_DID,
    surface="rail",
    exclusive=Exclusive.RESTART,
    fix="Store redemptions, answers, settlements, the signing key and the token secret on disk before you use them. "
    "Follow sent transactions after a restart. Publish a key as long as its receipts must verify.",
    quick=OWN_PROCESSES,
)
async def a_restart_forgets_no_payment(case: Case) -> None:
    """After a restart a spent payment buys no further call, and one made before it for a live challenge is served.

    Buys one call on every lane, and pays for another. Restarts the rail by the profile's command. Presents the first
    proof on the same request, and then the second one twice. Expects the stored answer or a refusal for the first, 200
    for the second, and then its stored answer or a refusal.

    If the rail settles, the node holds a settlement in its pool during the restart. Expects that it is charged once,
    and that its call is served if a challenge of its age can still be paid. Fetches the published keys after the
    restart. Expects that the receipts from before and after it verify with the key set, and the later one with the DID
    document.
    """
    words = restart_command(case, "rail")
    if words is None:
        leave_without_restart(case, "rail")
        return
    lanes = [lane for row in _SERVICE_ROWS for lane in _list_claimed_lanes(case, row)]
    for row in _SERVICE_ROWS:
        if not _list_claimed_lanes(case, row):
            # The row names a lane. If no lane of its family is claimed, the rail cannot show it.
            case.mark_not_applicable(row, f"the profile does not claim the lane {load()[row].lane}")
    states = await run_concurrently(_buy_and_pay(case, lane) for lane in lanes)
    judge_settlement = await _restart_rail(case, words)
    set_keys, did_keys = await published_keys(case)
    keys = {_IN_SET: set_keys, _IN_DID: did_keys}
    await run_concurrently(
        [*(_judge_lane(case, one, keys) for one in states), *([] if judge_settlement is None else [judge_settlement()])]
    )


def _list_claimed_lanes(case: Case, row: str) -> list[str]:
    """Return the claimed lanes on which a row is decided."""
    return [lane for lane in case.profile.claims.lanes if decided_on(load()[row], lane)]


async def _restart_rail(case: Case, words: Sequence[str]) -> Callable[[], Awaitable[None]] | None:
    """Restart the rail, with a settlement in progress if it settles; return the function that judges it, or None."""
    url, settling_lanes = case.session.rail + INDEX, _list_claimed_lanes(case, _SETTLEMENT_ROW)
    if not settling_lanes:
        case.mark_not_applicable(_CHARGE_ROW, f"the profile does not claim the lane {load()[_SETTLEMENT_ROW].lane}")
        await start_again(case, words, url)
        return None
    # Imported here, because its dependencies are installed only with that lane's extra.
    from conformance.assertions.rail.base.pending_settlements import withhold_settlement  # noqa: PLC0415

    async with withhold_settlement(case, settling_lanes[0]) as judge:
        await start_again(case, words, url)
    return judge


async def _buy_and_pay(case: Case, lane: str) -> _LaneState:
    operation = case.session.catalog.operations[0]
    sale = await purchase(case, operation, lane)
    quote = await challenge(case, operation)
    return _LaneState(lane, sale, quote, await pay(case, quote, lane))


@check(
    _TERMS_ROW,
    surface="rail",
    exclusive=Exclusive.RESTART,
    fix="Store the terms (price, asset, payTo) with the time in which they were in force. Check a token against the "
    "terms of its time of issue.",
    quick=OWN_PROCESSES,
)
async def quotes_outlive_their_prices(case: Case) -> None:
    """What was quoted before a restart with other prices is payable on its own terms while it lives.

    Requests two challenges on every lane, and orders a task over A2A if the rail has it. Pays the first challenges.
    Restarts the rail with other prices, by the profile's command, and pays the others on the terms that were quoted.
    Expects that all are served, and a new challenge with another price. Then restarts the rail with its old prices.
    """
    rail_table = case.profile.surfaces["rail"]
    if rail_table.restart is None or rail_table.reprice is None:
        leave_without_restart(case, "rail", "restart" if rail_table.restart is None else "reprice")
        return
    operation, url = case.session.catalog.operations[0], case.session.rail + INDEX
    lanes = case.profile.claims.lanes
    early_quotes = {lane: await challenge(case, operation) for lane in lanes}
    proofs = {lane: await pay(case, quote, lane) for lane, quote in early_quotes.items()}
    open_quotes = {lane: await challenge(case, operation) for lane in lanes}
    task = await a2a.order_service(case, operation) if case.profile.claims.includes("rail.a2a") else None
    old_prices = _read_prices(await challenge(case, operation))
    await start_again(case, rail_table.reprice, url)
    try:
        new_prices = _read_prices(await challenge(case, operation))
        if new_prices == old_prices:
            raise Inconclusive(f"the prices are still {old_prices} after the command [surfaces.rail] reprice")
        for lane in lanes:
            quote, proof = early_quotes[lane], proofs[lane]
            await _judge_quote(case, quote, proof, {"lane": lane, "payment": "made before the restart"})
            late_proof = await pay(case, open_quotes[lane], lane)
            where = {"lane": lane, "payment": "made after the restart, on the terms from before it"}
            await _judge_quote(case, open_quotes[lane], late_proof, where)
        if task is not None and task.id is not None and task.asks_for_payment and lanes:
            await _judge_task(
                case, Challenge(operation, operation.body, task.answer, tuple(map(dict, task.entries))), lanes[0]
            )
    finally:
        await start_again(case, rail_table.restart, url)


def _read_prices(quote: Challenge) -> list[str]:
    return sorted(str(entry.get("maxAmountRequired")) for entry in quote.accepts)


async def _judge_quote(case: Case, quote: Challenge, proof: Mapping[str, Any], where: Mapping[str, str]) -> None:
    answer = await redeem(case, quote.operation, dict(proof), body=quote.body)
    case.expect(_TERMS_ROW, answer.status == 200, "200", brief(answer), exchange=answer, where=where)


async def _judge_task(case: Case, quote: Challenge, lane: str) -> None:
    """Judge that a payment on the terms of a task from before the restart is served over A2A, with its order."""
    proof = await pay(case, quote, lane)
    name_live_values(case, proof)
    task = await _pay_with_order(case, quote, proof)
    if task.payment_status == "payment-submitted" and task.id is not None:
        task = await a2a.settle_task(case, task.id, proof)
    where = {"lane": lane, "door": "A2A", "payment": "made after the restart, on the terms from before it"}
    case.expect(_TERMS_ROW, task.state == "completed", "completed", task.describe(), exchange=task.answer, where=where)


async def _judge_lane(case: Case, state: _LaneState, keys: Mapping[str, list[Ed25519Key]]) -> None:
    # A DID document may drop a key that no longer signs. Receipts name the key set, so an old receipt is checked with
    # that.
    _judge_receipt(case, state.sale, {_IN_SET: keys[_IN_SET]}, {"lane": state.lane, "receipt": "from before a restart"})
    operation, where = state.quote.operation, {"lane": state.lane, "restart": "after the payment"}
    repetition = await present(case, operation, dict(state.sale.proof), body=state.sale.challenge.body)
    is_allowed = repetition.status != 200 or extract_receipts(repetition) == extract_receipts(state.sale.answer)
    expectation = "the stored answer or a refusal"
    case.expect(
        _ONCE_ROW,
        is_allowed,
        expectation,
        _describe(repetition, is_allowed),
        exchange=repetition,
        where=where,
    )
    bound_replay = case.profile.rail_bindings.replay
    # The stored answer must be on disk, not in memory, if the operator promises it.
    if bound_replay == "stored-answer" and is_allowed:
        case.expect(
            _ONCE_ROW,
            repetition.status == 200,
            "the stored answer",
            brief(repetition),
            exchange=repetition,
            where=where,
            beyond=OpenPoint("nothing is bought twice, but the profile promises the stored answer", "P-ST-04"),
        )
    if case.profile.claims.includes("rail.a2a"):
        await _judge_repetition_over_a2a(case, state)
    service = await redeem(case, operation, dict(state.proof), body=state.quote.body)
    row = next(row for row in _SERVICE_ROWS if decided_on(load()[row], state.lane))
    case.expect(row, service.status == 200, "200", brief(service), exchange=service, where=where)
    if service.status != 200:
        case.mark_inconclusive(_IN_DID, "no call was served after the restart", exchange=service)
    else:
        last_answer = await present(case, operation, dict(state.proof), body=state.quote.body)
        is_allowed = last_answer.status != 200 or extract_receipts(last_answer) == extract_receipts(service)
        case.expect(
            _ONCE_ROW,
            is_allowed,
            expectation,
            _describe(last_answer, is_allowed),
            exchange=last_answer,
            where=where,
        )
        later_sale = Purchase(state.quote, state.lane, state.proof, service)
        _judge_receipt(case, later_sale, keys, {"lane": state.lane, "receipt": "from after a restart"})


async def _judge_repetition_over_a2a(case: Case, state: _LaneState) -> None:
    """Judge that a proof which was spent by REST before the restart buys no task after it."""
    task = await _pay_with_order(case, state.sale.challenge, state.sale.proof)
    is_allowed = extract_receipts(task.answer) <= extract_receipts(state.sale.answer)
    finding = task.describe() if is_allowed else f"{task.describe()} with another receipt"
    where = {"lane": state.lane, "restart": "after the payment", "door": "REST, then A2A"}
    expectation = "the stored answer or a refusal"
    case.expect(_ONCE_ROW, is_allowed, expectation, finding, exchange=task.answer, where=where)


async def _pay_with_order(case: Case, quote: Challenge, proof: Mapping[str, Any]) -> a2a.Task:
    """Submit a payment with its order in place of a task, which a restart may have ended (P-RA-12)."""
    metadata = {a2a.STATUS_KEY: "payment-submitted", a2a.PAYLOAD_KEY: dict(proof)}
    return a2a.task_of(await a2a.send(case, a2a.orders(case, quote.operation)[0], metadata=metadata))


def _judge_receipt(case: Case, sale: Purchase, keys: Mapping[str, list[Ed25519Key]], where: Mapping[str, str]) -> None:
    """Judge that a receipt verifies with the keys that are published after the restart."""
    for row, published_row_keys in keys.items():
        try:
            fault = jose.fault_of(receipt_of(case, sale)[1], published_row_keys)
        except Inconclusive as reason:
            case.mark_inconclusive(row, str(reason), exchange=sale.answer)
            continue
        expectation = "verifies with the keys published after the restart"
        case.expect(row, fault is None, expectation, fault, exchange=sale.answer, where=where)


def _describe(answer: Answer, is_allowed: bool) -> str:
    return brief(answer) if is_allowed else f"{brief(answer)} with another receipt"
