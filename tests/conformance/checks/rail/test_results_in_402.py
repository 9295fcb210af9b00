"""Judgement of 402s that contain more than the payment terms."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import PROFILE, Call, Rail, Reply, run_check

CHECK = "no_402_holds_what_its_request_is_paid_for"
MakeMembers = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def screen_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a request; the result of one that screens no party is always the same."""
    is_blocked = "block" in str(request.get("recipient_address"))
    return {"verdict": "DENY" if is_blocked else "ALLOW", "risk": 9 if is_blocked else 1, "id": "later"}


def make_rail(make_members: MakeMembers) -> Rail:
    """Return a rail whose 402 contains further members about a request."""
    times = iter(range(10**6))

    def change_reply(call: Call, reply: Reply) -> Reply:
        if not call.body:
            return reply
        request = json.loads(call.body)
        if reply.status == 200:
            return Reply(
                200, {**reply.document, "result": {**screen_request(request), "id": next(times)}}, reply.headers
            )
        return Reply(402, {**reply.document, "time": next(times), **make_members(request)}, reply.headers)

    return Rail(change_reply)


LEAKS: Mapping[str, MakeMembers] = {
    "under a name of its own": lambda request: {"preview": screen_request(request)},
    "in a list": lambda request: {"seen": {"before": [{"more": 1, **screen_request(request)}]}},
    "in the document itself": screen_request,
    "where x402 has examples": lambda request: {"extensions": {"bazaar": {"example": screen_request(request)}}},
}
HONEST: Mapping[str, MakeMembers] = {
    "nothing": lambda _: {},
    "the request": lambda request: {"request": request},
    "a part of the request by another name": lambda request: {"for": str(request.get("recipient_address"))[7:]},
    "an example": lambda _: {"preview": screen_request({})},
    "an example where x402 has them": lambda _: {"extensions": {"bazaar": {"example": screen_request({})}}},
    "the request where x402 has it": lambda request: {"extensions": {"bazaar": {"input": request}}},
    "the members' names": lambda request: {
        "schema": {name: type(one).__name__ for name, one in screen_request(request).items()}
    },
    "something else of the request": lambda request: {"preview": {"length": len(str(request)), "verdict": None}},
    "another thing with such members": lambda request: {
        "terms": dict.fromkeys(screen_request(request), len(str(request)))
    },
}


@pytest.mark.parametrize("told", LEAKS.values(), ids=LEAKS)
async def test_a_402_with_its_own_result_fails(told: MakeMembers) -> None:
    """Wherever it stands: what follows two requests as their results do is the result."""
    assert await run_check(CHECK, make_rail(told)) == {"RAIL-402-17": Verdict.FAIL}


async def test_bodies_that_nobody_bound_are_tried_as_well() -> None:
    """The addresses of the specification's examples have different results, where the known body names one."""
    profile = PROFILE.replace('"reference"', '"none"\nservice_word = "weldproof"') + (
        '[rail.services]\ncompliance-receipt = "/pay/v1/compliance/receipt"\n'
        '[rail.bodies.compliance-receipt]\nrecipient_address = "screen-allow"\n'
    )
    assert await run_check(CHECK, make_rail(LEAKS["where x402 has examples"]), profile) == {"RAIL-402-17": Verdict.FAIL}
    assert await run_check(CHECK, make_rail(HONEST["an example"]), profile) == {"RAIL-402-17": Verdict.PASS}


@pytest.mark.parametrize("told", HONEST.values(), ids=HONEST)
async def test_a_402_that_tells_something_else_passes(told: MakeMembers) -> None:
    """Request members, examples, and texts that only look alike are not results."""
    assert await run_check(CHECK, make_rail(told)) == {"RAIL-402-17": Verdict.PASS}


async def test_nothing_is_bought_where_nothing_is_told() -> None:
    """A 402 without further members about its request costs no payment."""
    rail = make_rail(lambda _: {})
    await run_check(CHECK, rail)
    assert rail.paid == set()


async def test_without_a_payer_the_row_stands_as_others_judge_it() -> None:
    """A result that cannot be bought is not compared: the other operations decide."""
    profile = PROFILE.replace('lanes = ["algorand"]', "lanes = []")
    row_verdicts = await run_check(CHECK, make_rail(LEAKS["in a list"]), profile)
    assert row_verdicts == {"RAIL-402-17": Verdict.PASS}
