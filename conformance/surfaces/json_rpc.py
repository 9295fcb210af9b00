"""JSON-RPC 2.0 over HTTP as the suite speaks it with A2A agents: calls, and whether an answer is an envelope."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from conformance.engine.check import Case
from conformance.http.client import Answer, JsonFault
from conformance.oracles.strict_json import is_json_type

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603
# What the JSON-RPC and A2A errors say of a request that was understood and is not what the agent wanted.
BAD_PARAMETERS = -32602
# What the interface does not name: methods of A2A 0.3, and parameters that fit none of its own; nothing is changed.
_OPTIONAL: Mapping[str, Mapping[str, Any]] = {
    "agent/getAuthenticatedExtendedCard": {},
    "tasks/pushNotificationConfig/get": {"id": "no-such-task"},
    "tasks/get": {"id": 7},
    "message/send": {},
}
_NO_JSON = b'{"jsonrpc": "2.0", "id": 1, "method": '


def request(method: str, params: Mapping[str, Any], call_id: object) -> dict[str, Any]:
    """Return the body of a call."""
    return {"jsonrpc": "2.0", "id": call_id, "method": method, "params": dict(params)}


def message(parts: list[dict[str, Any]], message_id: str, **further: Any) -> dict[str, Any]:
    """Return the parameters of `message/send` for parts of a message of A2A 0.3."""
    message_members = {"kind": "message", "role": "user", "messageId": message_id, "parts": parts, **further}
    return {"message": message_members}


async def call(
    case: Case,
    url: str,
    method: str,
    params: Mapping[str, Any],
    *,
    call_id: object = 1,
    headers: Mapping[str, str] | None = None,
    retry: bool = False,
) -> Answer:
    """Send one call to an agent's address; `retry` says in the log that the target asked for it."""
    body = request(method, params, call_id)
    return await case.client.call("POST", url, json_body=body, headers=headers or {}, retry=retry)


def envelope_fault(answer: Answer, call_id: object) -> str | None:
    """Return what is wrong with an answer as the envelope of a call with this id, None when nothing is."""
    try:
        document = answer.json()
    except JsonFault as fault:
        return str(fault)
    if not isinstance(document, dict):
        return "the body is no object"
    if document.get("jsonrpc") != "2.0":
        return f"jsonrpc is {document.get('jsonrpc')!r}"
    answered_id = document.get("id")
    if answered_id != call_id or type(answered_id) is not type(call_id):
        return f"id is {answered_id!r}, not {call_id!r}"
    if ("result" in document) == ("error" in document):
        return "it has not exactly one of result and error"
    return _error_fault(document["error"]) if "error" in document else None


async def send_unreadable_bodies(case: Case, url: str) -> Mapping[str, Answer]:
    """Send what is no JSON to an agent's address, also a sound call with junk after it; return the answers."""
    call_ = json.dumps(request("tasks/get", {"id": "no-such-task"}, 1)).encode()
    headers = {"content-type": "application/json"}
    bodies = {"no JSON": _NO_JSON, "a sound call, then junk": call_ + b" junk"}
    return {what: await case.client.call("POST", url, body=body, headers=headers) for what, body in bodies.items()}


async def call_optional_methods(case: Case, url: str, call_id: object) -> Mapping[str, Answer]:
    """Make calls that an agent may serve or refuse as it likes; return by method what was answered with 200 and JSON.

    Served or not, that is an envelope. Who wants a credential for one, or knows of none by HTTP, refuses otherwise.
    """
    answers = {method: await call(case, url, method, params, call_id=call_id) for method, params in _OPTIONAL.items()}
    return {method: answer for method, answer in answers.items() if is_envelope_due(answer)}


def is_envelope_due(answer: Answer) -> bool:
    """Return whether an answer is JSON with 200, which is an envelope whatever it says."""
    return answer.status == 200 and is_json_type(answer.headers.get("Content-Type"))


def unreadable_fault(answer: Answer) -> str | None:
    """Return what is wrong with the answer to what is no JSON, None when nothing is.

    Whoever looks at a body before JSON-RPC does may refuse it in words of their own, with a 4xx; an answer by JSON-RPC
    has one code for it (JSON-RPC 2.0 section 5.1).
    """
    code = error_code(answer)
    if code == PARSE_ERROR or (code is None and 400 <= answer.status < 500):
        return None
    return f"{answer.status}" + ("" if code is None else f", error {code}")


def _error_fault(error: Any) -> str | None:
    if not isinstance(error, dict):
        return "error is no object"
    code = error.get("code")
    if isinstance(code, bool) or not isinstance(code, int):
        return f"error.code is {code!r}"
    return None if isinstance(error.get("message"), str) else f"error.message is {error.get('message')!r}"


def result(answer: Answer) -> dict[str, Any]:
    """Return the result when it is an object, unwrapped from `task` and `message`; empty otherwise."""
    members = answer.object().get("result")
    if not isinstance(members, dict):
        return {}
    for name in ("task", "message"):
        if isinstance(members.get(name), dict) and "kind" not in members:
            return dict(members[name])
    return members


def error_code(answer: Answer) -> int | None:
    """Return the code of an error, None where the answer is not an error."""
    error = answer.object().get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and not isinstance(code, bool) else None
