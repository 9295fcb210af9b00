"""RAIL-402-24: each member and header of a 402, where the target claims the specification (5.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.assertions.rail.specified_request_bodies import list_accepted_bodies, list_refused_bodies
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.http.client import Answer
from conformance.surfaces.rail.challenge_faults import find_402_faults, find_origin_faults
from conformance.surfaces.rail.unpaid_answers import entries, find_request_example

ROW: Final = "RAIL-402-24"
_JSON: Final = {"content-type": "application/json"}
_ALLOWED_METHODS: Final = frozenset({"get", "post"})
_ALLOWED_HEADERS: Final = frozenset({"content-type", "x-payment", "x-a2a-extensions"})


@check(
    ROW,
    surface="rail",
    fix="Answer with exactly the members of P-CH-01, P-CH-04 and P-CH-06, each for this very request, with the headers "
    "of P-CH-02 and P-CH-09. Quote the example for a request that is refused, and say why in error_detail (P-CH-11).",
    quick=sample("operations"),
)
async def members_of_a_402(case: Case) -> None:
    """Each member and header of a 402 has the value that the specification gives it.

    Calls each operation without payment: with each known body, and with a query. Expects the closed list of members,
    each computed from the request, the header PAYMENT-REQUIRED with the same object, no-store, and the headers for
    pages of other origins. Then calls it by other methods, without a body, with bodies that are no JSON or do not fit,
    and with another media type. Expects the example's challenge, with error_detail where a body was refused. Unless the
    profile binds other bodies, also sends bodies that 5.2 takes, such as an amount of 5.0, and bodies that it refuses.
    Expects other tokens of every entry in two challenges. Sends a preflight and a TRACE.
    """
    await run_concurrently(
        _judge_operation(case, operation) for operation in case.sample(case.session.catalog.operations)
    )


async def _judge_operation(case: Case, operation: Operation) -> None:
    other_bodies = () if operation.is_guess else operation.other_bodies
    answers = []
    for body in (operation.body, *other_bodies):
        answer = await case.client.call("POST", operation.url, json_body=body)
        answers.append(answer)
        _judge_quoted(case, operation, answer, body, "a known body")
    queried = operation.with_query("a=1&b=2%26c")
    answer = await case.client.call("POST", queried.url, json_body=operation.body)
    _judge_quoted(case, queried, answer, operation.body, "a query")
    _judge_tokens(case, operation, [*answers, answer])
    example = find_request_example(answers[0])
    for name, (method, content, headers, has_detail) in _list_odd_calls().items():
        answer = await case.client.call(method, operation.url, body=content, headers=headers)
        # HEAD has no body (RFC 9110, 9.3.2), so only the status can be judged.
        if method == "HEAD":
            _expect(case, operation, answer, [] if answer.status == 402 else [f"status {answer.status}"], name)
        else:
            _judge(case, operation, answer, example, name, has_detail=has_detail)
    if operation.role not in (case.profile.rail_bindings.bodies or {}):
        await _judge_specified_bodies(case, operation, example)
    await _judge_preflight(case, operation)


async def _judge_specified_bodies(case: Case, operation: Operation, example: Any) -> None:
    """Judge which bodies are quoted and which are refused, where the bodies are those of 5.2."""
    for name, body in list_accepted_bodies(operation.role).items():
        answer = await case.client.call("POST", operation.url, json_body=body)
        _judge(case, operation, answer, body, name)
    for name, body in list_refused_bodies(operation.role).items():
        answer = await case.client.call("POST", operation.url, json_body=body)
        _judge(case, operation, answer, example, name, has_detail=True)


def _list_odd_calls() -> Mapping[str, tuple[str, bytes | None, Mapping[str, str], bool]]:
    """Return calls that are quoted the example: method, body, headers, and whether a body was refused."""
    return {
        "GET": ("GET", None, {}, False),
        "HEAD": ("HEAD", None, {}, False),
        "DELETE": ("DELETE", None, {}, False),
        "no body": ("POST", None, {}, False),
        "a body that is no JSON": ("POST", b'{"a":', _JSON, True),
        "an array": ("POST", b"[]", _JSON, True),
        "a body with a member that no service knows": ("POST", b'{"no_such_member_of_any_service":1}', _JSON, True),
        "null": ("POST", b"null", _JSON, True),
    }


def _judge_quoted(case: Case, operation: Operation, answer: Answer, body: Any, request: str) -> None:
    # Without a profile a body may be a guess. One that is refused is quoted the example, as the odd calls below are.
    if "error_detail" in answer.read_object():
        case.note(f"{operation.path} refuses {request} of this suite, and quotes its example")
    else:
        _judge(case, operation, answer, body, request)


def _judge(
    case: Case, operation: Operation, answer: Answer, body: Any, request: str, *, has_detail: bool = False
) -> None:
    faults = find_402_faults(case, operation, answer, body, has_detail=has_detail)
    _expect(case, operation, answer, [f"status {answer.status}"] if answer.status != 402 else faults, request)


def _expect(case: Case, operation: Operation, answer: Answer, faults: Sequence[str], request: str) -> None:
    where = {"operation": operation.path, "request": request}
    case.expect(ROW, not faults, "a 402 as 5.3 says", "; ".join(faults) or "so", exchange=answer, where=where)


def _judge_tokens(case: Case, operation: Operation, answers: Sequence[Answer]) -> None:
    """Judge that no token is given twice: not for two lanes, and not in two challenges."""
    extras = [entry.get("extra") for answer in answers for entry in entries(answer)]
    tokens = [str(extra.get("payment_reference")) for extra in extras if isinstance(extra, Mapping)]
    macs = [token.rpartition(":")[2] for token in tokens]
    faults = [] if len(set(tokens)) == len(tokens) and len(set(macs)) == len(macs) else ["one token or mac twice"]
    _expect(case, operation, answers[-1], faults, "all challenges together")


async def _judge_preflight(case: Case, operation: Operation) -> None:
    headers = {
        "Origin": "https://shop.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,x-payment",
    }
    answer = await case.client.call("OPTIONS", operation.url, headers=headers)
    faults = [] if answer.status == 204 else [f"status {answer.status}"]
    for name, least in (("Methods", _ALLOWED_METHODS), ("Headers", _ALLOWED_HEADERS)):
        words = {one.strip().lower() for one in answer.headers.get(f"Access-Control-Allow-{name}", "").split(",")}
        faults += [] if least <= words else [f"Access-Control-Allow-{name} without {', '.join(sorted(least - words))}"]
    faults += find_origin_faults(answer)
    _expect(case, operation, answer, faults, "a preflight")
    answer = await case.client.call("TRACE", operation.url)
    _expect(case, operation, answer, [] if answer.status == 405 else [f"status {answer.status}"], "TRACE")
