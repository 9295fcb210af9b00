"""RAIL-A2A-02 to -05 and X-ROB-02 after a refused payment: state, terms and history of the task.

The task is a state machine: ordered, refused or undecided, paid. The x402 extension says how a refusal is reported, and
leaves the state of the task to the seller (a2a-x402 0.2, section 9). So a breach only warns, and fails the reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.assertions.rail.paid_tasks import LEAK_ROW, judge_secrets
from conformance.engine.check import Case, check
from conformance.lanes.algorand.transaction_ids import invented_id
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.a2a import Task
from conformance.surfaces.rail.purchase import lane_of, name_live_values

_LENGTH_ROW: Final = "RAIL-A2A-02"
_STATE_ROW: Final = "RAIL-A2A-03"
_STORED_ROW: Final = "RAIL-A2A-04"
_TERMS_ROW: Final = "RAIL-A2A-05"
_UNKNOWN_TOKEN: Final = "1795240615:047652b0a2d99b35:" + "0" * 64
# The extension's names for the reason of a refusal (a2a-x402 0.2, section 9.1).
_ERRORS: Final = frozenset(
    {
        "INSUFFICIENT_FUNDS",
        "INVALID_SIGNATURE",
        "EXPIRED_PAYMENT",
        "DUPLICATE_NONCE",
        "NETWORK_MISMATCH",
        "INVALID_AMOUNT",
        "SETTLEMENT_FAILED",
    }
)
_STATE_IS_OPEN: Final = "the interface and the x402 extension leave open the state of a task whose payment is refused"
_HISTORY_IS_OPEN: Final = "the interface leaves open what the history of a task contains"


@check(
    _LENGTH_ROW,
    _STATE_ROW,
    _STORED_ROW,
    _TERMS_ROW,
    LEAK_ROW,
    surface="rail",
    fix="After a refused payment, keep the task input-required, with payment-failed, the reason and a fresh challenge. "
    "Remove x402.payment.payload from the messages in the history, and honour historyLength.",
)
async def a_refused_payment_leaves_the_task_unpaid(case: Case) -> None:
    """A task whose payment is refused still asks for payment, and its history does not repeat the payment.

    Orders an operation over A2A and submits a payment whose token was never issued. Expects the state input-required,
    payment-failed with a reason, a receipt of the failure and fresh tokens, and the same from tasks/get. If the task
    can be paid on Algorand, also submits an invented transaction for its token. Expects the payload in no answer, and
    at most historyLength messages of the history.
    """
    if not case.profile.claims.includes("rail.a2a"):
        _mark_not_applicable(case, "the profile does not claim the option rail.a2a")
        return
    operation = case.session.catalog.operations[0]
    task = await a2a.order_service(case, operation)
    if task.id is None or not task.asks_for_payment:
        _mark_not_applicable(case, "no task over A2A asked for payment, which RAIL-A2A-03 judges")
        return
    # A forged token is refused at once and for good. The invented transaction below stays undecided while the rail
    # waits for it.
    proof = {"tx_id": invented_id(_draw_bytes(case)), "payment_reference": _UNKNOWN_TOKEN}
    refused_task = await _submit_payment(case, task.id, proof)
    where = {"operation": operation.path, "payment": "a token that was never issued"}
    _judge_refused(case, task, refused_task, where)
    stored_task = a2a.task_of(await a2a.fetch_task(case, task.id))
    _judge_stored(case, refused_task, stored_task, where)
    judge_secrets(case, proof, where, refused_task, stored_task)
    # The refusal of a forged token leaves the task's own token alive, so the task can still be paid with it.
    token = _find_token(task)
    if token is not None:
        unknown_proof = {"tx_id": invented_id(_draw_bytes(case)), "payment_reference": token}
        undecided_task = await _submit_payment(case, task.id, unknown_proof)
        where = {"operation": operation.path, "payment": "a transaction that was never sent"}
        judge_secrets(case, unknown_proof, where, undecided_task, a2a.task_of(await a2a.fetch_task(case, task.id)))
    await _judge_lengths(case, task.id, operation.path)


def _mark_not_applicable(case: Case, reason: str) -> None:
    for row in case.check.rows:
        case.mark_not_applicable(row, reason)


def _draw_bytes(case: Case) -> bytes:
    return case.rng.getrandbits(256).to_bytes(32, "big")


def _find_token(task: Task) -> str | None:
    """Return the token of a task's Algorand entry, or None."""
    entry = next((one for one in task.entries if lane_of(one) == "algorand"), {})
    extra = entry.get("extra")
    token = extra.get("payment_reference") if isinstance(extra, Mapping) else None
    return token if isinstance(token, str) else None


