"""CP-RATE-01: the rate limit of a control plane, if the target claims the specification (P-RL-07)."""

from __future__ import annotations

import asyncio
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
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.control_plane.access import ATB_KEYS, AUDIT, ISSUERS, PKS, POSTURE, SERVICES, Hub
from conformance.surfaces.control_plane.services import HEALTH
from conformance.surfaces.control_plane.starting import started_hub

ROW: Final = "CP-RATE-01"
# P-RL-07: calls at once from rest, and calls that come back each second.
_LIMIT: Final = AddressLimit(60, 2)
# More calls of the administrator than the limit of others lets through at once.
_ADMIN_CALLS: Final = 80
_REST_SECONDS: Final = 2
_EMPTY: Final[Mapping[str, Any]] = {}
_GUESSES: Final[Mapping[str, tuple[str, str, Mapping[str, Any] | None]]] = {
    "guesses at the log": ("GET", AUDIT, None),
    "guesses at issuers": ("POST", ISSUERS, _EMPTY),
    "guesses at a revocation": ("DELETE", f"{ISSUERS}/did:web:nowhere.example", None),
    "guesses at services": ("POST", SERVICES, _EMPTY),
}
_READS: Final[Mapping[str, tuple[str, str, Mapping[str, Any] | None]]] = {
    "reads of the trust set": ("GET", PKS, None),
    "reads of the keys": ("GET", ATB_KEYS, None),
    "reads of the posture": ("GET", POSTURE, None),
    "reads of health": ("GET", HEALTH, None),
    "calls of an unknown path": ("GET", "/v1/no-such", None),
}


@check(
    ROW,
    surface="control_plane",
    self_contained=True,
    fix="Count every call without the admin token by the client's address, whatever token it tries, before the token "
    "is compared. Never count calls with it. Answer a call too many 429 with Retry-After in whole seconds.",
    quick=OWN_PROCESSES,
)
async def guesses_are_limited(case: Case) -> None:
    """Calls without the admin token are limited to 120 a minute with a depth of 60, by the client's address.

    Starts a control plane, and sends it 110 calls at once that guess the token. Each names another client in fields
    such as X-Forwarded-For, which must not count. Expects that 60 calls and no more than came back meanwhile reach the
    token, and that the rest is answered 429 with a text and Retry-After. Expects that a call after that wait is served.
    While the limit is used up, expects 429 for each kind of guesses and reads, 200 for 80 calls with the token, and no
    429 for a client with another address.
    """
    if not case.profile.is_reference:
        case.mark_not_applicable(ROW, "the profile does not claim the specification")
        return
    async with started_hub(case) as instance:
        hub = instance.hub
        if hub.token is None:
            raise Inconclusive("the control plane that was started has no token, which CP-AUTH-08 judges")
        # The calls that waited for its start may have counted.
        await asyncio.sleep(_REST_SECONDS)
        await judge_bucket(
            case,
            ROW,
            "guesses",
            partial(_call, hub, None),
            _LIMIT,
            find_refusal_faults=find_detail_faults,
            advance=None,
        )
        for name in (*_GUESSES, *_READS):
            await judge_counted(case, ROW, name, partial(_call, hub, name), _LIMIT, use_up=partial(_call, hub, None))
        await judge_other_client(case, ROW, "POST", hub.url + ISSUERS)
        answers = [await hub.admin("GET", AUDIT, patient=False) for _ in range(_ADMIN_CALLS)]
        statuses = sorted({one.status for one in answers})
        case.expect(ROW, statuses == [200], "200 for each call with the token", statuses, exchange=answers[-1])


async def _call(hub: Hub, name: str | None, number: int) -> Answer:
    """Send one call of a kind; without a name, of each kind of guesses in turn."""
    calls = {**_GUESSES, **_READS}
    method, path, body = list(_GUESSES.values())[number % len(_GUESSES)] if name is None else calls[name]
    return await hub.call(method, path, json_body=body, headers=disguise(number), patient=False)
