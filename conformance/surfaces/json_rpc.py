"""JSON-RPC 2.0 over HTTP with A2A agents: calls, and the faults of answers as envelopes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from conformance.engine.check import Case
from conformance.http.client import Answer, JsonFault
from conformance.oracles.strict_json import is_json_type

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603
# The code for a request that was understood and has parameters that the agent does not accept.
BAD_PARAMETERS = -32602
# Methods of A2A 0.3 that the interface does not name, with parameters that fit no method. None changes anything.
_OPTIONAL: Mapping[str, Mapping[str, Any]] = {
    "agent/getAuthenticatedExtendedCard": {},
    "tasks/pushNotificationConfig/get": {"id": "no-such-task"},
    "tasks/get": {"id": 7},
    "message/send": {},
}
_NO_JSON = b'{"jsonrpc": "2.0", "id": 1, "method": '
# Ids that are neither a string nor an integer (P-RA-04).
WRONG_IDS: Final[Mapping[str, object]] = {
    "null": None,
    "a fraction": 1.5,
    "true": True,
    "false": False,
    "an object": {},
    "an array": [1],
}
# The methods of A2A 0.3 for push notifications of a task.
PUSH_METHODS: Final = tuple(f"tasks/pushNotificationConfig/{verb}" for verb in ("set", "get", "list", "delete"))


def request(method: str, params: Mapping[str, Any], call_id: object) -> dict[str, Any]:
    """Return the body of a call."""
    return {"jsonrpc": "2.0", "id": call_id, "method": method, "params": dict(params)}


def list_wrong_envelopes(good: Mapping[str, Any]) -> dict[str, tuple[Any, object]]:
    """Return JSON bodies that are no call, each with the id of an answer to it, by what was changed in a good one."""
    return {
        "a batch": ([good], None),
        "no version": ({name: value for name, value in good.items() if name != "jsonrpc"}, good["id"]),
        "version 1.0": ({**good, "jsonrpc": "1.0"}, good["id"]),
        "no id": ({name: value for name, value in good.items() if name != "id"}, None),
        "a method that is a number": ({**good, "method": 1}, good["id"]),
        "a text": ("hello", None),
    }


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
    """Return what is wrong with an answer as the envelope of a call with this id, or None."""
    try:
        document = answer.parse_json()
    except JsonFault as fault:
        return str(fault)
    if not isinstance(document, dict):
        return "the body is no object"
    if document.get("jsonrpc") != "2.0":
        return f"jsonrpc is {document.get('jsonrpc')!r}"
    answered_id = document.get("id")
    # In Python 1 == True and 1 == 1.0, but the id must be of the same JSON type (JSON-RPC 2.0,
    # section 5).
    if answered_id != call_id or type(answered_id) is not type(call_id):
        return f"id is {answered_id!r}, not {call_id!r}"
    # JSON-RPC 2.0 (section 5): exactly one of the two members.
    if ("result" in document) == ("error" in document):
        return "it has not exactly one of result and error"
    return _error_fault(document["error"]) if "error" in document else None


async def send_unreadable_bodies(case: Case, url: str) -> Mapping[str, Answer]:
    """Send bodies that are not JSON to an agent's address, and return the answers by the names of the bodies."""
    call_ = json.dumps(request("tasks/get", {"id": "no-such-task"}, 1)).encode()
    headers = {"content-type": "application/json"}
    bodies = {"no JSON": _NO_JSON, "a sound call, then junk": call_ + b" junk"}
    return {what: await case.client.call("POST", url, body=body, headers=headers) for what, body in bodies.items()}


async def call_optional_methods(case: Case, url: str, call_id: object) -> Mapping[str, Answer]:
    """Call methods that an agent may serve or refuse, and return the answers that are 200 and JSON, by method.

    Such an answer must be an envelope, whether the method was served or not. A refusal by HTTP is left out.
    """
    answers = {method: await call(case, url, method, params, call_id=call_id) for method, params in _OPTIONAL.items()}
    return {method: answer for method, answer in answers.items() if is_envelope_due(answer)}


def is_envelope_due(answer: Answer) -> bool:
    """Return whether an answer is 200 with JSON, which must be an envelope."""
    return answer.status == 200 and is_json_type(answer.headers.get("Content-Type"))


def unreadable_fault(answer: Answer) -> str | None:
    """Return what is wrong with the answer to a body that is not JSON, or None."""
    code = error_code(answer)
    # JSON-RPC has one code for this error (JSON-RPC 2.0, section 5.1). A layer in front of
    # JSON-RPC, such as a web framework, may refuse the body with a plain 4xx.
    if code == PARSE_ERROR or (code is None and 400 <= answer.status < 500):
        return None
    return f"{answer.status}" + ("" if code is None else f", error {code}")


def _error_fault(error: Any) -> str | None:
    if not isinstance(error, dict):
        return "error is no object"
    code = error.get("code")
    # True is an integer in Python, but not a number in JSON.
    if isinstance(code, bool) or not isinstance(code, int):
        return f"error.code is {code!r}"
    return None if isinstance(error.get("message"), str) else f"error.message is {error.get('message')!r}"


def result(answer: Answer) -> dict[str, Any]:
    """Return the result if it is an object, unwrapped from `task` or `message`; else an empty object."""
    members = answer.read_object().get("result")
    if not isinstance(members, dict):
        return {}
    # Some agents wrap the result in an object with one member. A task itself has `kind`.
    for name in ("task", "message"):
        if isinstance(members.get(name), dict) and "kind" not in members:
            return dict(members[name])
    return members


def find_error_faults(answer: Answer, code: int, call_id: object = 1) -> list[str]:
    """Return what of an answer is not 200 with an error of this code, in words.

    Args:
        answer: The answer.
        code: The code of the error.
        call_id: The id that it echoes: that of the call, or None if the call has no readable id (P-RA-04).
    """
    faults = [] if answer.status == 200 else [f"status {answer.status}"]
    found_code, answered_id = error_code(answer), answer.read_object().get("id", "missing")
    faults += [] if found_code == code else [f"error {found_code}, not {code}"]
    is_echoed = answered_id == call_id and type(answered_id) is type(call_id)
    return faults if is_echoed else [*faults, f"id {answered_id!r}, not {call_id!r}"]


def error_code(answer: Answer) -> int | None:
    """Return the code of an error; None if the answer is not an error."""
    error = answer.read_object().get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and not isinstance(code, bool) else None
