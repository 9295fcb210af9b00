"""RAIL-A2A: JSON-RPC, tasks and payment terms of the rail over A2A, without payment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from conformance.checks.rail.cross_transport_replays import lacks_a2a
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.oracles.strict_json import is_json_type
from conformance.surfaces import json_rpc
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.a2a import Task
from conformance.surfaces.rail.purchase import lane_of

_UNKNOWN_TASK = "00000000-0000-4000-8000-000000000000"
# JSON-RPC allows numbers and texts as ids. Zero, the empty text and the text "1" find servers that confuse an id with
# its absence or change its type.
_IDS: tuple[object, ...] = (1, 0, -7, 2**40, 2**53 - 1, "one", "", 'äöü " \\ /', "1")
_NOT_FOUND = json_rpc.METHOD_NOT_FOUND
_TOKENS_ROW = "RAIL-402-11"
_FIX = (
    # x402 over A2A has two forms in use: a state of its own, `a2a-x402`, and the extension's metadata on `input-
    # required`. Both pass.
    "Answer an order by message/send with a task in the state input-required whose status message has the metadata "
    "x402.payment.status payment-required and x402.payment.required, the whole 402 object; keep it for tasks/get."
)


def _describe(answer: Answer) -> str:
    code = json_rpc.error_code(answer)
    return f"{answer.status}" + ("" if code is None else f", error {code}")


@check("RAIL-A2A-01", "RAIL-A2A-03", "RAIL-A2A-04", "RAIL-A2A-05", _TOKENS_ROW, surface="rail", fix=_FIX)
async def orders_ask_for_payment(case: Case) -> None:
    """An unpaid message/send for a paid service yields a task in the payment-required state, and tasks/get shows it.

    Orders each paid operation over A2A. Expects a task that asks for payment, by the state a2a-x402 or by
    input-required with the x402 extension's metadata, with one accepts entry for each lane. Expects the same from
    tasks/get. Orders each again, and expects other tokens. Then sends a further order and a rejection of the payment to
    the first task, and expects an answer to both. Expects that the last task, which received no message, is unchanged.
    """
    if lacks_a2a(case):
        return
    tasks: dict[str, Task] = {}
    for operation in case.session.catalog.operations:
        task = await a2a.order_service(case, operation)
        where = {"operation": operation.path}
        is_accepted = task.answer.status == 200 and json_rpc.error_code(task.answer) != _NOT_FOUND
        holds = is_accepted and (bool(task.members) or json_rpc.error_code(task.answer) is not None)
        # JSON-RPC reports errors in a 200. An error object is an answer to the method, but "method not found" is not.
        expectation = "200 with an answer to message/send"
        case.expect("RAIL-A2A-01", holds, expectation, _describe(task.answer), exchange=task.answer, where=where)
        if not task.asks_for_payment and case.profile.rail_bindings.a2a_request is None and _may_be_misunderstood(task):
            # The interface leaves open how a message orders a service. Without the profile's form, a target may not
            # have understood it.
            reason = "unbound: no message is known that orders a paid service; give [rail] a2a_request"
            for row in ("RAIL-A2A-03", "RAIL-A2A-04", "RAIL-A2A-05", _TOKENS_ROW):
                case.mark_inconclusive(row, reason, exchange=task.answer)
            continue
        expectation = "a task in the payment-required state"
        holds = task.asks_for_payment and task.id is not None
        case.expect("RAIL-A2A-03", holds, expectation, task.describe(), exchange=task.answer, where=where)
        if task.id is None:
            # Without an id the client can neither pay the task nor ask for it, so its terms are useless.
            case.expect("RAIL-A2A-05", False, "a task with an id", task.describe(), exchange=task.answer, where=where)
            for row in ("RAIL-A2A-04", _TOKENS_ROW):
                case.mark_inconclusive(row, "the order made no task, which RAIL-A2A-03 judges", exchange=task.answer)
            continue
        is_fresh = task.id not in tasks
        tasks[task.id] = task
        # A task that is shared between two orders would let one payment complete both.
        expectation = "a new task for each order"
        finding = expectation if is_fresh else "the id of another task"
        case.expect("RAIL-A2A-03", is_fresh, expectation, finding, exchange=task.answer, where=where)
        await _judge_stored_task(case, task, where)
        _judge_terms(case, task, operation, where)
        await _judge_tokens(case, task, operation, where)
    if len(tasks) > 1:
        await _judge_independence(case, *tasks.values())


def _may_be_misunderstood(task: Task) -> bool:
    """Return whether the target may have misunderstood the order, and not made a task for a paid service at all."""
    code = json_rpc.error_code(task.answer)
    return code == json_rpc.BAD_PARAMETERS or (code is None and task.answer.status == 200)


async def _judge_tokens(case: Case, task: Task, operation: Operation, where: Mapping[str, str]) -> None:
    """Judge that a second order has other tokens. With a shared token, the payment of one order settles the other."""
    second = await a2a.order_service(case, operation)
    holds = bool(second.references) and not second.references & task.references
    expectation, finding = "other tokens in another task", "others" if holds else "the same, or none"
    token_where = {**where, "door": "A2A"}
    case.expect(_TOKENS_ROW, holds, expectation, finding, exchange=second.answer, where=token_where)


async def _judge_stored_task(case: Case, task: Task, where: Mapping[str, str]) -> None:
    """Judge that tasks/get reports the task as its creation did."""
    # Twice, because a server may discard a task when it is read.
    for _ in range(2):
        later_task = a2a.task_of(await a2a.fetch_task(case, task.id or ""))
        is_same = (later_task.id, later_task.state, later_task.payment_status) == (
            task.id,
            task.state,
            task.payment_status,
        )
        holds = is_same and later_task.asks_for_payment == task.asks_for_payment
        case.expect(
            "RAIL-A2A-04", holds, task.describe(), later_task.describe(), exchange=later_task.answer, where=where
        )


async def _judge_independence(case: Case, first: Task, *later_tasks: Task) -> None:
    """Judge that messages to one task leave another task unchanged.

    The interface leaves open what happens to the first task. A server that puts both into one context may end that
    context at a rejection, so no rejection is sent then.
    """
    last = later_tasks[-1]
    are_separate = first.members.get("contextId") != last.members.get("contextId")
    messages = ("an order", "a rejection") if are_separate else ("an order",)
    order = a2a.orders(case, case.session.catalog.operations[0])[0]
    for message in messages:
        if await _send_further_message(case, "RAIL-A2A-01", first, order, message) is None:
            return
    await _judge_stored_task(case, last, {"after": f"{' and '.join(messages)} for another task"})


async def _send_further_message(
    case: Case, row: str, task: Task, order: list[dict[str, Any]], message: str, call_id: object = 1
) -> Answer | None:
    """Send a message to a task that waits for its payment, and judge by `row` that it is answered."""
    parts, members = _list_further_messages(order)[message]
    answer, finding = await a2a.send_twice_at_most(case, parts, call_id=call_id, taskId=task.id, **members)
    if answer is None:
        where, beyond = {"message": message}, _open_point(case)
        case.expect(row, False, "an answer to a message for a task", finding, where=where, beyond=beyond)
    return answer


def _list_further_messages(order: list[dict[str, Any]]) -> Mapping[str, tuple[list[dict[str, Any]], Mapping[str, Any]]]:
    """Return messages for a task that waits for its payment: their parts and further members, by name."""
    rejection = {"metadata": {a2a.STATUS_KEY: "payment-rejected"}}
    return {"an order": (order, {}), "a rejection": ([{"kind": "text", "text": "no payment"}], rejection)}


def _open_point(case: Case) -> str | None:
    """Return why an unanswered message to a task only warns; None for the reference."""
    ours = case.profile.is_reference
    return None if ours else "the interface leaves open what follows the payment-required state"


def _judge_terms(case: Case, task: Task, operation: Operation, where: Mapping[str, str]) -> None:
    """Judge that a task contains one accepts entry for each lane, with the members that a payment needs.

    If the profile binds the form of an order and the target is the reference, the terms must name the ordered
    operation.
    """
    is_bound = case.profile.rail_bindings.a2a_request is not None
    if is_bound and _open_point(case) is None and task.payment_terms is not None:
        resource = task.payment_terms.get("resource")
        # A task that asks payment for another operation would sell that one instead.
        url = resource.get("url") if isinstance(resource, Mapping) else None
        holds, expectation = str(url).endswith(operation.path), f"payment asked for {operation.path}"
        case.expect("RAIL-A2A-03", holds, expectation, url, exchange=task.answer, where=where)
    entries = task.entries
    lanes = Counter(lane_of(entry) for entry in entries)
    # Exactly one entry for each lane: with two, a client cannot know which of the tokens its payment must name.
    missing_lanes = [lane for lane in case.profile.claims.lanes if lanes[lane] != 1]
    missing_members = [f"{lane_of(entry)}: {name}" for entry in entries for name in _list_missing_members(entry)]
    finding = f"{dict(lanes)}, lacking {missing_members}" if entries else "no accepts"
    holds = bool(entries) and not missing_lanes and not missing_members
    entry_rule = "one whole accepts entry for each lane"
    case.expect("RAIL-A2A-05", holds, entry_rule, finding, exchange=task.answer, where=where)


def _list_missing_members(entry: Mapping[str, Any]) -> list[str]:
    """Return the names of the members that the interface names and an accepts entry lacks."""
    extra = entry.get("extra")
    reference = extra.get("payment_reference") if isinstance(extra, dict) else None
    members = {name: entry.get(name) for name in ("payTo", "maxAmountRequired")}
    return [name for name, value in {**members, "extra.payment_reference": reference}.items() if not value]


@check(
    "RAIL-A2A-02",
    "RAIL-A2A-06",
    "RAIL-A2A-07",
    "RAIL-A2A-08",
    surface="rail",
    fix="Answer every JSON-RPC call with 200 and an envelope that echoes its id with its type; an unknown method is "
    "-32601, an unknown task -32001.",
)
async def the_rail_speaks_json_rpc(case: Case) -> None:
    """Answers are JSON-RPC 2.0 envelopes that echo the id; an unknown method and an unknown task are errors in them.

    Sends message/send, tasks/get of a known and an unknown task, and unknown methods, with ids of both types. Expects
    200 with an envelope each time: tasks/get is accepted, and an unknown method or task is an error. Then sends a body
    that is not JSON, and expects the JSON-RPC code for that in an envelope. Then calls optional methods of A2A, and
    methods with unfitting parameters. Expects an envelope there as well, if the answer is 200 with JSON.
    """
    operation = case.session.catalog.operations[0]
    task = await a2a.order_service(case, operation)
    parts = a2a.orders(case, operation)[0]
    for call_id in _IDS:
        _judge_envelope(case, "message/send", call_id, await a2a.send(case, parts, call_id=call_id))
        unknown_answer = await a2a.fetch_task(case, _UNKNOWN_TASK, call_id=call_id)
        _judge_envelope(case, "tasks/get", call_id, unknown_answer)
        await _judge_unknown_methods(case, call_id)
    await _judge_tasks_get(case, task)
    for description, answer in (await json_rpc.send_unreadable_bodies(case, case.session.rail + a2a.A2A)).items():
        fault, where = json_rpc.unreadable_fault(answer), {"body": description}
        expectation = "error -32700, or an HTTP refusal"
        case.expect("RAIL-A2A-07", fault is None, expectation, fault, exchange=answer, where=where)
    for method, answer in (await json_rpc.call_optional_methods(case, case.session.rail + a2a.A2A, "one")).items():
        _judge_envelope(case, method, "one", answer)
    # A task id reaches a data store. An id that is not a UUID must not become a database error or a path.
    for task_id in (_UNKNOWN_TASK, "no-such-task", "../../etc/passwd", "a" * 300):
        answer = await a2a.fetch_task(case, task_id)
        code = json_rpc.error_code(answer)
        holds = answer.status == 200 and code is not None
        where = {"task": task_id[:20]}
        case.expect("RAIL-A2A-08", holds, "a JSON-RPC error", _describe(answer), exchange=answer, where=where)
    await _judge_messages_to_task(case, await a2a.order_service(case, operation), parts)


async def _judge_messages_to_task(case: Case, task: Task, order: list[dict[str, Any]]) -> None:
    """Judge that messages to a task that waits for its payment are answered. A 200 with JSON must be an envelope."""
    for message in _list_further_messages(order) if task.id is not None else ():
        answer = await _send_further_message(case, "RAIL-A2A-06", task, order, message, "one")
        if answer is None:
            return
        if json_rpc.is_envelope_due(answer):
            _judge_envelope(case, f"message/send with {message} for a task", "one", answer)


async def _judge_tasks_get(case: Case, task: Task) -> None:
    """Judge that tasks/get is accepted: it returns a known task, and reports an unknown one by a task's error."""
    answer = await a2a.fetch_task(case, task.id or _UNKNOWN_TASK)
    code = json_rpc.error_code(answer)
    is_known = task.id is not None
    is_returned = code is None and a2a.task_of(answer).id == task.id
    holds = answer.status == 200 and (is_returned if is_known else code not in {None, _NOT_FOUND})
    expectation = "the task" if is_known else "an error about the task, not about the method"
    case.expect("RAIL-A2A-02", holds, expectation, _describe(answer), exchange=answer)
    _judge_envelope(case, "tasks/get", 1, answer)


