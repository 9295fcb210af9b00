"""RAIL-WELD-05, -12, RAIL-PAY-06 and RAIL-RCPT-04 over A2A: paid tasks, races with REST, and their receipts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from conformance.assertions.rail.paid_tasks import (
    LEAK_ROW,
    judge_secrets,
    judge_unpaid,
    list_new_receipts,
    order_quoted_task,
    order_task,
    submit_payment,
)
from conformance.checks.rail.cross_transport_replays import lacks_a2a
from conformance.discovery.accepted_unusual_bodies import unusual_bodies
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.lanes.algorand.transaction_ids import invented_id
from conformance.oracles.hash_recipes import find_claim, jcs_bytes
from conformance.oracles.json_encodings import OTHER_ENCODINGS, Encoder
from conformance.outcome import Inconclusive
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.a2a import Task
from conformance.surfaces.rail.algorand.payments import algorand_payer, pay_welded
from conformance.surfaces.rail.paid_answers import extract_receipts, looks_payable
from conformance.surfaces.rail.purchase import Challenge, challenge, name_live_values, pay, present
from conformance.surfaces.rail.receipts import claims_of, request_hashes

# Calls by each transport in the race. Fewer rarely overlap, and each one over A2A needs a separate task.
_CALLS_EACH = 12
_RACE_ROW, _STRAY_ROW, _UNKNOWN_ROW, _BINDING_ROW = "RAIL-WELD-12", "RAIL-WELD-05", "RAIL-PAY-06", "RAIL-RCPT-04"


@check(
    _RACE_ROW,
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
    if lacks_a2a(case):
        return
    operation = case.session.catalog.operations[0]
    # One task can be paid only once by design. Separate tasks leave only the shared ledger to stop the second
    # execution.
    tasks = [await order_task(case, operation) for _ in range(_CALLS_EACH)]
    proof = await pay(case, await challenge(case, operation), case.lane)

    async def pay_by_rest() -> Answer:
        return await present(case, operation, proof)

    async def pay_by_message(task: Task) -> Task:
        return await a2a.pay_task(case, task.id or "", proof)

    # The calls alternate, so that neither transport has all its calls ahead of the other's.
    calls: list[Any] = [one for task in tasks for one in (pay_by_message(task), pay_by_rest())]
    results = await run_concurrently(calls, at_once=2 * _CALLS_EACH)
    rest_receipts = [extract_receipts(one) for one in results[1::2] if one.status == 200]
    a2a_receipts = [
        list_new_receipts(*pair) for pair in zip(tasks, results[::2], strict=True) if pair[1].state == "completed"
    ]
    # No served call shows a race neither won nor lost. A later attempt only helps to explain why nothing was served.
    if not rest_receipts + a2a_receipts:
        last = await a2a.settle_task(case, (await order_task(case, operation)).id or "", proof)
        raise Inconclusive(f"none of {2 * _CALLS_EACH} calls with an honest proof was served; later: {last.describe()}")
    _judge_race(case, operation, rest_receipts, a2a_receipts)


def _judge_race(
    case: Case, operation: Operation, rest_receipts: Sequence[frozenset[str]], a2a_receipts: Sequence[frozenset[str]]
) -> None:
    """Judge that each transport returned one receipt, and both the same."""
    is_one_each = len(set(rest_receipts)) <= 1 and len(set(a2a_receipts)) <= 1
    is_common = not (rest_receipts and a2a_receipts) or _are_of_one_execution(rest_receipts[0], a2a_receipts[0])
    finding = (
        f"{len(rest_receipts)} by REST with {len(set(rest_receipts))} receipts, "
        f"{len(a2a_receipts)} over A2A with {len(set(a2a_receipts))}"
    )
    case.expect(
        _RACE_ROW,
        is_one_each and is_common,
        "one receipt by REST and over A2A",
        finding + ("" if is_common else ", none of them the same"),
        where={"operation": operation.path, "door": "REST and A2A at once"},
    )


def _are_of_one_execution(rest_receipts: frozenset[str], message: frozenset[str]) -> bool:
    """Return whether the receipts of a call by REST and of one over A2A can come from the same execution.

    Payable receipts decide if both have one. Two executions in the same millisecond may have the same attestation and
    the same compliance receipt. Their payable receipts still differ in the response that they name.
    """
    payable = [frozenset(filter(looks_payable, tokens)) for tokens in (rest_receipts, message)]
    first, second = payable if all(payable) else (rest_receipts, message)
    return bool(first & second)


@check(
    _STRAY_ROW,
    _UNKNOWN_ROW,
    surface="rail",
    lane="algorand",
    fix="Verify a payment over A2A in the same way as by REST: find the transaction on the chain, and compare its "
    "note with the token.",
)
async def what_is_no_payment_completes_no_task(case: Case) -> None:
    """A transfer without the weld, and a transaction that was never sent, complete no task.

    Orders an operation over A2A and pays it honestly. As a control, that must complete the task. Then submits for
    further tasks a transfer of the right amount to the right recipient without a note, and an invented transaction id.
    Expects that neither completes its task or yields a receipt.
    """
    if lacks_a2a(case):
        return
    operation = case.session.catalog.operations[0]
    payer = await algorand_payer(case)
    task, quote = await order_quoted_task(case, operation)
    honest_proof = await pay_welded(payer, quote)
    paid_task = await submit_payment(case, task, honest_proof)
    if paid_task.state != "completed":
        raise Inconclusive(f"the control, an honest payment over A2A, became {paid_task.describe()}: its form is open")
    task, quote = await order_quoted_task(case, operation)
    stray_proof = await pay_welded(payer, quote, note=b"")
    judge_unpaid(case, _STRAY_ROW, task, await submit_payment(case, task, stray_proof), "a transfer without a note")
    task, quote = await order_quoted_task(case, operation)
    tx_id = invented_id()
    unknown_proof = {"tx_id": tx_id, "payment_reference": quote.reference(case.lane)}
    name_live_values(case, unknown_proof)
    judge_unpaid(
        case, _UNKNOWN_ROW, task, await a2a.pay_task(case, task.id or "", unknown_proof), "an id that was never sent"
    )


@check(
    _BINDING_ROW,
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
    if lacks_a2a(case):
        return
    bindings = case.profile.rail_bindings
    operation = next((one for one in case.session.catalog.operations if one.other_bodies and not one.is_guess), None)
    # Three things must be known: another body that the service accepts, how an order contains it, and how a receipt
    # binds it. With one of them guessed, a mismatch could be the suite's error.
    if operation is None or bindings.request_hash is None or "{body}" not in json.dumps(bindings.a2a_request):
        case.mark_not_applicable(
            _BINDING_ROW, "what an order holds, and how a receipt binds it, is not bound in the profile"
        )
        return
    changed_operation = replace(operation, body=operation.other_bodies[0])
    task, quote = await order_quoted_task(case, changed_operation)
    paid_task = await submit_payment(case, task, await pay(case, quote, case.lane))
    if paid_task.state != "completed":
        raise Inconclusive(f"an honest payment over A2A became {paid_task.describe()}: its form is open")
    receipt_claims = [claims_of(token) for token in list_new_receipts(task, paid_task) if looks_payable(token)]
    usual_hashes, ordered_hashes = (
        hash_request(one, quote, bindings.request_hash) for one in (operation, changed_operation)
    )
    # Only a receipt that binds the usual request and not the ordered one proves the fault. One that fits neither may
    # use an unknown recipe, which RAIL-RCPT-04 judges.
    wrong_claims = next(
        (
            claims
            for claims in receipt_claims
            if find_claim(claims, usual_hashes) and not find_claim(claims, ordered_hashes)
        ),
        None,
    )
    finding = "the usual request" if wrong_claims else "no other request"
    where = {"operation": operation.path, "door": "A2A"}
    case.expect(
        _BINDING_ROW,
        wrong_claims is None,
        "the request that was ordered",
        finding,
        exchange=paid_task.answer,
        where=where,
    )
    for body in (await unusual_bodies(case.client, operation))[:1]:
        # The interface leaves open which values an order may contain, so a refusal decides nothing.
        with suppress(Inconclusive):
            await _judge_encoding(case, replace(operation, body=body), bindings.request_hash)


async def _judge_encoding(case: Case, operation: Operation, recipe: str) -> None:
    """Judge that the receipt of an order with unusual values binds its RFC 8785 form, by the profile's recipe."""
    task, quote = await order_quoted_task(case, operation)
    paid_task = await submit_payment(case, task, await pay(case, quote, case.lane))
    receipt_claims = [claims_of(token) for token in list_new_receipts(task, paid_task) if looks_payable(token)]
    canonical = hash_request(operation, quote, recipe)
    unbound_claims = [claims for claims in receipt_claims if not find_claim(claims, canonical)]
    encoding = next(
        (
            description
            for description, encode in OTHER_ENCODINGS.items()
            for claims in unbound_claims
            if find_claim(claims, hash_request(operation, quote, recipe, encode))
        ),
        None,
    )
    # A receipt that fits no known encoding is not judged here: it may bind what the interface leaves open.
    if receipt_claims and (encoding is not None or not unbound_claims):
        expectation, where = f"recipe {recipe} over RFC 8785", {"operation": operation.path, "door": "A2A"}
        finding = "so" if encoding is None else f"over JSON that {encoding}"
        case.expect(_BINDING_ROW, encoding is None, expectation, finding, exchange=paid_task.answer, where=where)


