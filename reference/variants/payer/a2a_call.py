"""Calls over A2A: an order or a payment as a message, and the task that answers it as the answer of HTTP (5.11)."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reference.variants.payer.http_call import NOT_DECIDED, Answer, send_request
from reference.variants.payer.settings import Settings

_STATUS, _REQUIRED = "x402.payment.status", "x402.payment.required"
_PAYLOAD, _RECEIPTS = "x402.payment.payload", "x402.payment.receipts"
# Status of the answer that a task stands for whose payment is refused for good.
FAILED = 410
_TASK_UNKNOWN = -32001
_BAD_PARAMS = -32602
_INTERNAL_ERROR = -32603
_OWNER_ONLY = 0o600


def send_call(settings: Settings, proof: Mapping[str, Any] | None) -> Answer:
    """Order the service, or pay its task if there is a proof, and return the answer that HTTP would give.

    Raises:
        NoAnswer: No answer came, or it is not whole.
    """
    if proof is None:
        answer = _send(settings, {"parts": [_order(settings)]})
        _write_task(settings, answer)
        return _read_outcome(answer)
    paid = {_STATUS: "payment-submitted", _PAYLOAD: proof}
    task = _read_task(settings)
    if task:
        answer = _send(settings, {"taskId": task, "parts": [{"kind": "text", "text": "paid"}], "metadata": paid})
        if _error_code(answer) not in {_TASK_UNKNOWN, _BAD_PARAMS}:
            return _read_outcome(answer)
    # A rail may forget a task, and a finished task takes no message (P-RA-04). The proof is good with its order, too
    # (P-RA-12).
    return _read_outcome(_send(settings, {"parts": [_order(settings)], "metadata": paid}))


def _order(settings: Settings) -> dict[str, Any]:
    return {"kind": "data", "data": {"service_id": settings.service_id, "request": settings.request}}


def _send(settings: Settings, members: Mapping[str, Any]) -> Answer:
    message = {"kind": "message", "role": "user", "messageId": str(uuid.uuid4()), **members}
    call = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}
    return send_request("POST", settings.a2a_url, json.dumps(call).encode(), {"Content-Type": "application/json"})


def _error_code(answer: Answer) -> Any:
    return _object(answer.members.get("error")).get("code") if answer.status == 200 else None


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_outcome(answer: Answer) -> Answer:
    """Return the answer of HTTP that a task stands for (P-RA-06, P-RA-08)."""
    if answer.status != 200:
        return answer
    if (error := _error_code(answer)) is not None:
        return _build(500 if error == _INTERNAL_ERROR else 400, {"error": f"JSON-RPC {error}"})
    task = _object(answer.members.get("result"))
    metadata = _object(_object(_object(task.get("status")).get("message")).get("metadata"))
    outcome = metadata.get(_STATUS)
    if outcome == "payment-completed":
        return _build(200, _read_artifact(task))
    if outcome == "payment-submitted":
        wait = _object(task.get("metadata")).get("retry_after_seconds")
        return Answer(NOT_DECIDED, {} if wait is None else {"retry-after": str(wait)}, b"{}")
    demand = _object(metadata.get(_REQUIRED))
    if outcome == "payment-failed":
        receipts = metadata.get(_RECEIPTS)
        newest = receipts[-1] if isinstance(receipts, list) and receipts else None
        return _build(FAILED, {**demand, "error": _object(newest).get("errorReason")})
    return _build(402, demand)


def _build(status: int, body: Mapping[str, Any]) -> Answer:
    return Answer(status, {}, json.dumps(body, ensure_ascii=False).encode())


def _read_artifact(task: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the data part of a completed task; empty without one."""
    artifacts = task.get("artifacts")
    parts = _object(artifacts[0]).get("parts") if isinstance(artifacts, list) and artifacts else None
    return _object(_object(parts[0]).get("data")) if isinstance(parts, list) and parts else {}


# The task is stored beside the payment, and before it: a payment of a later run names it.


def _task_file(settings: Settings) -> Path:
    name = hashlib.sha256(settings.a2a_url.encode() + b"\n" + settings.body).hexdigest()[:32]
    return settings.state / f"{name}.task"


def _write_task(settings: Settings, answer: Answer) -> None:
    task = _object(answer.members.get("result")).get("id")
    descriptor = os.open(_task_file(settings), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(task if isinstance(task, str) else "")


def _read_task(settings: Settings) -> str:
    try:
        return _task_file(settings).read_text("utf-8")
    except FileNotFoundError:
        return ""