async def _judge_unknown_methods(case: Case, call_id: object) -> None:
    # Method names are compared exactly. A server that folds the case or matches a prefix would run the wrong method.
    for method in ("no/such/method", "message/sent", "MESSAGE/SEND", ""):
        answer = await json_rpc.call(case, case.session.rail + a2a.A2A, method, {}, call_id=call_id)
        holds = answer.status == 200 and json_rpc.error_code(answer) is not None
        where = {"method": method or "empty"}
        case.expect("RAIL-A2A-07", holds, "a JSON-RPC error", _describe(answer), exchange=answer, where=where)
        _judge_envelope(case, method or "empty", call_id, answer)


def _judge_envelope(case: Case, method: str, call_id: object, answer: Answer) -> None:
    # A client picks its parser by the media type, so an envelope under another type is unreadable to it.
    is_json = is_json_type(answer.headers.get("Content-Type"))
    fault = (
        json_rpc.envelope_fault(answer, call_id) if is_json else f"Content-Type {answer.headers.get('Content-Type')}"
    )
    where, expectation = {"method": method, "id": repr(call_id)}, "an envelope with this id"
    # A server may treat a call without a method's name as an invalid request, whose answer has no id (JSON-RPC 2.0, 5).
    beyond = "a call with an empty method may be an invalid request" if method == "empty" else None
    case.expect("RAIL-A2A-06", fault is None, expectation, fault, exchange=answer, where=where, beyond=beyond)
