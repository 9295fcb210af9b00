"""Played rail over A2A: orders and payments are JSON-RPC messages (5.11), and every script works as over HTTP.

A message is read as the call that it means, and the answer to that call is written as a task. The played rail of HTTP
decides everything between the two. Its own address works, too, because both transports share one ledger (P-RA-12).
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.surfaces.payer.played_rail import PlayedRail, read_json
from conformance.surfaces.payer.quotes import PATH, SERVICE_ID, to_header
from conformance.surfaces.rail.a2a import (
    A2A,
    CARD,
    ERROR_KEY,
    PAYLOAD_KEY,
    RECEIPTS_KEY,
    REQUIRED_KEY,
    STATUS_KEY,
)
from conformance.webhook_receiver.raw_receiver import HANG_UP, Arrival, Reply

_URI: Final = "https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2"
_FIELDS: Final = (("Content-Type", "application/json"), ("Cache-Control", "no-store"))
_METHOD_UNKNOWN: Final = -32601
_BAD_PARAMS: Final = -32602
_TASK_UNKNOWN: Final = -32001
_UNKNOWN_STATUS: Final = 404
_FINISHED_STATUS: Final = 409
# Codes with which a rail says that a payment is not decided yet (P-RA-08).
_UNDECIDED: Final = frozenset({"tx_not_found", "tx_not_confirmed", "payment_in_progress", "answer_unavailable"})
# Statuses whose outcome is a task. Every other one is an answer of HTTP, as on every path (P-RA-04).
_PAYMENT_STATUSES: Final = frozenset({402, 409})


@dataclass(frozen=True, slots=True)
class _Message:
    """A message: its order, its payment and the task that it names.

    Attributes:
        order: The data part with a service; None without one.
        payload: The object of the payment; None without one.
        has_payment: Whether the message contains a payment.
        task_id: The task that it names; None without one.
    """

    order: Mapping[str, Any] | None
    payload: Any
    has_payment: bool
    task_id: str | None

    @classmethod
    def read(cls, params: Any) -> _Message:
        """Return the message in the params of `message/send`."""
        message = _object(_object(params).get("message"))
        metadata = _object(message.get("metadata"))
        parts = message.get("parts")
        data = [_object(part).get("data") for part in parts] if isinstance(parts, list) else []
        order = next((one for one in data if isinstance(one, dict) and "service_id" in one), None)
        task_id = message.get("taskId")
        return cls(order, metadata.get(PAYLOAD_KEY), PAYLOAD_KEY in metadata, task_id or None)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


@dataclass
class A2aRail(PlayedRail):
    """See `PlayedRail`.

    Attributes:
        orders: The order of each task, by the task's id.
        tasks: The last state of each task.
    """

    orders: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    # By the number of the arrival: the order of a message, and the HTTP answer that its task stands for.
    _ordered: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    _meanings: dict[int, Reply] = field(default_factory=dict)

    @property
    def call_paths(self) -> tuple[str, ...]:
        """See `PlayedRail`."""
        return (A2A, PATH)

    @property
    def variables(self) -> Mapping[str, str]:
        """See `PlayedRail`: the endpoint, and the service that an order names."""
        return {"A2A_URL": self.desk.url + A2A, "SERVICE_ID": SERVICE_ID}

    def reply_to(self, arrival: Arrival) -> Reply | None:
        """See `PlayedRail`: the answer of the call that a message means."""
        return None if arrival.reply is None else self._meanings.get(arrival.number, arrival.reply)

    async def answer(self, arrival: Arrival) -> Reply:
        """Answer a call."""
        if arrival.path != A2A or arrival.method != "POST":
            return await super().answer(arrival)
        call = _object(read_json(arrival.body))
        call_id, method = call.get("id"), call.get("method")
        if method == "tasks/get":
            task = self.tasks.get(str(_object(call.get("params")).get("id")))
            return _write(call_id, task) if task is not None else _refuse(call_id, _TASK_UNKNOWN, "task not found")
        if method != "message/send":
            return _refuse(call_id, _METHOD_UNKNOWN, f"method not found: {method}")
        message = _Message.read(call.get("params"))
        order = message.order or self.orders.get(message.task_id or "")
        is_forgotten = self.script.forgets_tasks and message.has_payment
        if message.task_id is not None and (message.task_id not in self.orders or is_forgotten):
            self._meanings[arrival.number] = Reply(_UNKNOWN_STATUS)
            return _refuse(call_id, _TASK_UNKNOWN, "task not found")
        if self.script.loses_results and message.task_id is not None and self._is_finished(message.task_id):
            self._meanings[arrival.number] = Reply(_FINISHED_STATUS)
            return _refuse(call_id, _BAD_PARAMS, "the task is finished")
        if order is None or order.get("service_id") != SERVICE_ID:
            return _refuse(call_id, _BAD_PARAMS, f"service_id is {SERVICE_ID}")
        self._ordered[arrival.number] = order
        proof = to_header(message.payload) if message.has_payment else None
        meaning = await self._answer_call(arrival, proof)
        self._meanings[arrival.number] = meaning
        state = await self._describe_outcome(meaning, has_payment=message.has_payment)
        if state is None:
            return meaning
        task_id = message.task_id or str(uuid.uuid4())
        self.orders[task_id] = order
        self.tasks[task_id] = {"kind": "task", "id": task_id, "contextId": str(uuid.uuid4()), **state}
        if self.script.loses_results and message.task_id is not None and self._is_finished(task_id):
            self._meanings[arrival.number] = HANG_UP
            return HANG_UP
        return _write(call_id, self.tasks[task_id])

    def _is_finished(self, task_id: str) -> bool:
        return bool(_object(_object(self.tasks.get(task_id)).get("status")).get("state") == "completed")

    def _is_quoted_request(self, arrival: Arrival) -> bool:
        order = self._ordered.get(arrival.number)
        if order is None:
            return super()._is_quoted_request(arrival)
        return bool(order.get("request") == self.desk.body)

    async def _describe_outcome(self, reply: Reply, *, has_payment: bool) -> dict[str, Any] | None:
        """Return the members of the task that stands for an HTTP answer (P-RA-06, P-RA-08); None if none does."""
        body = read_json(reply.body)
        if reply.ending != "answer" or not isinstance(body, dict):
            return None
        fields = dict(reply.headers)
        if reply.status == 200:
            settlement = _object(read_json(base64.b64decode(fields.get("PAYMENT-RESPONSE", ""))))
            state = _state("completed", {STATUS_KEY: "payment-completed", RECEIPTS_KEY: [settlement]})
            return {**state, "artifacts": [{"artifactId": str(uuid.uuid4()), "parts": [_data(body)]}]}
        code = str(body.get("error"))
        if code in _UNDECIDED and has_payment and not self.script.fails_undecided:
            state = _state("input-required", {STATUS_KEY: "payment-submitted"})
            return {**state, "metadata": {"retry_after_seconds": int(fields.get("Retry-After", "1"))}}
        if reply.status not in _PAYMENT_STATUSES:
            return None
        # A 409 has no challenge over HTTP. A task that needs input has a fresh one.
        demand = body if "accepts" in body else json.loads((await self.quote()).body)
        metadata: dict[str, Any] = {STATUS_KEY: "payment-required", REQUIRED_KEY: demand}
        if has_payment:
            receipt = {"success": False, "errorReason": code, "transaction": "", "network": self.terms.caip2}
            metadata |= {STATUS_KEY: "payment-failed", ERROR_KEY: "SETTLEMENT_FAILED", RECEIPTS_KEY: [receipt]}
        return {**_state("input-required", metadata), "metadata": {"payment_state": "a2a-x402"}}

    def _documents(self) -> Mapping[str, Any]:
        address = self.desk.url + A2A
        card = {
            "protocolVersion": "0.3.0",
            "name": "A rail of the suite",
            "description": "Screens an address.",
            "url": address,
            "preferredTransport": "JSONRPC",
            "version": "1.0.0",
            "capabilities": {"streaming": False, "extensions": [{"uri": _URI, "required": False}]},
            "defaultInputModes": ["application/json"],
            "defaultOutputModes": ["application/json"],
            "skills": [{"id": f"pay-{SERVICE_ID}", "name": "Screening", "description": "Screens.", "tags": ["x402"]}],
        }
        return {**super()._documents(), CARD: card}


def _state(name: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    message = {
        "kind": "message",
        "role": "agent",
        "messageId": str(uuid.uuid4()),
        "parts": [{"kind": "text", "text": str(metadata[STATUS_KEY])}],
        "extensions": [_URI],
        "metadata": metadata,
    }
    return {"status": {"state": name, "message": message}}


def _data(content: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "data", "data": content}


def _write(call_id: Any, result: Mapping[str, Any]) -> Reply:
    answer = {"jsonrpc": "2.0", "id": call_id, "result": result}
    return Reply(200, _FIELDS, json.dumps(answer, ensure_ascii=False).encode())


def _refuse(call_id: Any, code: int, message: str) -> Reply:
    answer = {"jsonrpc": "2.0", "id": call_id, "error": {"code": code, "message": message}}
    return Reply(200, _FIELDS, json.dumps(answer).encode())
