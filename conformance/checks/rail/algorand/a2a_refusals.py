"""RAIL-A2A-02 to -05 and X-ROB-02 after a refused payment: state, terms and history of the task.

The task is a state machine: ordered, refused or undecided, paid. The x402 extension says how a refusal is reported, and
leaves the state of the task to the seller (a2a-x402 0.2, section 9). So a breach only warns, and fails the reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.lanes.algorand.transaction_ids import invented_id
from conformance.surfaces.agent.answers import leaves
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.a2a import Task
from conformance.surfaces.rail.purchase import header_value, lane_of, name_live_values

_GET: Final = "RAIL-A2A-02"
_ASKS: Final = "RAIL-A2A-03"
_KEPT: Final = "RAIL-A2A-04"
_TERMS: Final = "RAIL-A2A-05"
_SECRETS: Final = "X-ROB-02"
_DEPTH: Final = 16
_NEVER_ISSUED: Final = "1795240615:047652b0a2d99b35:" + "0" * 64
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
    _GET,
    _ASKS,
    _KEPT,
    _TERMS,
    _SECRETS,
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
    if "rail.a2a" not in case.profile.claims.options:
        _leave(case, "the profile does not claim the option rail.a2a")
        return
    operation = case.session.catalog.operations[0]
    task = await a2a.order_service(case, operation)
    if task.id is None or not task.asks_for_payment:
        _leave(case, "no task over A2A asked for payment, which RAIL-A2A-03 judges")
        return
    proof = {"tx_id": invented_id(_drawn(case)), "payment_reference": _NEVER_ISSUED}
    refused = await _submitted(case, task.id, proof)
    where = {"operation": operation.path, "payment": "a token that was never issued"}
    _judge_refused(case, task, refused, where)
    stored = a2a.task_of(await a2a.fetch_task(case, task.id))
    _judge_stored(case, refused, stored, where)
    _judge_secret(case, proof, where, refused, stored)
    token = _token(task)
    if token is not None:
        unknown = {"tx_id": invented_id(_drawn(case)), "payment_reference": token}
        undecided = await _submitted(case, task.id, unknown)
        where = {"operation": operation.path, "payment": "a transaction that was never sent"}
        _judge_secret(case, unknown, where, undecided, a2a.task_of(await a2a.fetch_task(case, task.id)))
    await _judge_lengths(case, task.id, operation.path)


def _leave(case: Case, reason: str) -> None:
    for row in case.check.rows:
        case.mark_not_applicable(row, reason)


def _drawn(case: Case) -> bytes:
    return case.rng.getrandbits(256).to_bytes(32, "big")


def _token(task: Task) -> str | None:
    """Return the token of a task's Algorand entry, or None."""
    entry = next((one for one in task.entries if lane_of(one) == "algorand"), {})
    extra = entry.get("extra")
    token = extra.get("payment_reference") if isinstance(extra, Mapping) else None
    return token if isinstance(token, str) else None


async def _submitted(case: Case, task_id: str, proof: Mapping[str, Any]) -> Task:
    name_live_values(case, proof)
    return await a2a.pay_task(case, task_id, proof)


def _beyond(case: Case, reason: str) -> str | None:
    """Return why a breach only warns; None for the reference."""
    return None if case.profile.is_reference else reason


def _judge_refused(case: Case, task: Task, refused: Task, where: Mapping[str, str]) -> None:
    """Judge state, report and terms of a task whose payment was refused."""
    beyond = _beyond(case, _STATE_IS_OPEN)
    found, expected = refused.describe(), "a task that still asks for payment"
    case.expect(_ASKS, refused.asks_for_payment, expected, found, exchange=refused.answer, where=where, beyond=beyond)
    fault = _fault_of_report(refused)
    expected = "payment-failed, with a reason and a receipt of the failure"
    case.expect(_ASKS, fault is None, expected, fault, exchange=refused.answer, where=where, beyond=beyond)
    fresh = bool(refused.references) and not refused.references & task.references
    lanes = {lane_of(one) for one in refused.entries} >= set(case.profile.claims.lanes)
    found = f"{len(refused.entries)} entries, {len(refused.references - task.references)} fresh tokens"
    expected = "one entry with a fresh token for each lane"
    case.expect(_TERMS, fresh and lanes, expected, found, exchange=refused.answer, where=where, beyond=beyond)


