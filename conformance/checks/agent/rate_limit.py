"""AGENT-RATE-01: the rate limit of an agent, if the target claims the specification (P-RL-06)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from conformance.assertions.address_limits import (
    AddressLimit,
    disguise,
    find_detail_faults,
    judge_bucket,
    judge_counted,
    judge_other_client,
)
from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.http.client import Answer
from conformance.surfaces.agent import A2A, CARD, EXPLAIN, HEALTH, LANDING_PAGE, SIGN, VERIFY
from conformance.surfaces.limited_service import REST_SECONDS, LimitedService, open_limited_service

ROW: Final = "AGENT-RATE-01"
# P-RL-06: calls at once from rest, and calls that come back each second.
_LIMIT: Final = AddressLimit(60, 1)
_PROBES: Final = 20
_EMPTY: Final[Mapping[str, Any]] = {}
# Calls that each end without work, and are counted all the same.
_CALLS: Final[Mapping[str, tuple[str, str, Mapping[str, Any] | None]]] = {
    "verifications": ("POST", VERIFY, _EMPTY),
    "explanations": ("POST", EXPLAIN, _EMPTY),
    "demos": ("POST", SIGN, _EMPTY),
    "messages": ("POST", A2A, _EMPTY),
    "health": ("GET", HEALTH, None),
    "the card": ("GET", CARD, None),
    "the landing document": ("GET", LANDING_PAGE, None),
    "an unknown path": ("GET", "/no/such/path", None),
}


@check(
    ROW,
    surface="agent",
    exclusive=Exclusive.LIMITS,
    fix="Count every call but the probes by the client's address and by nothing that the client chooses. Answer a call "
    "too many 429 with Retry-After in whole seconds.",
)
async def calls_of_an_agent_are_limited(case: Case) -> None:
    """Calls of an agent are limited to 60 a minute with a depth of 60, by the client's address.

    Sends 110 calls at once to all operations and to an unknown path. Each names another client in fields such as
    Authorization and X-Forwarded-For, which must not count. Expects that 60 calls and no more than came back meanwhile
    are served, and that the rest is answered 429 with a text and Retry-After. Expects that a call after that wait is
    served, and that so many calls as come back in ten seconds are served after it. While the limit is used up, expects
    429 for each kind of calls, 200 for probes, and no 429 for a client with another address.
    """
    async with open_limited_service(case, "agent") as table:
        if table is None:
            return
        agent = LimitedService(case, table)
        await judge_bucket(
            case,
            ROW,
            "calls",
            partial(_call, agent, None),
            _LIMIT,
            find_refusal_faults=find_detail_faults,
            advance=agent.advance,
        )
        for name in _CALLS:
            await judge_counted(
                case, ROW, f"calls of {name}", partial(_call, agent, name), _LIMIT, use_up=partial(_call, agent, None)
            )
        await judge_other_client(case, ROW, "POST", agent.url + VERIFY)
        probes = [await agent.call("GET", "/health/live") for _ in range(_PROBES)]
        statuses = sorted({one.status for one in probes})
        case.expect(ROW, statuses == [200], "200 for each probe", statuses, exchange=probes[-1])
        agent.advance(REST_SECONDS)


async def _call(agent: LimitedService, name: str | None, number: int) -> Answer:
    """Send one call of a kind; without a name, of each kind in turn."""
    method, path, body = list(_CALLS.values())[number % len(_CALLS)] if name is None else _CALLS[name]
    return await agent.call(method, path, json_body=body, headers=disguise(number))
