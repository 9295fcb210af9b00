"""RAIL-RATE-01: the rate limits of a rail, where the target claims the specification (P-RL-05, 5.7 step 2)."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from conformance.assertions.rail.specified_refusals import find_error_faults
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces import json_rpc
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.limited_rail import REST_SECONDS, LimitedRail, limited_rail

ROW: Final = "RAIL-RATE-01"
# P-RL-05: calls at once from rest, and calls that come back each second.
_DEPTH, _REFILL = 60, 2
_LOAD = 110
_AT_ONCE = 16
# By then so many calls have come back that a load of this size meets no 429.
_LONGEST_LOAD_SECONDS = (_LOAD - _DEPTH) / _REFILL / 2
_LONGEST_WAIT_SECONDS = 60
_PAUSE_SECONDS = 10
_NO_PROOF: Final = {"X-PAYMENT": "no proof"}

Send = Callable[[int], Awaitable[Answer]]


@check(
    ROW,
    surface="rail",
    exclusive=Exclusive.LIMITS,
    fix="Count calls by the client's address and by nothing that the client chooses. Count calls with X-PAYMENT "
    "separately. Answer a call too many 429 with Retry-After in whole seconds.",
)
async def calls_are_limited(case: Case) -> None:
    """Calls without and with a proof are each limited to 120 a minute with a depth of 60, by the client's address.

    Sends 110 calls at once without X-PAYMENT, to the paid operations and `/a2a`, and 110 with it. Each call names
    another client in fields such as Authorization, X-API-Key, User-Agent and X-Forwarded-For, which must not
    count. Expects of each load that 60 calls and no more than came back meanwhile are served, and that the rest is
    answered 429 with code, body and Retry-After. Expects that a call after that wait is served, that so many calls as
    come back in ten seconds are served after them, and that documents are served meanwhile.
    """
    async with limited_rail(case) as rail:
        if rail is None:
            return
        loads: dict[str, Send] = {
            "calls without X-PAYMENT": lambda number: _call_unpaid(case, rail, number),
            "calls with X-PAYMENT": lambda number: _call_operation(rail, number, _NO_PROOF),
        }
        for name, send in loads.items():
            await _judge_load(case, rail, name, send)
        document = await rail.call("GET", "/.well-known/x402")
        case.expect(ROW, document.status == 200, "200 for a document", document.status, exchange=document)
        rail.advance(REST_SECONDS)


def _disguise(number: int) -> dict[str, str]:
    """Return fields that name another client for each number."""
    return {
        "Authorization": f"Bearer client-{number}",
        "X-API-Key": f"client-{number}",
        "X-Tenant-Id": f"client-{number}",
        "User-Agent": f"client/{number}",
        "X-Forwarded-For": f"203.0.113.{number}",
        "Forwarded": f"for=203.0.113.{number}",
        "X-Real-IP": f"203.0.113.{number}",
    }


async def _call_operation(rail: LimitedRail, number: int, headers: dict[str, str]) -> Answer:
    operation = rail.operations[number % len(rail.operations)]
    return await rail.call("POST", operation.path, json_body=operation.body, headers={**_disguise(number), **headers})


async def _call_unpaid(case: Case, rail: LimitedRail, number: int) -> Answer:
    """Send one of the calls that count together: a paid operation by two methods, and a call over A2A."""
    kind = number % 3
    if kind == 1:
        return await rail.call("GET", rail.operations[0].path, headers=_disguise(number))
    if kind == 2 and case.profile.claims.includes("rail.a2a"):
        body = json_rpc.request("tasks/get", {"id": "no-such-task"}, number)
        return await rail.call("POST", a2a.A2A, json_body=body, headers=_disguise(number))
    return await _call_operation(rail, number, {})


async def _judge_load(case: Case, rail: LimitedRail, name: str, send: Send) -> None:
    start = time.monotonic()
    answers = await run_concurrently(map(send, range(_LOAD)), at_once=_AT_ONCE)
    _judge_served(case, name, answers, _DEPTH, time.monotonic() - start)
    refusals = [one for one in answers if one.status == 429]
    for answer in refusals:
        faults = _find_refusal_faults(answer)
        expectation = "429 rate_limited with Retry-After in seconds, as P-ER-04 says"
        case.expect(ROW, not faults, expectation, "; ".join(faults) or "so", exchange=answer, where={"calls": name})
    value = refusals[-1].headers.get("Retry-After", "") if refusals else ""
    if not re.fullmatch("[0-9]{1,9}", value):
        return
    rail.advance(min(int(value), _LONGEST_WAIT_SECONDS))
    answer = await send(0)
    finding = f"{answer.status} after {value} s"
    case.expect(ROW, answer.status != 429, "no 429 after Retry-After", finding, exchange=answer, where={"calls": name})
    start = time.monotonic()
    rail.advance(_PAUSE_SECONDS)
    answers = await run_concurrently(map(send, range(_LOAD)), at_once=_AT_ONCE)
    # The first load left less than one call, and Retry-After was waited for.
    seconds = _PAUSE_SECONDS + _LONGEST_WAIT_SECONDS if int(value) > _REFILL else _PAUSE_SECONDS
    _judge_served(case, f"{name}, {_PAUSE_SECONDS} s later", answers, seconds * _REFILL, time.monotonic() - start)


def _judge_served(case: Case, name: str, answers: Sequence[Answer], count: int, seconds: float) -> None:
    """Judge that `count` calls and those that came back in `seconds` were not answered 429."""
    if seconds > _LONGEST_LOAD_SECONDS:
        raise Inconclusive(f"{len(answers)} {name} took {seconds:.0f} s: too slow from here to reach the limit")
    served_count = sum(one.status != 429 for one in answers)
    # One more for the part of a call that was left before, and two for the time between the calls and this clock.
    most = count + _REFILL * (seconds + 2) + 1
    shown = next((one for one in answers if one.status == 429), answers[-1])
    expectation = f"{count} to {most:.0f} of {len(answers)} served"
    case.expect(
        ROW, count <= served_count <= most, expectation, f"{served_count}", exchange=shown, where={"calls": name}
    )


def _find_refusal_faults(answer: Answer) -> list[str]:
    value = answer.headers.get("Retry-After", "none")
    is_seconds = bool(re.fullmatch("[1-9][0-9]?", value)) and int(value) <= _LONGEST_WAIT_SECONDS
    faults = [] if is_seconds else [f"Retry-After {value}"]
    return faults + find_error_faults(answer, "rate_limited")