def hash_request(operation: Operation, quote: Challenge, recipe: str, encode: Encoder = jcs_bytes) -> set[str]:
    """Return the digests of a recipe that may bind an operation's request.

    Args:
        operation: The called operation, with its body.
        quote: A challenge for it, which names the service.
        recipe: Name of the recipe.
        encode: As `hashing.request_hashes` takes it.
    """
    return request_hashes(operation, operation.body, quote.accepts, encode).get(recipe, set())


@check(
    LEAK_ROW,
    surface="rail",
    lane="each",
    fix="Cut x402.payment.payload from each message before it is stored, whatever becomes of the payment.",
)
async def paid_tasks_repeat_no_payment(case: Case) -> None:
    """No task repeats a payment: not the one that it completed, and not the next one that presents it again.

    Orders an operation over A2A and pays the task. Presents the same payment with its order, which is another task, and
    for an order of another operation. Expects the payment in none of these tasks, as they are answered and as tasks/get
    returns them, and that the task of the other operation is not completed.
    """
    if lacks_a2a(case):
        return
    operations = case.session.catalog.operations
    task, quote = await order_quoted_task(case, operations[0])
    proof = await pay(case, quote, case.lane)
    paid_task = await submit_payment(case, task, proof)
    if paid_task.state != "completed":
        raise Inconclusive(f"an honest payment over A2A became {paid_task.describe()}: its form is open")
    metadata = {a2a.STATUS_KEY: "payment-submitted", a2a.PAYLOAD_KEY: dict(proof)}
    again = a2a.task_of(await a2a.send(case, a2a.orders(case, operations[0])[0], metadata=metadata))
    other_task, _ = await order_quoted_task(case, operations[-1])
    refused_task = await a2a.pay_task(case, other_task.id or "", proof)
    trials = {"that completed a task": paid_task, "with its order": again, "for another order": refused_task}
    for description, answered_task in trials.items():
        tasks = [answered_task]
        if answered_task.id is not None:
            tasks.append(a2a.task_of(await a2a.fetch_task(case, answered_task.id)))
        judge_secrets(case, proof, {"operation": operations[0].path, "payment": description}, *tasks)
