"""RAIL-A2A-09: tasks, states and errors over A2A, where the target claims the specification (5.11)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.assertions.rail.paid_tasks import order_quoted_task, order_task
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.oracles.member_rules import Rules, equals, find_member_faults, is_an, is_equal
from conformance.oracles.rail_members import UUID_RULE, QuotedRequest, find_challenge_faults, find_settlement_faults
from conformance.surfaces import json_rpc
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.a2a import Task
from conformance.surfaces.rail.challenge_faults import hash_call
from conformance.surfaces.rail.proofs import encode_base64
from conformance.surfaces.rail.purchase import Challenge, name_live_values, pay, present

ROW: Final = "RAIL-A2A-09"
_UNKNOWN_TASK: Final = "00000000-0000-4000-8000-000000000000"
_NO_TASK, _NOT_CANCELABLE, _NO_PUSH, _UNSUPPORTED, _NO_CARD = -32001, -32002, -32003, -32004, -32007
_BAD_REQUEST, _NO_METHOD, _BAD_PARAMS, _NO_JSON = -32600, -32601, -32602, -32700


@check(
    ROW,
    surface="rail",
    lane="each",
    fix="Give tasks the members and states of P-RA-06 and P-RA-08, one ledger with REST (P-RA-10), and the errors of "
    "P-RA-03 and P-RA-04.",
)
async def members_of_tasks(case: Case) -> None:
    """Each answer over A2A has the members, states and error codes that the specification gives it.

    Orders every operation, and expects each member of the task and of its terms. Pays a task: expects it completed,
    with the paid answer as its one artifact and the settlement as its receipt, the stored answer by REST for the same
    proof, and the same over A2A with the order in place of the task. Rejects and cancels tasks, pays the challenge of a
    canceled one, and expects its states and errors. Sends wrong calls, and expects their codes.
    """
    if not case.profile.claims.includes("rail.a2a"):
        case.mark_not_applicable(ROW, "the profile does not claim the option rail.a2a")
        return
    operations = case.session.catalog.operations
    await run_concurrently(_judge_order(case, operation) for operation in operations)
    await run_concurrently(_judge_paid(case, operation) for operation in operations)
    await _judge_endings(case, operations[0])
    await _judge_errors(case, operations[0])


def _expect(case: Case, answer: Answer, faults: Sequence[str], trial: str) -> None:
    expectation, finding = "as 5.11 says", "; ".join(faults) or "so"
    case.expect(ROW, not faults, expectation, finding, exchange=answer, where={"door": "A2A", "trial": trial})


async def _judge_order(case: Case, operation: Operation) -> None:
    task = await order_task(case, operation)
    bindings = case.profile.rail_bindings
    status = task.members.get("status")
    message = status.get("message") if isinstance(status, Mapping) else None
    message_members = message if isinstance(message, Mapping) else {}
    expected: dict[str, tuple[Any, Any]] = {
        "kind": (task.members.get("kind"), "task"),
        "status.state": (task.state, "input-required"),
        "x402.payment.status": (task.payment_status, "payment-required"),
        "metadata.payment_state": (_read_metadata(task).get("payment_state"), "a2a-x402"),
        "message.kind": (message_members.get("kind"), "message"),
        "message.role": (message_members.get("role"), "agent"),
        "message.taskId": (message_members.get("taskId"), task.id),
        "message.contextId": (message_members.get("contextId"), task.members.get("contextId")),
    }
    if bindings.a2a_uri is not None:
        expected["message.extensions"] = (message_members.get("extensions"), [bindings.a2a_uri])
        echoed = task.answer.headers.get(a2a.EXTENSIONS)
        expected[a2a.EXTENSIONS] = (echoed, bindings.a2a_uri)
    faults = [f"{name} {found!r}" for name, (found, right) in expected.items() if not is_equal(found, right)]
    odd_ids = [name for name in ("id", "contextId") if not UUID_RULE.holds(task.members.get(name))]
    faults += [f"{name} is no UUID of version 4" for name in odd_ids]
    if task.members.get("artifacts"):
        faults.append("artifacts before the payment")
    request = QuotedRequest(
        operation.url,
        operation.role,
        hash_call(case, operation, operation.body, task.entries),
        bindings.scheme or "exact",
        bindings.challenge_ttl,
        case.profile.service_word,
    )
    faults += find_challenge_faults(
        task.payment_terms, request, error="payment_required", is_refusal=False, has_detail=False
    )
    _expect(case, task.answer, faults, f"an order of {operation.path}")
    stored = a2a.task_of(await a2a.fetch_task(case, str(task.id)))
    same = ("id", "contextId", "kind", "status", "metadata")
    faults = [f"another {name}" for name in same if stored.members.get(name) != task.members.get(name)]
    _expect(case, stored.answer, faults, f"tasks/get after an order of {operation.path}")


def _read_metadata(task: Task) -> Mapping[str, Any]:
    metadata = task.members.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


async def _judge_paid(case: Case, operation: Operation) -> None:
    task, quote = await order_quoted_task(case, operation)
    proof = await pay(case, quote, case.lane)
    name_live_values(case, proof)
    paid_task = await a2a.settle_task(case, str(task.id), proof)
    body, faults = _find_paid_faults(case, quote, paid_task)
    if paid_task.id != task.id:
        faults.append("another task")
    _expect(case, paid_task.answer, faults, f"a paid order of {operation.path}")
    stored = a2a.task_of(await a2a.fetch_task(case, str(task.id)))
    same = ("id", "status", "artifacts", "metadata")
    faults = [f"another {name}" for name in same if stored.members.get(name) != paid_task.members.get(name)]
    _expect(case, stored.answer, faults, f"tasks/get after a payment of {operation.path}")
    answer = await present(case, operation, dict(proof))
    faults = [] if answer.status == 200 and answer.read_object() == body else [f"status {answer.status}, another body"]
    faults += [] if answer.headers.get("Idempotent-Replayed") == "true" else ["no Idempotent-Replayed: true"]
    _expect(case, answer, faults, f"the same payment of {operation.path} by REST")
    # P-RA-12: a payment whose task is gone comes with its order.
    metadata = {a2a.STATUS_KEY: "payment-submitted", a2a.PAYLOAD_KEY: dict(proof)}
    new_task = a2a.task_of(await a2a.send(case, a2a.orders(case, operation)[0], metadata=metadata))
    repeated_body, faults = _find_paid_faults(case, quote, new_task)
    faults += ["the task of the first payment"] if new_task.id == task.id else []
    faults += [] if repeated_body == body else ["another body"]
    _expect(case, new_task.answer, faults, f"the same payment of {operation.path} with its order")
    # A finished task takes no further message (P-RA-04).
    again = await a2a.pay_task(case, str(task.id), proof)
    _expect_error(case, again.answer, _BAD_PARAMS, f"a payment of the finished task of {operation.path}")
    canceled = await _call(case, "tasks/cancel", {"id": task.id})
    _expect_error(case, canceled, _NOT_CANCELABLE, f"cancel of the finished task of {operation.path}")


def _find_paid_faults(case: Case, quote: Challenge, task: Task) -> tuple[Any, list[str]]:
    """Return the paid answer in a task, and what of the task is not as P-RA-08 says."""
    faults = [] if task.state == "completed" else [f"state {task.state}"]
    faults += [] if task.payment_status == "payment-completed" else [f"{a2a.STATUS_KEY} {task.payment_status}"]
    artifacts = task.members.get("artifacts")
    parts = [one.get("parts") for one in artifacts if isinstance(one, Mapping)] if isinstance(artifacts, list) else []
    if len(parts) != 1 or not isinstance(parts[0], list) or len(parts[0]) != 1 or not isinstance(parts[0][0], Mapping):
        return None, [*faults, "not one artifact with one part"]
    part = parts[0][0]
    body = part.get("data")
    members = ("result", "payable_receipt", "settlement_attestation", "settled_payment_ref", "response_hash")
    hashes = hash_call(case, quote.operation, quote.body, quote.accepts)
    rules: Rules = {
        "service_id": equals(quote.operation.role),
        **{name: is_an(dict if name == "result" else str) for name in members},
        "request_hash": equals(hashes[0] if hashes else None),
    }
    faults += [] if part.get("kind") == "data" else [f"a part of kind {part.get('kind')!r}"]
    faults += find_member_faults(body, rules, "the artifact")
    receipts = task.of_status(a2a.RECEIPTS_KEY)
    if not isinstance(receipts, list) or len(receipts) != 1 or not isinstance(receipts[0], dict):
        return body, [*faults, f"not one receipt in {a2a.RECEIPTS_KEY}"]
    entry = quote.entry(case.lane)
    expected = {"network": entry.get("network"), "amount": entry.get("maxAmountRequired")}
    expected["payer"] = receipts[0].get("payer")
    return body, faults + find_settlement_faults(encode_base64(json.dumps(receipts[0]).encode()), expected)


async def _judge_endings(case: Case, operation: Operation) -> None:
    """Judge a rejected task, and a canceled one whose challenge is paid all the same (P-RA-08, P-RA-11)."""
    task = await order_task(case, operation)
    parts = [{"kind": "text", "text": "no"}]
    answer = await a2a.send(case, parts, taskId=task.id, metadata={a2a.STATUS_KEY: "payment-rejected"})
    rejected = a2a.task_of(answer)
    faults = [] if rejected.state == "failed" else [f"state {rejected.state}"]
    faults += [] if rejected.payment_status == "payment-rejected" else [f"{a2a.STATUS_KEY} {rejected.payment_status}"]
    _expect(case, answer, faults, "a rejected payment")
    _expect_error(case, await _call(case, "tasks/cancel", {"id": task.id}), _NOT_CANCELABLE, "cancel of a failed task")
    task, quote = await order_quoted_task(case, operation)
    canceled = a2a.task_of(await _call(case, "tasks/cancel", {"id": task.id}))
    faults = [] if canceled.state == "canceled" else [f"state {canceled.state}"]
    _expect(case, canceled.answer, faults, "a canceled task")
    _expect_error(case, await _call(case, "tasks/cancel", {"id": task.id}), _NOT_CANCELABLE, "cancel twice")
    proof = await pay(case, quote, case.lane)
    # P-RA-11: "A challenge of a canceled task stays redeemable until its lifetime is over."
    metadata = {a2a.STATUS_KEY: "payment-submitted", a2a.PAYLOAD_KEY: dict(proof)}
    name_live_values(case, proof)
    paid_task = a2a.task_of(await a2a.send(case, a2a.orders(case, operation)[0], metadata=metadata))
    if paid_task.payment_status == "payment-submitted" and paid_task.id is not None:
        paid_task = await a2a.settle_task(case, paid_task.id, proof)
    faults = [] if paid_task.state == "completed" else [paid_task.describe()]
    _expect(case, paid_task.answer, faults, "the challenge of a canceled task, paid")


async def _call(case: Case, method: str, params: Any) -> Answer:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return await case.client.call("POST", case.session.rail + a2a.A2A, json_body=body)


def _expect_error(
    case: Case, answer: Answer, code: int, trial: str, text: str | None = None, *, call_id: object = 1
) -> None:
    faults = json_rpc.find_error_faults(answer, code, call_id)
    if answer.headers.get("Content-Type", "").partition(";")[0] != "application/json":
        faults.append(f"Content-Type {answer.headers.get('Content-Type')}")
    error = answer.read_object().get("error")
    message = error.get("message") if isinstance(error, Mapping) else None
    faults += [] if text is None or message == text else [f"message {message!r}"]
    _expect(case, answer, faults, trial)


async def _judge_errors(case: Case, operation: Operation) -> None:
    """Judge the codes of wrong calls (P-RA-03, P-RA-04, P-RA-05)."""
    text_part = {"kind": "text", "text": "hello"}
    order = a2a.orders(case, operation)[0]

    def make_message(parts: Any, **further: Any) -> dict[str, Any]:
        return {"message": {"kind": "message", "role": "user", "messageId": "m", "parts": parts, **further}}

    unknown_service = [{"kind": "data", "data": {"service_id": "no-such-service", "request": {}}}]
    payment = {a2a.STATUS_KEY: "payment-submitted", a2a.PAYLOAD_KEY: {"tx_id": "A", "payment_reference": "B"}}
    push = {"configuration": {"pushNotificationConfig": {"url": "https://shop.example/hook"}}}
    calls: list[tuple[str, str, Any, int]] = [
        ("message/stream", "message/stream", make_message(order), _UNSUPPORTED),
        ("tasks/resubscribe", "tasks/resubscribe", {"id": _UNKNOWN_TASK}, _UNSUPPORTED),
        *((method, method, {"id": _UNKNOWN_TASK}, _NO_PUSH) for method in json_rpc.PUSH_METHODS),
        ("the extended card", "agent/getAuthenticatedExtendedCard", {}, _NO_CARD),
        ("a message with a push configuration", "message/send", {**make_message(order), **push}, _NO_PUSH),
        ("tasks/get of an unknown task", "tasks/get", {"id": _UNKNOWN_TASK}, _NO_TASK),
        ("tasks/cancel of an unknown task", "tasks/cancel", {"id": _UNKNOWN_TASK}, _NO_TASK),
        ("a message to an unknown task", "message/send", make_message([text_part], taskId=_UNKNOWN_TASK), _NO_TASK),
        ("a payment without task and order", "message/send", make_message([text_part], metadata=payment), _NO_TASK),
        ("a message without parts", "message/send", make_message([]), _BAD_PARAMS),
        ("an unknown service", "message/send", make_message(unknown_service), _BAD_PARAMS),
        ("params that are an array", "tasks/get", [_UNKNOWN_TASK], _BAD_PARAMS),
        ("tasks/get without an id", "tasks/get", {}, _BAD_PARAMS),
    ]
    for trial, method, params, code in calls:
        _expect_error(case, await _call(case, method, params), code, trial)
    for method in ("no/such", "message/Send", "tasks/list"):
        answer = await _call(case, method, {})
        _expect_error(case, answer, _NO_METHOD, f"the method {method}", f"method not found: {method}")
    task = await order_task(case, operation)
    for status in ("payment-completed", "payment-required", "paid", ""):
        answer = await a2a.send(case, [text_part], taskId=task.id, metadata={a2a.STATUS_KEY: status})
        _expect_error(case, answer, _BAD_PARAMS, f"a client that reports {status!r}")
    good = json_rpc.request("tasks/get", {"id": _UNKNOWN_TASK}, 1)
    envelopes = {
        **json_rpc.list_wrong_envelopes(good),
        **{f"an id that is {name}": ({**good, "id": value}, None) for name, value in json_rpc.WRONG_IDS.items()},
    }
    address = case.session.rail + a2a.A2A
    for trial, (envelope, call_id) in envelopes.items():
        answer = await case.client.call("POST", address, json_body=envelope)
        _expect_error(case, answer, _BAD_REQUEST, trial, call_id=call_id)
    answer = await case.client.call("POST", address, body=b"{", headers={"content-type": "application/json"})
    _expect_error(case, answer, _NO_JSON, "no JSON", call_id=None)
