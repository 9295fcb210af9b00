"""AGENT-A2A: the hint at GET /a2a, and the JSON-RPC transport."""

from __future__ import annotations

from typing import Any

from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.oracles.strict_json import is_json_type
from conformance.surfaces import json_rpc
from conformance.surfaces.agent import A2A, agent_of, answer_reader
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent_cards import describe

# JSON-RPC ids of both types. Some lose their type or their digits in a careless server: 0, an empty text, "1", 2^53 -
# 1.
_IDS: tuple[object, ...] = (1, 0, -7, 2**40, 2**53 - 1, "one", "", 'äöü " \\ /', "1")


@check(
    "AGENT-A2A-01",
    surface="agent",
    fix="Answer GET /a2a with 200 and a JSON object with a hint: send POST to this address.",
)
async def get_points_to_post(case: Case) -> None:
    """GET /a2a answers 200 with a JSON hint that points to POST, not a bare 405.

    Sends a GET. Expects 200, JSON, and the word POST in one of its texts.
    """
    base = case.profile.surfaces["agent"].url.rstrip("/")
    answer = await case.client.call("GET", base + A2A)
    hints = [text for _, text in answer_reader.texts(answer.read_object()) if "POST" in text.upper()]
    holds = answer.status == 200 and is_json_type(answer.headers.get("Content-Type")) and bool(hints)
    case.expect("AGENT-A2A-01", holds, "200 with a JSON hint to POST", describe(answer), exchange=answer)


@check(
    "AGENT-A2A-02",
    "AGENT-A2A-03",
    surface="agent",
    fix="Answer every JSON-RPC request with 200 and an envelope: jsonrpc 2.0, its id with its type, result or error.",
)
async def the_transport_speaks_json_rpc(case: Case) -> None:
    """POST /a2a answers 200 with JSON to an A2A JSON-RPC request, in an envelope that echoes the id.

    Sends message/send with text and with data, tasks/get, and an unknown method, under ids of both types. Expects 200
    and JSON each time, and an envelope with the id and exactly one of result and error. Then sends a body that is not
    JSON, and expects the JSON-RPC code for that in an envelope. Then calls optional methods of A2A, and methods with
    parameters that do not fit. If the answer is 200 with JSON, expects an envelope as well.
    """
    base = case.profile.surfaces["agent"].url.rstrip("/")
    # A message in natural language and one with data: agents route the two differently.
    text = [{"kind": "text", "text": "What can you verify?"}]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("message/send", json_rpc.message(text, "m-1")),
        ("message/send", json_rpc.message([{"kind": "data", "data": {"unknown": True}}], "m-2")),
        ("tasks/get", {"id": "00000000-0000-4000-8000-000000000000"}),
        ("no/such/method", {}),
    ]
    # The methods take turns, so that every id meets some method without multiplying the calls.
    for n, call_id in enumerate(_IDS):
        method, params = calls[n % len(calls)]
        _judge(case, method, call_id, await json_rpc.call(case, base + A2A, method, params, call_id=call_id))
    for body_name, answer in (await json_rpc.send_unreadable_bodies(case, base + A2A)).items():
        fault, where = json_rpc.unreadable_fault(answer), {"body": body_name}
        requirement = "error -32700, or an HTTP refusal"
        case.expect("AGENT-A2A-03", fault is None, requirement, fault, exchange=answer, where=where)
    for method, answer in (await json_rpc.call_optional_methods(case, base + A2A, "one")).items():
        _judge(case, method, "one", answer)
    # The interface names no skill for verify over A2A, so only the reference is judged by it.
    if case.profile.is_reference:
        await _judge_skills(case, base)


def _judge(case: Case, method: str, call_id: object, answer: Answer) -> None:
    where = {"method": method, "id": repr(call_id)}
    holds = answer.status == 200 and is_json_type(answer.headers.get("Content-Type"))
    case.expect("AGENT-A2A-02", holds, "200 with JSON", describe(answer), exchange=answer, where=where)
    fault = json_rpc.envelope_fault(answer, call_id)
    case.expect("AGENT-A2A-03", fault is None, "an envelope", fault, exchange=answer, where=where)


async def _judge_skills(case: Case, base: str) -> None:
    """Judge that verify gives the same result over A2A and over HTTP."""
    agent = await agent_of(case)
    sound_subject = signed(case)
    for subject in (sound_subject, sound_subject.with_changes(target="/elsewhere")):
        body = agent.verify_body(subject)
        plain = await agent.verify(subject)
        parts = [{"kind": "data", "data": {"skill": "verify-rfc9421", "request": body}}]
        answer = await json_rpc.call(case, base + A2A, "message/send", json_rpc.message(parts, "m-3"))
        results = [
            value for _, value in answer_reader.leaves(answer.read_object(), depth=10) if value == plain.read_object()
        ]
        requirement = "a task with the result that verify gives"
        case.expect("AGENT-A2A-02", bool(results), requirement, describe(answer), exchange=answer)
