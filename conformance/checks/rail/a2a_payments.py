"""RAIL-WELD-05, -12, RAIL-PAY-06 and RAIL-RCPT-04 over A2A: paid tasks, races with REST, and their receipts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from conformance.attacks.engine import receipts
from conformance.discovery.accepted_unusual_bodies import unusual_bodies
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.http.client import Answer
from conformance.lanes.algorand.transaction_ids import invented_id
from conformance.oracles.hashing import find_claim, jcs_bytes
from conformance.oracles.json_encodings import OTHER_ENCODINGS, Encoder
from conformance.outcome import Inconclusive
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.a2a import Task
from conformance.surfaces.rail.algorand.payments import algorand_payer, pay_welded
from conformance.surfaces.rail.paid_answers import looks_payable
from conformance.surfaces.rail.purchase import Challenge, challenge, name_live_values, pay, present
from conformance.surfaces.rail.receipts import claims_of, request_hashes

_EACH = 12
_RACE, _STRAY, _UNKNOWN, _BOUND = "RAIL-WELD-12", "RAIL-WELD-05", "RAIL-PAY-06", "RAIL-RCPT-04"
_NO_DOOR = "the profile does not claim the option rail.a2a"


def _has_no_door(case: Case) -> bool:
    """Return whether the profile claims no A2A endpoint, and report that for each row."""
    absent = "rail.a2a" not in case.profile.claims.options
    for row in case.check.rows if absent else ():
        case.mark_not_applicable(row, _NO_DOOR)
    return absent


async def _ordered(case: Case, operation: Operation) -> Task:
    """Return a task that asks for payment.

    Raises:
        Inconclusive: The order made no such task, which RAIL-A2A-03 judges.
    """
    task = await a2a.order_service(case, operation)
    if task.id is None or not task.asks_for_payment:
        raise Inconclusive("no task over A2A asked for payment, which RAIL-A2A-03 judges")
    return task


def _brought(asked: Task, became: Task) -> frozenset[str]:
    """Return every compact JWS that the payment added to the task. Those of the unpaid task do not count."""
    return receipts(became.answer) - receipts(asked.answer)


@check(
    _RACE,
    surface="rail",
    lane="each",
    fix="Redeem payments by REST and over A2A with one atomic statement on one table, so that only the first caller "
    "executes.",
)
async def one_of_many_at_both_doors_is_executed(case: Case) -> None:
    """Of concurrent calls with one proof, by REST and over A2A, at most one is executed.

    Orders an operation over A2A as often as it calls it by REST, pays once, and presents the proof in all calls and
    tasks at once. Expects that every served answer, by REST or over A2A, contains the same receipt.
    """
    if _has_no_door(case):
        return
    operation = case.session.catalog.operations[0]
    tasks = [await _ordered(case, operation) for _ in range(_EACH)]
    proof = await pay(case, await challenge(case, operation), case.lane)

    async def by_rest() -> Answer:
        return await present(case, operation, proof)

    async def by_message(task: Task) -> Task:
        return await a2a.pay_task(case, task.id or "", proof)

    # The calls alternate, so that neither transport has all its calls ahead of the other's.
    turns: list[Any] = [one for task in tasks for one in (by_message(task), by_rest())]
    came = await run_concurrently(turns, at_once=2 * _EACH)
    rest = [receipts(one) for one in came[1::2] if one.status == 200]
    messages = [_brought(*pair) for pair in zip(tasks, came[::2], strict=True) if pair[1].state == "completed"]
    if not rest + messages:
        last = await a2a.settle_task(case, (await _ordered(case, operation)).id or "", proof)
        raise Inconclusive(f"none of {2 * _EACH} calls with an honest proof was served; later: {last.describe()}")
    _judge_race(case, operation, rest, messages)


def _judge_race(
    case: Case, operation: Operation, rest: Sequence[frozenset[str]], messages: Sequence[frozenset[str]]
) -> None:
    """Judge that each transport returned one receipt, and both the same."""
    alike = len(set(rest)) <= 1 and len(set(messages)) <= 1
    shared = not (rest and messages) or _are_of_one_execution(rest[0], messages[0])
    found = f"{len(rest)} by REST with {len(set(rest))} receipts, {len(messages)} over A2A with {len(set(messages))}"
    case.expect(
        _RACE,
        alike and shared,
        "one receipt by REST and over A2A",
        found + ("" if shared else ", none of them the same"),
        where={"operation": operation.path, "door": "REST and A2A at once"},
    )


def _are_of_one_execution(rest: frozenset[str], message: frozenset[str]) -> bool:
    """Return whether the receipts of a call by REST and of one over A2A can come from the same execution.

    Payable receipts decide if both have one. Two executions in the same millisecond may have the same attestation and
    the same compliance receipt. Their payable receipts still differ in the response that they name.
    """
    payable = [frozenset(filter(looks_payable, tokens)) for tokens in (rest, message)]
    first, second = payable if all(payable) else (rest, message)
    return bool(first & second)


@check(
    _STRAY,
    _UNKNOWN,
    surface="rail",
    lane="algorand",
    fix="Verify a payment over A2A as one by REST: find the transaction on the chain, and compare its note with the "
    "token.",
)
async def what_is_no_payment_completes_no_task(case: Case) -> None:
    """A transfer without the weld, and a transaction that was never sent, complete no task.

    Orders an operation over A2A and pays it honestly. As a control, that must complete the task. Then submits for
    further tasks a transfer of the right amount to the right recipient without a note, and an invented transaction id.
    Expects that neither completes its task or yields a receipt.
    """
    if _has_no_door(case):
        return
    operation = case.session.catalog.operations[0]
    payer = await algorand_payer(case)
    task, quote = await quoted_task(case, operation)
    honest = await pay_welded(payer, quote)
    became = await submitted(case, task, honest)
    if became.state != "completed":
        raise Inconclusive(f"the control, an honest payment over A2A, became {became.describe()}: its form is open")
    task, quote = await quoted_task(case, operation)
    stray = await pay_welded(payer, quote, note=b"")
    _judge(case, _STRAY, task, await submitted(case, task, stray), "a transfer without a note")
    task, quote = await quoted_task(case, operation)
    tx_id = invented_id()
    unknown = {"tx_id": tx_id, "payment_reference": quote.reference(case.lane)}
    name_live_values(case, unknown)
    _judge(case, _UNKNOWN, task, await a2a.pay_task(case, task.id or "", unknown), "an id that was never sent")


@check(
    _BOUND,
    surface="rail",
    lane="each",
    fix="Quote, bind and sell over A2A the request in the order, not the service's example.",
)
async def what_is_ordered_over_a2a_is_sold(case: Case) -> None:
    """What is ordered over A2A is what a payment buys, and what the receipt binds.

    Orders an operation over A2A with another body than its usual one, in the data part that the profile binds, and pays
    the task. Expects that the receipt does not bind the usual request instead. Also orders it with values that JSON
    encoders write differently, if REST accepts any. Expects that no receipt binds them by another encoding than RFC
    8785.
    """
    if _has_no_door(case):
        return
    bindings = case.profile.rail_bindings
    chosen = next((one for one in case.session.catalog.operations if one.other_bodies and not one.is_guess), None)
    if chosen is None or bindings.request_hash is None or "{body}" not in json.dumps(bindings.a2a_request):
        case.mark_not_applicable(_BOUND, "what an order holds, and how a receipt binds it, is not bound in the profile")
        return
    ordered = replace(chosen, body=chosen.other_bodies[0])
    task, quote = await quoted_task(case, ordered)
    became = await submitted(case, task, await pay(case, quote, case.lane))
    if became.state != "completed":
        raise Inconclusive(f"an honest payment over A2A became {became.describe()}: its form is open")
    brought = [claims_of(token) for token in _brought(task, became) if looks_payable(token)]
    usual, own = (hashes_of(one, quote, bindings.request_hash) for one in (chosen, ordered))
    bound = next((claims for claims in brought if find_claim(claims, usual) and not find_claim(claims, own)), None)
    found = "the usual request" if bound else "no other request"
    where = {"operation": chosen.path, "door": "A2A"}
    case.expect(_BOUND, bound is None, "the request that was ordered", found, exchange=became.answer, where=where)
    for body in (await unusual_bodies(case.client, chosen))[:1]:
        # The interface leaves open which values an order may contain, so a refusal decides nothing.
        with suppress(Inconclusive):
            await _judge_encoding(case, replace(chosen, body=body), bindings.request_hash)


async def _judge_encoding(case: Case, ordered: Operation, recipe: str) -> None:
    """Judge that the receipt of an order with unusual values binds its RFC 8785 form, by the profile's recipe."""
    task, quote = await quoted_task(case, ordered)
    became = await submitted(case, task, await pay(case, quote, case.lane))
    brought = [claims_of(token) for token in _brought(task, became) if looks_payable(token)]
    canonical = hashes_of(ordered, quote, recipe)
    unbound = [claims for claims in brought if not find_claim(claims, canonical)]
    found = next(
        (
            what
            for what, encode in OTHER_ENCODINGS.items()
            for claims in unbound
            if find_claim(claims, hashes_of(ordered, quote, recipe, encode))
        ),
        None,
    )
    if brought and (found is not None or not unbound):
        expected, where = f"recipe {recipe} over RFC 8785", {"operation": ordered.path, "door": "A2A"}
        seen = "so" if found is None else f"over JSON that {found}"
        case.expect(_BOUND, found is None, expected, seen, exchange=became.answer, where=where)