def _fault_of_report(refused: Task) -> str | None:
    """Return the fault of a task's report that its payment was refused, or None."""
    if refused.payment_status != "payment-failed":
        return f"payment status {refused.payment_status}"
    reason = refused.of_status(a2a.ERROR_KEY)
    if reason not in _ERRORS:
        return f"{a2a.ERROR_KEY} {reason!r}"
    receipts = refused.of_status(a2a.RECEIPTS_KEY)
    last = receipts[-1] if isinstance(receipts, list) and receipts else None
    if not isinstance(last, Mapping) or last.get("success") is not False:
        return f"no receipt of a failure in {a2a.RECEIPTS_KEY}"
    if not last.get("errorReason") or not isinstance(last.get("transaction"), str):
        return "a receipt without errorReason or transaction"
    networks = {entry.get("network") for entry in refused.entries}
    # Entries have a separate row. Without them there is no network to compare.
    named = not networks or last.get("network") in networks
    return None if named else f"a receipt of network {last.get('network')!r}"


def _judge_stored(case: Case, refused: Task, stored: Task, where: Mapping[str, str]) -> None:
    """Judge that tasks/get reports a task as the refusal did."""
    same = (stored.id, stored.state, stored.payment_status) == (refused.id, refused.state, refused.payment_status)
    holds = same and stored.asks_for_payment == refused.asks_for_payment
    beyond = _beyond(case, _STATE_IS_OPEN)
    expected = refused.describe()
    case.expect(_KEPT, holds, expected, stored.describe(), exchange=stored.answer, where=where, beyond=beyond)


def _judge_secret(case: Case, proof: Mapping[str, Any], where: Mapping[str, str], *tasks: Task) -> None:
    """Judge that no task repeats a payment, as the submitted object or in the form of the REST header."""
    # A proof that can still pay must not be in a history that other agents may read.
    for task in tasks:
        places = [place for place, value in leaves(dict(task.members), depth=_DEPTH) if _is_payment(value, proof)]
        expected, found = "no payment in the task", ", ".join(map(str, places)) or "nowhere"
        beyond = _beyond(case, _HISTORY_IS_OPEN)
        at = {**where, "door": "A2A"}
        case.expect(_SECRETS, not places, expected, found, exchange=task.answer, where=at, beyond=beyond)


def _is_payment(value: Any, proof: Mapping[str, Any]) -> bool:
    if isinstance(value, Mapping):
        return all(value.get(name) == member for name, member in proof.items())
    return isinstance(value, str) and header_value(proof) in value


async def _judge_lengths(case: Case, task_id: str, path: str) -> None:
    """Judge that a history has at most the requested length, from tasks/get and in the answer to a message.

    A2A 0.3 demands that for positive numbers, so 0 is sent only to the reference.
    """
    beyond = _beyond(case, _HISTORY_IS_OPEN)
    for length in (1, 0) if beyond is None else (1,):
        by_get = a2a.task_of(await a2a.fetch_task(case, task_id, history_length=length))
        parts = [{"kind": "text", "text": "what is to be paid?"}]
        by_message = a2a.task_of(await a2a.send(case, parts, history_length=length, taskId=task_id))
        for method, task in (("tasks/get", by_get), ("message/send", by_message)):
            where = {"operation": path, "method": method, "historyLength": str(length)}
            expected, found = f"{length} messages at most", f"{len(task.history)} messages"
            holds = len(task.history) <= length
            case.expect(_GET, holds, expected, found, exchange=task.answer, where=where, beyond=beyond)
