"""What the check of early results makes of what a 402 tells beside its terms."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import PROFILE, Call, Rail, Reply, judged

CHECK = "no_402_holds_what_its_request_is_paid_for"
Told = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def screened(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a request; the result of one that screens no party is always the same."""
    blocked = "block" in str(request.get("recipient_address"))
    return {"verdict": "DENY" if blocked else "ALLOW", "risk": 9 if blocked else 1, "id": "later"}


def telling(told: Told) -> Rail:
    """Return a rail whose 402 tells more of a request."""
    times = iter(range(10**6))

    def changed(call: Call, reply: Reply) -> Reply:
        if not call.body:
            return reply
        request = json.loads(call.body)
        if reply.status == 200:
            return Reply(200, {**reply.document, "result": {**screened(request), "id": next(times)}}, reply.headers)
        return Reply(402, {**reply.document, "time": next(times), **told(request)}, reply.headers)

    return Rail(changed)


LEAKS: Mapping[str, Told] = {
    "under a name of its own": lambda request: {"preview": screened(request)},
    "in a list": lambda request: {"seen": {"before": [{"more": 1, **screened(request)}]}},
    "in the document itself": screened,
    "where x402 has examples": lambda request: {"extensions": {"bazaar": {"example": screened(request)}}},
}
HONEST: Mapping[str, Told] = {
    "nothing": lambda _: {},
    "the request": lambda request: {"request": request},
    "a part of the request by another name": lambda request: {"for": str(request.get("recipient_address"))[7:]},
    "an example": lambda _: {"preview": screened({})},
    "an example where x402 has them": lambda _: {"extensions": {"bazaar": {"example": screened({})}}},
    "the request where x402 has it": lambda request: {"extensions": {"bazaar": {"input": request}}},
    "the members' names": lambda request: {
        "schema": {name: type(one).__name__ for name, one in screened(request).items()}
    },
    "something else of the request": lambda request: {"preview": {"length": len(str(request)), "verdict": None}},
    "another thing with such members": lambda request: {"terms": dict.fromkeys(screened(request), len(str(request)))},
}


@pytest.mark.parametrize("told", LEAKS.values(), ids=LEAKS)
async def test_a_402_with_its_own_result_fails(told: Told) -> None:
    """Wherever it stands: what follows two requests as their results do is the result."""
    assert await judged(CHECK, telling(told)) == {"RAIL-402-17": Verdict.FAIL}


async def test_bodies_that_nobody_bound_are_tried_as_well() -> None:
    """The addresses of the specification's examples have different results, where the known body names one."""
    profile = PROFILE.replace('"reference"', '"none"\nservice_word = "weldproof"') + (
        '[rail.services]\ncompliance-receipt = "/pay/v1/compliance/receipt"\n'
        '[rail.bodies.compliance-receipt]\nrecipient_address = "screen-allow"\n'
    )
    assert await judged(CHECK, telling(LEAKS["where x402 has examples"]), profile) == {"RAIL-402-17": Verdict.FAIL}
    assert await judged(CHECK, telling(HONEST["an example"]), profile) == {"RAIL-402-17": Verdict.PASS}


@pytest.mark.parametrize("told", HONEST.values(), ids=HONEST)
async def test_a_402_that_tells_something_else_passes(told: Told) -> None:
    """Request members, examples, and texts that only look alike are not results."""
    assert await judged(CHECK, telling(told)) == {"RAIL-402-17": Verdict.PASS}


async def test_nothing_is_bought_where_nothing_is_told() -> None:
    """A 402 that tells nothing of its request costs no payment."""
    rail = telling(lambda _: {})
    await judged(CHECK, rail)
    assert rail.paid == set()


async def test_without_a_payer_the_row_stands_as_others_judge_it() -> None:
    """A result that cannot be bought is not compared: the other operations decide."""
    profile = PROFILE.replace('lanes = ["algorand"]', "lanes = []")
    found = await judged(CHECK, telling(LEAKS["in a list"]), profile)
    assert found == {"RAIL-402-17": Verdict.PASS}
