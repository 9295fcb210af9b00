"""A client of the rail's A2A door: raw JSON-RPC, so that a test sees every member."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import httpx

from tests.reference.rail.rail_stack import COMPLIANCE_BODY, Rail

STATUS = "x402.payment.status"
REQUIRED = "x402.payment.required"
PAYLOAD = "x402.payment.payload"
RECEIPTS = "x402.payment.receipts"
ERROR = "x402.payment.error"
URI = "https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2"
ORDER: dict[str, Any] = {"service_id": "compliance-receipt", "request": COMPLIANCE_BODY}
_NUMBERS = itertools.count(1)


def envelope(method: str, params: Any) -> dict[str, Any]:
    """Return a request with an id of its own."""
    return {"jsonrpc": "2.0", "id": next(_NUMBERS), "method": method, "params": params}


def call(rail: Rail, method: str, params: Any, **further: Any) -> httpx.Response:
    """Call a method; the answer is HTTP 200 with the id echoed."""
    asked = envelope(method, params)
    answer = rail.http.post("/a2a", json=asked, **further)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json"), answer.text
    document = answer.json()
    assert (document["jsonrpc"], document["id"]) == ("2.0", asked["id"])
    return answer


def result(answer: httpx.Response) -> dict[str, Any]:
    """Return a call's result."""
    document: dict[str, Any] = answer.json()
    assert "error" not in document, document
    value: dict[str, Any] = document["result"]
    return value


def error(answer: httpx.Response) -> dict[str, Any]:
    """Return a call's error object."""
    document: dict[str, Any] = answer.json()
    assert "result" not in document, document
    value: dict[str, Any] = document["error"]
    return value


def message(data: Any = None, *, task: str | None = None, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a message with a data part, or with a text part when there is no data."""
    part = {"kind": "text", "text": "hello"} if data is None else {"kind": "data", "data": data}
    document: dict[str, Any] = {"kind": "message", "messageId": f"m{next(_NUMBERS)}", "role": "user", "parts": [part]}
    if task is not None:
        document["taskId"] = task
    if metadata is not None:
        document["metadata"] = dict(metadata)
    return document


def build_payment_params(task: str, payload: Any) -> dict[str, Any]:
    """Return params that pay a task."""
    return {"message": message(task=task, metadata={STATUS: "payment-submitted", PAYLOAD: payload})}


def open_task(rail: Rail, data: Any = ORDER) -> dict[str, Any]:
    """Open a task; it asks for payment."""
    task = result(call(rail, "message/send", {"message": message(data)}))
    assert task["status"]["message"]["metadata"][STATUS] == "payment-required", task
    return task


def pay(rail: Rail, task: Mapping[str, Any], payload: Any) -> dict[str, Any]:
    """Pay a task and return it as it is then."""
    return result(call(rail, "message/send", build_payment_params(task["id"], payload)))


def get(rail: Rail, task: Mapping[str, Any], **params: Any) -> dict[str, Any]:
    """Ask for a task."""
    return result(call(rail, "tasks/get", {"id": task["id"], **params}))


def status_metadata_of(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a task's status message."""
    metadata: dict[str, Any] = task["status"]["message"]["metadata"]
    return metadata


def entry_of(task: Mapping[str, Any], lane: str = "algorand") -> dict[str, Any]:
    """Return a lane's entry of what a task requires."""
    entries = status_metadata_of(task)[REQUIRED]["accepts"]
    match: dict[str, Any] = next(one for one in entries if one["network"].startswith(lane))
    return match


def artifact(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the one data part of a completed task's one artifact."""
    assert task["status"]["state"] == "completed", task
    [made] = task["artifacts"]
    [part] = made["parts"]
    assert part["kind"] == "data"
    data: dict[str, Any] = part["data"]
    return data
