"""Malformed requests: AGENT-VERIFY-15 to -17, AGENT-EXPLAIN-13, AGENT-SIGN-10, and the body of a 422 (AGENT-VALID).

A signature that fails is 200, but a malformed request is 422. Separate checks judge the two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.http.client import Answer, JsonFault
from conformance.outcome import Inconclusive
from conformance.surfaces.agent import EXPLAIN, SIGN, VERIFY, Agent, agent_of
from conformance.surfaces.agent import subject as signed

_JSON = {"content-type": "application/json"}
_UNPROCESSABLE = 422
_TYPES: Mapping[str, Any] = {"a number": 7, "null": None, "an array": [], "an object": {"a": []}, "a boolean": True}

MISSING_BODIES: Mapping[str, tuple[bytes | None, dict[str, str]]] = {
    "no body": (None, {}),
    # Some frameworks parse nothing if the length is zero, and pass an empty value on.
    "no body under a JSON media type": (None, _JSON),
    "an empty body": (b"", _JSON),
}
NON_JSON_BODIES: Mapping[str, bytes] = {
    "half an object": b"{",
    "a word": b"hello",
    "a form": b"method=GET&path=%2F",
    "single quotes": b"{'method':'GET'}",
    # Lenient JSON parsers accept this and single quotes, and then read a body that the caller did not mean.
    "a trailing comma": b'{"method":"GET",}',
    "bytes that are not text": b"\xff\xfe\xfa",
    "white space": b"  \n",
    "two objects": b"{}{}",
}
NON_OBJECT_BODIES: Mapping[str, bytes] = {
    "an empty array": b"[]",
    "an array of an object": b"[{}]",
    "a text": b'"method"',
    "a number": b"1",
    # Zero, null and an empty array are false in many languages, and a test for truth takes them for a missing body.
    "zero": b"0",
    "true": b"true",
    "null": b"null",
}


def find_detail_faults(answer: Answer) -> dict[str, str]:
    """Return the faults of the body of a 422, by the row that forbids them."""
    try:
        document = answer.parse_json()
    except JsonFault as fault:
        return {"AGENT-VALID-01": str(fault)}
    detail = document.get("detail") if isinstance(document, dict) else None
    if not isinstance(detail, list):
        return {"AGENT-VALID-01": f"detail is {type(detail).__name__}"}
    faults: dict[str, str] = {} if detail else {"AGENT-VALID-05": "detail is empty"}
    for item in detail:
        faults |= _find_item_faults(item)
    return faults


def _find_item_faults(item: Any) -> dict[str, str]:
    members = item if isinstance(item, dict) else {}
    faults = {}
    loc = members.get("loc")
    if not isinstance(loc, list) or not all(_is_place(part) for part in loc):
        faults["AGENT-VALID-02"] = f"loc is {loc!r}"
    for row, name in (("AGENT-VALID-03", "msg"), ("AGENT-VALID-04", "type")):
        if not isinstance(members.get(name), str):
            faults[row] = f"{name} is {members.get(name)!r}"
    return faults


def _is_place(part: Any) -> bool:
    """Return whether a value may be part of `loc`: a name or an index. In Python a bool is an int as well."""
    return isinstance(part, str | int) and not isinstance(part, bool)


_SHAPE = ("AGENT-VALID-01", "AGENT-VALID-02", "AGENT-VALID-03", "AGENT-VALID-04", "AGENT-VALID-05")


TRAILING_JUNK: Mapping[str, bytes] = {
    "a sound body, then a word": b" junk",
    "a sound body, then a bracket": b"}",
    "a sound body, then an object": b"{}",
}


def _valid_body(agent: Agent, path: str) -> bytes:
    subject = signed(agent.case)
    bodies = {VERIFY: agent.verify_body, EXPLAIN: agent.explain_body}
    return json.dumps(bodies[path](subject) if path in bodies else agent.sign_body(subject.message)).encode()


async def _judge_malformed(case: Case, path: str, row_of: Mapping[str, str]) -> None:
    """Send every malformed body to one operation; `row_of` maps a kind of body to the row that judges it."""
    base = case.profile.surfaces["agent"].url.rstrip("/")
    kinds: dict[str, Mapping[str, tuple[bytes | None, dict[str, str]]]] = {
        "missing": MISSING_BODIES,
        "no JSON": {body_name: (body, _JSON) for body_name, body in NON_JSON_BODIES.items()},
        "no object": {body_name: (body, _JSON) for body_name, body in NON_OBJECT_BODIES.items()},
    }

    async def judge_body(kind: str, body_name: str, body: bytes | None, headers: dict[str, str]) -> None:
        answer = await case.client.call("POST", base + path, body=body, headers=headers)
        where = {"operation": path, "body": body_name}
        holds = answer.status == _UNPROCESSABLE
        case.expect(row_of[kind], holds, "422", answer.status, exchange=answer, where=where)

    await run_concurrently(
        judge_body(kind, body_name, body, headers)
        for kind, bodies in kinds.items()
        for body_name, (body, headers) in bodies.items()
    )
    try:
        valid_body = _valid_body(await agent_of(case), path)
    except Inconclusive as reason:
        case.mark_inconclusive(row_of["no JSON"], str(reason))
        return
    # Last, a valid body followed by junk. A parser of streams stops at the end of the object and accepts it.
    await run_concurrently(
        judge_body("no JSON", body_name, valid_body + junk, _JSON) for body_name, junk in TRAILING_JUNK.items()
    )


_FIX = "Answer 422 with `detail` if the body is missing, is not JSON or is not an object, for every media type."


@check("AGENT-VERIFY-15", "AGENT-VERIFY-16", "AGENT-VERIFY-17", surface="agent", fix=_FIX)
async def verify_refuses_malformed_bodies(case: Case) -> None:
    """Verify answers 422 to a body that is missing, not JSON, or not an object.

    Sends no body in three ways, texts that are not JSON, also a valid body followed by junk, and JSON of every other
    type. Expects 422 each time.
    """
    rows = {"missing": "AGENT-VERIFY-15", "no JSON": "AGENT-VERIFY-16", "no object": "AGENT-VERIFY-17"}
    await _judge_malformed(case, VERIFY, rows)


@check("AGENT-EXPLAIN-13", surface="agent", fix=_FIX)
async def explain_refuses_malformed_bodies(case: Case) -> None:
    """Explain answers 422 to a body that is missing, not JSON, or not an object.

    Sends no body in three ways, texts that are not JSON, also a valid body followed by junk, and JSON of every other
    type. Expects 422 each time.
    """
    await _judge_malformed(case, EXPLAIN, dict.fromkeys(("missing", "no JSON", "no object"), "AGENT-EXPLAIN-13"))


@check("AGENT-SIGN-10", surface="agent", fix=_FIX)
async def sign_refuses_malformed_bodies(case: Case) -> None:
    """Sign answers 422 to a body that is missing, not JSON, or not an object.

    Sends no body in three ways, texts that are not JSON, also a valid body followed by junk, and JSON of every other
    type. Expects 422 each time.
    """
    await _judge_malformed(case, SIGN, dict.fromkeys(("missing", "no JSON", "no object"), "AGENT-SIGN-10"))


@check(
    *_SHAPE,
    surface="agent",
    fix='Write every 422 as {"detail": [{"loc": [...], "msg": "...", "type": "..."}]}, with at least one item.',
    quick=sample("malformed bodies, each at one operation"),
)
async def refusals_have_the_shape(case: Case) -> None:
    """A 422 body is an object with `detail`, an array of items with `loc`, `msg` and `type`.

    Sends malformed bodies, bodies with each member left out or of another type, wrong keys and wrong base64 to verify,
    explain and sign. Expects the shape of every answer that is a 422.
    """
    agent = await agent_of(case)
    bodies = [
        (path, body_name, body)
        for path in (VERIFY, EXPLAIN, SIGN)
        for body_name, body in _list_malformed_bodies(agent, path)
    ]
    # A quick look takes each kind of body at one operation, because all three share one validation in most frameworks.
    bodies = case.sample(bodies, lambda one: one[1])
    answers = await run_concurrently(agent.call("POST", path, **body) for path, _, body in bodies)
    refusal_count = 0
    for (path, body_name, _), answer in zip(bodies, answers, strict=True):
        if answer.status != _UNPROCESSABLE:
            continue
        refusal_count += 1
        faults = find_detail_faults(answer)
        where = {"operation": path, "body": body_name}
        for row in _SHAPE:
            fault = faults.get(row)
            case.expect(row, fault is None, "the shape of HTTPValidationError", fault, exchange=answer, where=where)
    if not refusal_count:
        raise Inconclusive("no answer was a 422, which AGENT-VERIFY-15 to -17 judge")


def _list_malformed_bodies(agent: Agent, path: str) -> list[tuple[str, dict[str, Any]]]:
    subject = signed(agent.case)
    valid_members = {
        VERIFY: agent.verify_body(subject),
        EXPLAIN: agent.explain_body(subject),
        SIGN: agent.sign_body(subject.message),
    }[path]
    body_list: list[tuple[str, dict[str, Any]]] = [
        ("no body", {}),
        ("half an object", {"body": b"{", "headers": _JSON}),
        ("an array", {"json_body": []}),
        ("an array of arrays", {"json_body": [[1]]}),
        ("an empty object", {"json_body": {}}),
        ("fields of other types", {"json_body": {**valid_members, "headers": {"a": 1, "b": [2], "c": {"d": None}}}}),
        ("no hex", {"json_body": {**valid_members, "public_key_hex": "zz"}}),
        ("no did:key", {"json_body": {**valid_members, "did_key": "did:web:example.org"}}),
        ("no base64", {"json_body": {**valid_members, "body_b64": "%%%"}}),
    ]
    for name in valid_members:
        remaining_members = {other: value for other, value in valid_members.items() if other != name}
        body_list.append((f"without {name}", {"json_body": remaining_members}))
        body_list += [
            (f"{name}: {what}", {"json_body": {**valid_members, name: value}}) for what, value in _TYPES.items()
        ]
    return body_list
