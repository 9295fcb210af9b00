"""AGENT-TASK-01: skills, tasks and errors over A2A on the agent, if the target claims the specification (6.6)."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from conformance.checks.agent.demo_members import find_demo_faults
from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.oracles.member_rules import is_equal
from conformance.oracles.rail_members import UUID_RULE
from conformance.surfaces import json_rpc
from conformance.surfaces.agent import A2A, EXPLAIN, SIGN, VERIFY, Agent, agent_of, signer
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent.subjects import raw_public

ROW: Final = "AGENT-TASK-01"
_VERIFY_SKILL, _EXPLAIN_SKILL, _SIGN_SKILL = "verify-rfc9421", "explain-rfc9421", "sign-demo"
_UNKNOWN_TASK: Final = "00000000-0000-4000-8000-000000000000"
_CONTEXT: Final = "11111111-1111-4111-8111-111111111111"
_NO_TASK, _NOT_CANCELABLE, _NO_PUSH, _UNSUPPORTED, _NO_CARD = -32001, -32002, -32003, -32004, -32007
_BAD_REQUEST, _NO_METHOD, _BAD_PARAMS, _NO_JSON = -32600, -32601, -32602, -32700
_HELP_PARTS: Final = [{"kind": "text", "text": "What can you verify?"}]
_GET_REQUEST: Final = {"method": "GET", "authority": "api.example.org", "path": "/a"}


@check(
    ROW,
    surface="agent",
    fix="Run the skill of a data part and complete the task with the result that its operation has over HTTP; keep a "
    "task without one open, so that a message continues it and tasks/cancel ends it; use the codes of P-RA-04.",
)
async def skills_are_served_as_tasks(case: Case) -> None:
    """The three skills, the tasks and the errors over A2A are as 6.6 says.

    Sends each skill with requests that hold, fail and cannot be read. Expects a completed task with one artifact, whose
    one data part is the result over HTTP, or -32602 with the `detail` of the 422. Sends messages without a skill, and
    expects tasks that ask for input with a text, that a further message leaves open, that a data part completes, and
    that can be canceled. Sends ids of contexts and tasks of others, further members, floats, and wrong calls.
    """
    agent = await agent_of(case)
    if not agent.has_specified_names:
        case.mark_not_applicable(ROW, "the profile binds other names than those of 6.2")
        return
    await _judge_results(case, agent)
    await _judge_refusals(case, agent)
    await _judge_open_tasks(case, agent)
    await _judge_ids(case, agent)
    await _judge_errors(case, agent)


def _make_parts(skill: object, request: object) -> list[dict[str, Any]]:
    return [{"kind": "data", "data": {"skill": skill, "request": request}}]


async def _send(case: Case, agent: Agent, parts: Sequence[Mapping[str, Any]], **further: Any) -> Answer:
    params = json_rpc.message([dict(one) for one in parts], "m-1", **further)
    return await json_rpc.call(case, agent.url + A2A, "message/send", params)


async def _call(case: Case, agent: Agent, method: str, params: Any) -> Answer:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return await case.client.call("POST", agent.url + A2A, json_body=body)


def _expect(case: Case, answer: Answer, faults: Sequence[str], trial: str) -> None:
    finding = "; ".join(faults)[:1500] or "so"
    case.expect(ROW, not faults, "as 6.6 says", finding, exchange=answer, where={"trial": trial})


def _read_artifact(task: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """Return the result in a completed task, and what of the task is not as 6.6 says."""
    status = task.get("status")
    state = status.get("state") if isinstance(status, Mapping) else None
    faults = [] if task.get("kind") == "task" else [f"kind {task.get('kind')!r}"]
    faults += [] if state == "completed" else [f"state {state!r}"]
    artifacts = task.get("artifacts")
    parts = [one.get("parts") for one in artifacts if isinstance(one, Mapping)] if isinstance(artifacts, list) else []
    if len(parts) != 1 or not isinstance(parts[0], list) or len(parts[0]) != 1:
        return None, [*faults, "not one artifact with one part"]
    part = parts[0][0]
    if not isinstance(part, Mapping) or part.get("kind") != "data":
        return None, [*faults, "no data part"]
    return part.get("data"), faults


async def _judge_results(case: Case, agent: Agent) -> None:
    sound = signed(case)
    subjects = {
        "a message that holds": sound,
        "another path": sound.with_changes(target="/elsewhere"),
        "another key": sound.with_expected_key(raw_public(signer(case))),
    }
    for name, subject in subjects.items():
        for skill, path, body in (
            (_VERIFY_SKILL, VERIFY, agent.verify_body(subject)),
            (_EXPLAIN_SKILL, EXPLAIN, agent.explain_body(subject)),
            (_EXPLAIN_SKILL, EXPLAIN, agent.explain_body(subject.with_expected_key(None, "none"))),
        ):
            plain = await agent.call("POST", path, json_body=body)
            answer = await _send(case, agent, _make_parts(skill, body))
            result, faults = _read_artifact(json_rpc.result(answer))
            faults += [] if is_equal(result, plain.read_object()) else ["another result than over HTTP"]
            _expect(case, answer, faults, f"{skill}: {name}")
    for content in (b"", b'{"order":7}'):
        body = {**_GET_REQUEST, "method": "POST", "body_b64": base64.b64encode(content).decode()}
        earliest_time = int(time.time()) - 60
        answer = await _send(case, agent, _make_parts(_SIGN_SKILL, body))
        result, faults = _read_artifact(json_rpc.result(answer))
        cover = ("@method", "@authority", "@path", *(("content-digest",) if content else ()))
        if isinstance(result, Mapping):
            # The demo's reader takes an answer of HTTP, which has the same members.
            as_plain = replace(answer, body=json.dumps(result).encode())
            faults += find_demo_faults(case, agent, body, content, cover, as_plain, earliest_time)
        _expect(case, answer, faults, f"{_SIGN_SKILL}: {len(content)} bytes")


async def _judge_refusals(case: Case, agent: Agent) -> None:
    sound = agent.verify_body(signed(case))
    keyless = {name: value for name, value in sound.items() if name not in {"public_key_hex", "did_key"}}
    requests: dict[str, tuple[str, str, Any]] = {
        "an empty request": (_VERIFY_SKILL, VERIFY, {}),
        "no key": (_VERIFY_SKILL, VERIFY, keyless),
        "another mode": (_EXPLAIN_SKILL, EXPLAIN, {**sound, "mode": "other"}),
        "a path that is a number": (_EXPLAIN_SKILL, EXPLAIN, {**sound, "path": 7}),
        "an array": (_VERIFY_SKILL, VERIFY, []),
        "null": (_SIGN_SKILL, SIGN, None),
        "no method": (_SIGN_SKILL, SIGN, {"authority": "api.example.org", "path": "/"}),
        "an unknown component": (_SIGN_SKILL, SIGN, {**_GET_REQUEST, "covered_components": ["@verb"]}),
    }
    for name, (skill, path, body) in requests.items():
        plain = await case.client.call(
            "POST", agent.url + path, body=json.dumps(body).encode(), headers={"content-type": "application/json"}
        )
        answer = await _send(case, agent, _make_parts(skill, body))
        error = answer.read_object().get("error")
        data = error.get("data") if isinstance(error, Mapping) else None
        faults = json_rpc.find_error_faults(answer, _BAD_PARAMS)
        if plain.status == 422 and not is_equal(data, plain.read_object().get("detail")):
            faults.append(f"data {str(data)[:300]}, not the detail of the 422")
        _expect(case, answer, faults, f"{skill}: {name}")
    for skill_name in ("no-such-skill", _VERIFY_SKILL.upper(), "", 7, None):
        answer = await _send(case, agent, _make_parts(skill_name, sound))
        _expect(case, answer, json_rpc.find_error_faults(answer, _BAD_PARAMS), f"the skill {skill_name!r}")


def _find_state_faults(task: Mapping[str, Any], state: str, *, has_text: bool = False) -> list[str]:
    status = task.get("status")
    members = status if isinstance(status, Mapping) else {}
    faults = [] if members.get("state") == state else [f"state {members.get('state')!r}, not {state!r}"]
    message = members.get("message")
    parts = message.get("parts") if isinstance(message, Mapping) else None
    texts = [one.get("text") for one in parts if isinstance(one, Mapping)] if isinstance(parts, list) else []
    if has_text and not any(isinstance(one, str) and one.strip() for one in texts):
        faults.append("no help text")
    return faults


async def _judge_open_tasks(case: Case, agent: Agent) -> None:
    """Judge tasks that stay open: continued by a text, completed by a skill, canceled (6.6)."""
    others = [{"kind": "data", "data": {"request": dict(_GET_REQUEST)}}]
    for name, parts in (("a text", _HELP_PARTS), ("a data part without a skill", others)):
        answer = await _send(case, agent, parts)
        opened = json_rpc.result(answer)
        _expect(case, answer, _find_state_faults(opened, "input-required", has_text=True), f"opened by {name}")
        task_id, context_id = opened.get("id"), opened.get("contextId")
        answer = await _call(case, agent, "tasks/get", {"id": task_id})
        stored = json_rpc.result(answer)
        faults = _find_state_faults(stored, "input-required")
        faults += [f"another {one}" for one in ("id", "contextId", "status") if stored.get(one) != opened.get(one)]
        _expect(case, answer, faults, f"tasks/get after {name}")
        for step, further in (("a further text", {}), ("a text with its context", {"contextId": context_id})):
            answer = await _send(case, agent, _HELP_PARTS, taskId=task_id, **further)
            again = json_rpc.result(answer)
            faults = _find_state_faults(again, "input-required", has_text=True)
            faults += ["another task"] if (again.get("id"), again.get("contextId")) != (task_id, context_id) else []
            _expect(case, answer, faults, f"{name}, then {step}")
        answer = await _send(case, agent, _make_parts("no-such-skill", {}), taskId=task_id)
        _expect(case, answer, json_rpc.find_error_faults(answer, _BAD_PARAMS), f"{name}, then an unknown skill")
        answer = await _send(case, agent, _HELP_PARTS, taskId=task_id, contextId=_CONTEXT)
        _expect(
            case, answer, json_rpc.find_error_faults(answer, _BAD_PARAMS), f"{name}, then a text of another context"
        )
        body = agent.verify_body(signed(case))
        answer = await _send(case, agent, _make_parts(_VERIFY_SKILL, body), taskId=task_id)
        completed = json_rpc.result(answer)
        result, faults = _read_artifact(completed)
        faults += ["another task"] if (completed.get("id"), completed.get("contextId")) != (task_id, context_id) else []
        plain = await agent.call("POST", VERIFY, json_body=body)
        faults += [] if is_equal(result, plain.read_object()) else ["another result than over HTTP"]
        _expect(case, answer, faults, f"{name}, then a skill")
        answer = await _send(case, agent, _HELP_PARTS, taskId=task_id)
        _expect(
            case, answer, json_rpc.find_error_faults(answer, _BAD_PARAMS), f"{name}: a message to the completed task"
        )
        answer = await _call(case, agent, "tasks/cancel", {"id": task_id})
        _expect(
            case, answer, json_rpc.find_error_faults(answer, _NOT_CANCELABLE), f"{name}: cancel of the completed task"
        )
    opened = json_rpc.result(await _send(case, agent, _HELP_PARTS))
    answer = await _call(case, agent, "tasks/cancel", {"id": opened.get("id")})
    canceled = json_rpc.result(answer)
    faults = _find_state_faults(canceled, "canceled")
    faults += [] if canceled.get("id") == opened.get("id") else ["another task"]
    _expect(case, answer, faults, "cancel of an open task")
    answer = await _send(case, agent, _make_parts(_SIGN_SKILL, _GET_REQUEST), taskId=opened.get("id"))
    _expect(case, answer, json_rpc.find_error_faults(answer, _BAD_PARAMS), "a skill for the canceled task")
    answer = await _call(case, agent, "tasks/cancel", {"id": opened.get("id")})
    _expect(case, answer, json_rpc.find_error_faults(answer, _NOT_CANCELABLE), "cancel twice")


async def _judge_ids(case: Case, agent: Agent) -> None:
    """Judge ids of tasks and contexts, members that A2A does not know, and whole numbers as floats (6.6)."""
    tasks = []
    parts = _make_parts(_SIGN_SKILL, {**_GET_REQUEST, "x-unknown": 1})
    for trial, further in (("no context", {}), ("a context of the client", {"contextId": _CONTEXT}), ("once more", {})):
        answer = await _send(case, agent, [{**parts[0], "x-unknown": {"a": [1]}}], **further, **{"x-unknown": True})
        task = json_rpc.result(answer)
        tasks.append(task)
        faults = _read_artifact(task)[1]
        faults += [
            f"{one} is no UUID of version 4" for one in ("id", "contextId") if not UUID_RULE.holds(task.get(one))
        ]
        faults += ["the context of the client"] if task.get("contextId") == _CONTEXT else []
        _expect(case, answer, faults, f"a task with {trial}")
        case.client.names.name(str(task.get("id")), "TASK")
        case.client.names.name(str(task.get("contextId")), "CONTEXT")
    for name in ("id", "contextId"):
        faults = [] if len({task.get(name) for task in tasks}) == len(tasks) else [f"one {name} twice"]
        _expect(case, answer, faults, f"the {name} of three tasks")
    message = json_rpc.message(_HELP_PARTS, "m-1")
    params = {**message, "configuration": {"historyLength": 1.0, "x-unknown": 1}, "x-unknown": 1}
    answer = await _call(case, agent, "message/send", params)
    opened = json_rpc.result(answer)
    _expect(case, answer, _find_state_faults(opened, "input-required"), "historyLength as a float")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "x-unknown": 1}
    body["params"] = {"id": opened.get("id"), "historyLength": 0.0, "x-unknown": 1}
    answer = await case.client.call("POST", agent.url + A2A, json_body=body)
    task = json_rpc.result(answer)
    faults = _find_state_faults(task, "input-required")
    faults += ["a history of no message has messages"] if task.get("history") else []
    _expect(case, answer, faults, "tasks/get with floats and further members")
    for trial, call_id in (
        ("beyond 2^53 - 1", 2**53),
        ("below -(2^53 - 1)", -(2**53)),
        *json_rpc.WRONG_IDS.items(),
    ):
        wrong = {"jsonrpc": "2.0", "id": call_id, "method": "tasks/get", "params": {"id": _UNKNOWN_TASK}}
        answer = await case.client.call("POST", agent.url + A2A, json_body=wrong)
        _expect(case, answer, json_rpc.find_error_faults(answer, _BAD_REQUEST, None), f"an id that is {trial}")


async def _judge_errors(case: Case, agent: Agent) -> None:
    """Judge the codes of wrong calls (P-RA-03, P-RA-04)."""
    message = json_rpc.message(_HELP_PARTS, "m-1")
    push = {"configuration": {"pushNotificationConfig": {"url": "https://shop.example/hook"}}}
    calls: list[tuple[str, Any, int]] = [
        ("message/stream", message, _UNSUPPORTED),
        ("tasks/resubscribe", {"id": _UNKNOWN_TASK}, _UNSUPPORTED),
        *((method, {"id": _UNKNOWN_TASK}, _NO_PUSH) for method in json_rpc.PUSH_METHODS),
        ("agent/getAuthenticatedExtendedCard", {}, _NO_CARD),
        ("message/send", {**message, **push}, _NO_PUSH),
        ("tasks/get", {"id": _UNKNOWN_TASK}, _NO_TASK),
        ("tasks/cancel", {"id": _UNKNOWN_TASK}, _NO_TASK),
        ("message/send", json_rpc.message(_HELP_PARTS, "m-1", taskId=_UNKNOWN_TASK), _NO_TASK),
        ("message/send", json_rpc.message([], "m-1"), _BAD_PARAMS),
        ("tasks/get", [_UNKNOWN_TASK], _BAD_PARAMS),
        ("tasks/get", {}, _BAD_PARAMS),
        ("no/such", {}, _NO_METHOD),
        ("message/Send", message, _NO_METHOD),
        ("tasks/list", {}, _NO_METHOD),
    ]
    for method, params, code in calls:
        answer = await _call(case, agent, method, params)
        _expect(case, answer, json_rpc.find_error_faults(answer, code), f"{method} with {json.dumps(params)[:60]}")
    envelopes = json_rpc.list_wrong_envelopes(json_rpc.request("tasks/get", {"id": _UNKNOWN_TASK}, 1))
    for trial, (envelope, call_id) in envelopes.items():
        answer = await case.client.call("POST", agent.url + A2A, json_body=envelope)
        _expect(case, answer, json_rpc.find_error_faults(answer, _BAD_REQUEST, call_id), trial)
    answer = await case.client.call("POST", agent.url + A2A, body=b"{", headers={"content-type": "application/json"})
    _expect(case, answer, json_rpc.find_error_faults(answer, _NO_JSON, None), "no JSON")