def hashes_of(operation: Operation, quote: Challenge, recipe: str, encode: Encoder = jcs_bytes) -> set[str]:
    """Return the digests of a recipe that may bind an operation's request.

    Args:
        operation: The called operation, with its body.
        quote: A challenge for it, which names the service.
        recipe: Name of the recipe.
        encode: As `hashing.request_hashes` takes it.
    """
    return request_hashes(operation, operation.body, quote.accepts, encode).get(recipe, set())


async def quoted_task(case: Case, operation: Operation) -> tuple[Task, Challenge]:
    """Return a task that asks for payment, and its terms as a challenge."""
    task = await _ordered(case, operation)
    return task, Challenge(operation, operation.body, task.answer, tuple(dict(one) for one in task.entries))


async def submitted(case: Case, task: Task, proof: Mapping[str, Any]) -> Task:
    """Pay a task with a proof and return the task in its final state."""
    name_live_values(case, proof)
    return await a2a.settle_task(case, task.id or "", proof)


def _judge(case: Case, row: str, asked: Task, became: Task, what: str) -> None:
    brought = _brought(asked, became)
    holds = became.state != "completed" and not brought
    where = {"door": "A2A", "payment": what}
    case.expect(row, holds, "no completed task", became.describe(), exchange=became.answer, where=where)
