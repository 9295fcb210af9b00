"""RAIL-RATE-01: the rate limits of a rail, where the target claims the specification (P-RL-05, 5.7 step 2)."""

from __future__ import annotations

from functools import partial
from typing import Final

from conformance.assertions.address_limits import (
    AddressLimit,
    Send,
    disguise,
    judge_bucket,
    judge_counted,
    judge_other_client,
)
from conformance.assertions.rail.specified_refusals import find_error_faults
from conformance.discovery.rail import INDEX
from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.http.client import Answer
from conformance.surfaces import json_rpc
from conformance.surfaces.limited_service import REST_SECONDS
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.limited_rail import LimitedRail, limited_rail

ROW: Final = "RAIL-RATE-01"
# P-RL-05: calls at once from rest, and calls that come back each second.
_LIMIT: Final = AddressLimit(60, 2)
_NO_PROOF: Final = {"X-PAYMENT": "no proof"}
_UNPAID: Final = "calls without X-PAYMENT"
_UNKNOWN_PATH: Final = "/pay/v1/no-such-operation"


@check(
    ROW,
    surface="rail",
    exclusive=Exclusive.LIMITS,
    fix="Count every call under /pay/v1/ and at /a2a by the client's address and by nothing that the client chooses. "
    "Count calls with X-PAYMENT separately. Answer a call too many 429 with Retry-After in whole seconds.",
)
async def calls_are_limited(case: Case) -> None:
    """Calls without and with a proof are each limited to 120 a minute with a depth of 60, by the client's address.

    Sends 110 calls at once without X-PAYMENT to the paid operations and `/a2a`, and 110 with it. Each call names
    another client in fields such as Authorization, X-API-Key, User-Agent and X-Forwarded-For, which must not count.
    Expects of each load that 60 calls and no more than came back meanwhile are served, and that the rest is answered
    429 with code, body and Retry-After. Expects that a call after that wait is served, and that so many calls as come
    back in ten seconds are served after them. While the limit is used up, expects 429 for calls of the index, of an
    unknown path under `/pay/v1/`, by another method and at `/a2a`, no 429 for a client with another address, and 200
    for the documents beside them.
    """
    async with limited_rail(case) as rail:
        if rail is None:
            return
        loads: dict[str, Send] = {
            _UNPAID: lambda number: _call_unpaid(case, rail, number),
            "calls with X-PAYMENT": lambda number: _call_operation(rail, number, _NO_PROOF),
        }
        for name, send in loads.items():
            await judge_bucket(
                case, ROW, name, send, _LIMIT, find_refusal_faults=_find_refusal_faults, advance=rail.advance
            )
            if name == _UNPAID:
                await _judge_others(case, rail)
        document = await rail.call("GET", "/.well-known/x402")
        case.expect(ROW, document.status == 200, "200 for a document", document.status, exchange=document)
        rail.advance(REST_SECONDS)


def _find_refusal_faults(answer: Answer) -> list[str]:
    return find_error_faults(answer, "rate_limited")


async def _call_operation(rail: LimitedRail, number: int, headers: dict[str, str]) -> Answer:
    operation = rail.operations[number % len(rail.operations)]
    return await rail.call("POST", operation.path, json_body=operation.body, headers={**disguise(number), **headers})


async def _call_unpaid(case: Case, rail: LimitedRail, number: int) -> Answer:
    """Send one of the calls that count together: a paid operation by two methods, and a call over A2A."""
    kind = number % 3
    if kind == 1:
        return await rail.call("GET", rail.operations[0].path, headers=disguise(number))
    if kind == 2 and case.profile.claims.includes("rail.a2a"):
        return await _call_task(rail, number)
    return await _call_operation(rail, number, {})


async def _call_task(rail: LimitedRail, number: int) -> Answer:
    body = json_rpc.request("tasks/get", {"id": "no-such-task"}, number)
    return await rail.call("POST", a2a.A2A, json_body=body, headers=disguise(number))


async def _judge_others(case: Case, rail: LimitedRail) -> None:
    """Judge that calls of each other kind are counted with the unpaid calls, whose limit is used up."""
    paths = {
        "calls of the index": INDEX,
        "calls of an unknown path": _UNKNOWN_PATH,
        "calls by GET": rail.operations[-1].path,
    }
    sends: dict[str, Send] = {name: partial(_get, rail, path) for name, path in paths.items()}
    if case.profile.claims.includes("rail.a2a"):
        sends |= {
            "calls of tasks": partial(_call_task, rail),
            "calls of the hint at /a2a": partial(_get, rail, a2a.A2A),
        }
    for name, send in sends.items():
        await judge_counted(case, ROW, name, send, _LIMIT, use_up=partial(_call_operation, rail, headers={}))
    await judge_other_client(case, ROW, "POST", rail.url + rail.operations[0].path)


async def _get(rail: LimitedRail, path: str, number: int) -> Answer:
    return await rail.call("GET", path, headers=disguise(number))