async def _submit_payment(case: Case, task_id: str, proof: Mapping[str, Any]) -> Task:
    name_live_values(case, proof)
    return await a2a.pay_task(case, task_id, proof)


def _open_point(case: Case, reason: str) -> str | None:
    """Return why a breach only warns; None for the reference."""
    return None if case.profile.is_reference else reason


def _judge_refused(case: Case, task: Task, refused_task: Task, where: Mapping[str, str]) -> None:
    """Judge state, report and terms of a task whose payment was refused."""
    beyond = _open_point(case, _STATE_IS_OPEN)
    finding, expectation = refused_task.describe(), "a task that still asks for payment"
    case.expect(
        _STATE_ROW,
        refused_task.asks_for_payment,
        expectation,
        finding,
        exchange=refused_task.answer,
        where=where,
        beyond=beyond,
    )
    fault = _find_report_fault(refused_task)
    expectation = "payment-failed, with a reason and a receipt of the failure"
    case.expect(_STATE_ROW, fault is None, expectation, fault, exchange=refused_task.answer, where=where, beyond=beyond)
    # The old tokens were published with the refused payment, so a new attempt needs new ones.
    are_fresh = bool(refused_task.references) and not refused_task.references & task.references
    has_all_lanes = {lane_of(one) for one in refused_task.entries} >= set(case.profile.claims.lanes)
    finding = f"{len(refused_task.entries)} entries, {len(refused_task.references - task.references)} fresh tokens"
    expectation = "one entry with a fresh token for each lane"
    case.expect(
        _TERMS_ROW,
        are_fresh and has_all_lanes,
        expectation,
        finding,
        exchange=refused_task.answer,
        where=where,
        beyond=beyond,
    )


def _find_report_fault(refused_task: Task) -> str | None:
    """Return the fault of a task's report that its payment was refused, or None."""
    if refused_task.payment_status != "payment-failed":
        return f"payment status {refused_task.payment_status}"
    reason = refused_task.of_status(a2a.ERROR_KEY)
    if reason not in _ERRORS:
        return f"{a2a.ERROR_KEY} {reason!r}"
    receipts = refused_task.of_status(a2a.RECEIPTS_KEY)
    last = receipts[-1] if isinstance(receipts, list) and receipts else None
    if not isinstance(last, Mapping) or last.get("success") is not False:
        return f"no receipt of a failure in {a2a.RECEIPTS_KEY}"
    if not last.get("errorReason") or not isinstance(last.get("transaction"), str):
        return "a receipt without errorReason or transaction"
    networks = {entry.get("network") for entry in refused_task.entries}
    # Entries have a separate row. Without them there is no network to compare.
    is_known_network = not networks or last.get("network") in networks
    return None if is_known_network else f"a receipt of network {last.get('network')!r}"


def _judge_stored(case: Case, refused_task: Task, stored_task: Task, where: Mapping[str, str]) -> None:
    """Judge that tasks/get reports a task as the refusal did."""
    is_same = (stored_task.id, stored_task.state, stored_task.payment_status) == (
        refused_task.id,
        refused_task.state,
        refused_task.payment_status,
    )
    holds = is_same and stored_task.asks_for_payment == refused_task.asks_for_payment
    beyond = _open_point(case, _STATE_IS_OPEN)
    expectation = refused_task.describe()
    case.expect(
        _STORED_ROW, holds, expectation, stored_task.describe(), exchange=stored_task.answer, where=where, beyond=beyond
    )


async def _judge_lengths(case: Case, task_id: str, path: str) -> None:
    """Judge that a history has at most the requested length, from tasks/get and in the answer to a message.

    A2A 0.3 demands that for positive numbers, so 0 is sent only to the reference.
    """
    beyond = _open_point(case, _HISTORY_IS_OPEN)
    for length in (1, 0) if beyond is None else (1,):
        get_task = a2a.task_of(await a2a.fetch_task(case, task_id, history_length=length))
        # The answer to a message contains the task as well, and its configuration has the same historyLength.
        parts = [{"kind": "text", "text": "what is to be paid?"}]
        message_task = a2a.task_of(await a2a.send(case, parts, history_length=length, taskId=task_id))
        for method, task in (("tasks/get", get_task), ("message/send", message_task)):
            where = {"operation": path, "method": method, "historyLength": str(length)}
            expectation, finding = f"{length} messages at most", f"{len(task.history)} messages"
            holds = len(task.history) <= length
            case.expect(_LENGTH_ROW, holds, expectation, finding, exchange=task.answer, where=where, beyond=beyond)
