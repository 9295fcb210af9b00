"""X-JSON-01 and X-JSON-02: JSON endpoints answer with valid JSON, for successes and for refusals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.fuzz.hostile_inputs import JSON
from conformance.http.client import Answer
from conformance.oracles.strict_json import JsonTextFault, is_json_type, json_text, literal_faults
from conformance.surfaces.endpoints import Endpoint, list_endpoints
from conformance.surfaces.gateway.calls import CHECKOUT

_ROWS = ("X-JSON-01", "X-JSON-02")
_FIX = "Return application/json and one UTF-8 JSON text, also for errors, written by a JSON library that refuses NaN."
_QUICK = sample("ways to call, one of each operation")
# HTTP forbids a body with these statuses (RFC 9110, 15.3.5 and 15.4.5), so there is no JSON to judge.
_NO_BODY = frozenset({204, 304})


@dataclass(frozen=True, slots=True)
class _Call:
    """One way to call an operation, with a description of it."""

    description: str
    method: str
    headers: list[tuple[str, str]]
    body: bytes | None = None


def _list_calls(endpoint: Endpoint) -> Iterator[_Call]:
    """Yield one call for each kind of refusal, or a plain call for an operation without a body."""
    credentials = list(endpoint.headers.items())
    if endpoint.body is None:
        yield _Call("a plain call", endpoint.method, credentials)
        return
    json_headers = [*credentials, JSON]
    yield _Call("a body that is not JSON", endpoint.method, json_headers, b"{")
    yield _Call("a body of another type", endpoint.method, json_headers, b"[]")
    yield _Call("an empty object", endpoint.method, json_headers, b"{}")
    yield _Call("another media type", endpoint.method, [*credentials, ("Content-Type", "text/plain")], b"{}")
    yield _Call("members twice", endpoint.method, json_headers, b'{"a":1,"a":2}')
    # A JSON parser that accepts NaN or 1e999 may also write them into its answer, which no other parser reads.
    yield _Call("NaN", endpoint.method, json_headers, b'{"amount":NaN,"label":"\\u2028","currency":1e999}')
    if credentials:
        # Refusals in front of the application come from a gateway or framework, which often answers with HTML or plain
        # text.
        yield _Call("no credential", endpoint.method, [JSON], b"{}")
        wrong_credentials = [
            (name, "Bearer nonsense" if name == "Authorization" else value) for name, value in credentials
        ]
        yield _Call("a wrong credential", endpoint.method, [*wrong_credentials, JSON], b"{}")


async def _judge_surface(case: Case, surface: str) -> None:
    operations = [one for one in await list_endpoints(case, surface) if one.answers_json and _is_json_operation(one)]
    calls = [(endpoint, call) for endpoint in operations for call in _list_calls(endpoint)]
    await run_concurrently(_make_call(case, *way) for way in case.sample(calls, lambda way: way[0].label))
    # The good bodies come last, so that links created by them do not exist while the refusals are tested.
    await run_concurrently(_send_good_body(case, endpoint) for endpoint in operations if endpoint.body)


def _is_json_operation(endpoint: Endpoint) -> bool:
    """Return whether the operation answers in JSON. The checkout page of a link answers in HTML."""
    return not (endpoint.path.startswith(CHECKOUT) and endpoint.template.endswith("{token}"))


async def _make_call(case: Case, endpoint: Endpoint, call: _Call) -> None:
    answer = await case.client.call(call.method, endpoint.url, body=call.body, headers=call.headers)
    _judge_answer(case, endpoint, call.description, answer)


async def _send_good_body(case: Case, endpoint: Endpoint) -> None:
    answer = await case.client.call(
        endpoint.method, endpoint.url, json_body=dict(endpoint.body or {}), headers=endpoint.headers
    )
    _judge_answer(case, endpoint, "a good body", answer)


def _judge_answer(case: Case, endpoint: Endpoint, description: str, answer: Answer) -> None:
    where = {"operation": endpoint.label, "call": description}
    if answer.status in _NO_BODY:
        return
    content_type = answer.headers.get("Content-Type")
    try:
        json_text(answer.body)
        fault = None if is_json_type(content_type) else f"Content-Type is {content_type!r}"
    except JsonTextFault as no_json:
        fault = f"Content-Type {content_type!r}; {no_json}"
    # X-JSON-02 is judged only for what X-JSON-01 takes for JSON: a body that does not parse has no literals to compare.
    expectation = "a body that parses as JSON, and a JSON Content-Type"
    finding = "JSON" if fault is None else f"{answer.status}, {fault}"
    if case.expect("X-JSON-01", fault is None, expectation, finding, exchange=answer, where=where):
        literals = literal_faults(answer.body)
        expectation = "no literal outside RFC 8259, no member twice"
        case.expect("X-JSON-02", not literals, expectation, literals[:5] or "none", exchange=answer, where=where)


@check(*_ROWS, surface="gateway", fix=_FIX, quick=_QUICK)
async def answers_of_the_gateway_are_json(case: Case) -> None:
    """Every JSON endpoint of the gateway answers with a body that parses as JSON and a JSON Content-Type.

    Calls every known operation with a good body, with unreadable bodies, with another media type and without a
    credential. Expects JSON each time, without NaN, Infinity or duplicate members.
    """
    await _judge_surface(case, "gateway")


@check(*_ROWS, surface="rail", fix=_FIX, quick=_QUICK)
async def answers_of_the_rail_are_json(case: Case) -> None:
    """Every JSON endpoint of the rail answers with a body that parses as JSON and a JSON Content-Type.

    Calls every known operation unpaid, with a good body and with unreadable ones. Expects JSON each time, without NaN,
    Infinity or duplicate members.
    """
    await _judge_surface(case, "rail")


@check(*_ROWS, surface="agent", fix=_FIX, quick=_QUICK)
async def answers_of_the_agent_are_json(case: Case) -> None:
    """Every endpoint of the agent answers with a body that parses as JSON and a JSON Content-Type.

    Calls every known operation with a good body and with unreadable ones. Expects JSON each time, without NaN, Infinity
    or duplicate members.
    """
    await _judge_surface(case, "agent")


@check(*_ROWS, surface="control_plane", fix=_FIX, quick=_QUICK)
async def answers_of_the_control_plane_are_json(case: Case) -> None:
    """Every endpoint of the control plane answers with a body that parses as JSON and a JSON Content-Type.

    Calls every known operation with a good body, with unreadable bodies, with another media type and without a
    credential. Expects JSON each time, without NaN, Infinity or duplicate members.
    """
    await _judge_surface(case, "control_plane")
