"""RAIL-A2A-09: orders and calls of unusual form over A2A, where the target claims the specification (5.11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.assertions.rail.paid_tasks import order_quoted_task, order_task
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.oracles.member_rules import Rules, find_listed_faults, is_an
from conformance.surfaces import json_rpc
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.a2a import Task
from conformance.surfaces.rail.challenge_faults import hash_call
from conformance.surfaces.rail.proofs import STOCK_PAYMENT
from conformance.surfaces.rail.purchase import Challenge, challenge, name_live_values, pay, present, redeem
from conformance.surfaces.rail.unpaid_answers import find_request_example

_ROW: Final = "RAIL-A2A-09"
_DETAIL: Final = "error_detail"
_CALLERS_ID: Final = "11111111-1111-4111-8111-111111111111"
_BAD_REQUEST, _BAD_PARAMS = -32600, -32602
_DETAIL_RULES: Final[Rules] = {"loc": is_an(list), "msg": is_an(str), "type": is_an(str)}


@check(
    _ROW,
    surface="rail",
    lane="each",
    fix="Challenge a message without a valid order over the example of its service, and say so (P-RA-05). Draw the ids "
    "of new tasks yourself, run no call without an id, and echo the extension only to clients that name it.",
)
async def orders_of_unusual_form(case: Case) -> None:
    """A message that orders nothing valid is challenged over the published example, and a payment buys its answer.

    Sends a message without an order, and an order that its service refuses. Expects a task over the example, with the
    reason in error_detail. Pays one of them, and expects the answer that REST gives to the example. Orders with ids of
    the caller, with other media types and without the extension. Pays a task in a call without an id, and expects an
    error, and the payment unspent. Pays with an ordinary x402 payload, and expects its own code.
    """
    if not case.profile.claims.includes("rail.a2a"):
        case.mark_not_applicable(_ROW, "the profile does not claim the option rail.a2a")
        return
    operations = case.session.catalog.operations
    await _judge_examples(case, operations)
    await _judge_callers_ids(case, operations[0])
    await _judge_headers(case, operations[0])
    await _judge_calls(case, operations)
    await _judge_stock_payment(case, operations[0])
    await _judge_call_without_id(case, operations[0])


def _expect(case: Case, answer: Answer, faults: Sequence[str], trial: str) -> None:
    expectation, finding = "as 5.11 says", "; ".join(faults) or "so"
    case.expect(_ROW, not faults, expectation, finding, exchange=answer, where={"door": "A2A", "trial": trial})


async def _judge_examples(case: Case, operations: Sequence[Operation]) -> None:
    default_operation = next((one for one in operations if one.role == "receipt-verify"), None)
    last = operations[-1]
    example = find_request_example((await challenge(case, last)).answer)
    if example is None:
        case.mark_inconclusive(_ROW, "the challenge has no example, which RAIL-402-24 judges")
        return
    refused_order = [{"kind": "data", "data": {"service_id": last.role, "request": {"no_such_member": 1}}}]
    task = a2a.task_of(await a2a.send(case, refused_order))
    faults = _find_example_faults(case, last, example, task)
    _expect(case, task.answer, faults, f"an order that {last.role} refuses")
    if task.id is not None and task.asks_for_payment:
        await _judge_paid_example(case, last, example, task)
    if default_operation is not None:
        text = [{"kind": "text", "text": "hello"}]
        task = a2a.task_of(await a2a.send(case, text))
        example = find_request_example((await challenge(case, default_operation)).answer)
        faults = _find_example_faults(case, default_operation, example, task)
        _expect(case, task.answer, faults, "a message without an order")


def _find_example_faults(case: Case, operation: Operation, example: Any, task: Task) -> list[str]:
    """Return what of a task is not a challenge over the example with the reason."""
    if not task.asks_for_payment:
        return [task.describe()]
    right_hashes = hash_call(case, operation, example, task.entries)
    extras = [entry.get("extra") for entry in task.entries]
    faults = []
    for extra in extras:
        members = extra if isinstance(extra, Mapping) else {}
        if members.get("service_id") != operation.role:
            faults.append(f"service_id {members.get('service_id')!r}")
        if members.get("request_hash") not in right_hashes:
            faults.append("a request_hash that is not of the example")
    details = task.of_status(_DETAIL)
    if not isinstance(details, list) or not details:
        return [*faults, f"{_DETAIL} {details!r}"]
    return faults + [fault for one in details for fault in find_listed_faults(one, _DETAIL_RULES, f"{_DETAIL}[]")]


async def _judge_paid_example(case: Case, operation: Operation, example: Any, task: Task) -> None:
    quote = Challenge(operation, example, task.answer, tuple(dict(one) for one in task.entries))
    proof = await pay(case, quote, case.lane)
    name_live_values(case, proof)
    paid_task = await a2a.settle_task(case, str(task.id), proof)
    faults = [] if paid_task.state == "completed" else [paid_task.describe()]
    answer = await present(case, operation, dict(proof), body=example)
    if answer.status != 200 or answer.headers.get("Idempotent-Replayed") != "true":
        faults.append(f"the example with the same payment by REST is {answer.status} and not the stored answer")
    _expect(case, paid_task.answer, faults, "a payment of the example that was quoted in place of an order")


async def _judge_callers_ids(case: Case, operation: Operation) -> None:
    """Judge that a new task takes neither its id nor its context from the caller (P-RA-10)."""
    task = a2a.task_of(await a2a.send(case, a2a.orders(case, operation)[0], contextId=_CALLERS_ID))
    faults = [] if task.asks_for_payment else [task.describe()]
    taken = [name for name in ("id", "contextId") if task.members.get(name) == _CALLERS_ID]
    _expect(case, task.answer, faults + [f"the caller's {name}" for name in taken], "an order with a context id")


async def _judge_headers(case: Case, operation: Operation) -> None:
    """Judge that the media type of a call decides nothing, and that the extension is echoed to its callers only."""
    address = case.session.rail + a2a.A2A
    params = json_rpc.message(a2a.orders(case, operation)[0], a2a.name_message(case))
    call = json_rpc.request("message/send", params, 1)
    for media_type in ("text/plain", "application/a2a+json", "application/x-www-form-urlencoded"):
        answer = await case.client.call("POST", address, json_body=call, headers={"content-type": media_type})
        task = a2a.task_of(a2a.name_live_values(case, answer))
        faults = [] if task.asks_for_payment else [task.describe()]
        if a2a.EXTENSIONS in answer.headers:
            faults.append(f"{a2a.EXTENSIONS}, although the caller did not name an extension")
        _expect(case, answer, faults, f"an order as {media_type} without the extension")


async def _judge_calls(case: Case, operations: Sequence[Operation]) -> None:
    """Judge `params` that are left out, and the names in the error for an unknown service (P-RA-04, P-RA-05)."""
    address = case.session.rail + a2a.A2A
    for method in ("message/send", "tasks/get"):
        answer = await case.client.call("POST", address, json_body={"jsonrpc": "2.0", "id": 1, "method": method})
        _expect(case, answer, json_rpc.find_error_faults(answer, _BAD_PARAMS), f"{method} without params")
    unknown_order = [{"kind": "data", "data": {"service_id": "no-such-service", "request": {}}}]
    answer = await a2a.send(case, unknown_order)
    # The names may be in the message or in the data of the error.
    text = str(answer.read_object().get("error"))
    missing_names = [one.role for one in operations if not one.is_guess and str(one.role) not in text]
    faults = [f"an error without the name {name}" for name in missing_names]
    _expect(case, answer, faults + json_rpc.find_error_faults(answer, _BAD_PARAMS), "an unknown service")


async def _judge_stock_payment(case: Case, operation: Operation) -> None:
    """Judge the code of an ordinary x402 payload over A2A (P-RA-07)."""
    task = await order_task(case, operation)
    refused_task = await a2a.pay_task(case, str(task.id), STOCK_PAYMENT)
    receipts = refused_task.of_status(a2a.RECEIPTS_KEY)
    receipt = receipts[-1] if isinstance(receipts, list) and receipts else None
    reason = receipt.get("errorReason") if isinstance(receipt, Mapping) else None
    faults = [] if reason == "payment_not_welded" else [f"errorReason {reason!r}"]
    faults += [] if refused_task.payment_status == "payment-failed" else [refused_task.describe()]
    _expect(case, refused_task.answer, faults, "an ordinary x402 payload")


async def _judge_call_without_id(case: Case, operation: Operation) -> None:
    """Judge that a payment in a call without an id is refused as a call, and buys nothing (P-RA-04)."""
    task, quote = await order_quoted_task(case, operation)
    proof = await pay(case, quote, case.lane)
    name_live_values(case, proof)
    metadata = {a2a.STATUS_KEY: "payment-submitted", a2a.PAYLOAD_KEY: dict(proof)}
    parts = [{"kind": "text", "text": "payment"}]
    params = json_rpc.message(parts, a2a.name_message(case), taskId=task.id, metadata=metadata)
    call = {"jsonrpc": "2.0", "method": "message/send", "params": params}
    answer = await case.client.call("POST", case.session.rail + a2a.A2A, json_body=call)
    _expect(case, answer, json_rpc.find_error_faults(answer, _BAD_REQUEST, None), "a payment in a call without an id")
    served = await redeem(case, operation, dict(proof), body=operation.body)
    faults = [] if served.status == 200 else [f"status {served.status}"]
    faults += ["a stored answer"] if "Idempotent-Replayed" in served.headers else []
    _expect(case, served, faults, "the payment of a call without an id, by REST")
