"""RAIL-402-13, RAIL-DISC-14: account credentials change neither unpaid calls nor documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.surfaces import json_rpc
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.unpaid_answers import entries

_KEY = "weld_0123456789012345678901234567890123456789012"
_TENANT = "3f2c1b9e-4a7d-4d6b-9f6e-2b1a0c9d8e7f"
# Credentials that a client of the other surfaces or of another service would send by habit, in every usual place.
ACCOUNT_CREDENTIALS: Mapping[str, Mapping[str, str]] = {
    "an API key and a tenant": {"Authorization": f"Bearer {_KEY}", "X-Tenant-Id": _TENANT},
    "an API key alone": {"Authorization": f"Bearer {_KEY}"},
    "a tenant alone": {"X-Tenant-Id": _TENANT},
    "a secret key": {"Authorization": "Bearer sk_live_51H8x0123456789abcdefghijklmnopqrst"},
    "a token of an identity provider": {
        "Authorization": "Bearer eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZG1pbiIsImV4cCI6NDEwMjQ0NDgwMH0.c2lnbmF0dXJl"
    },
    "a name and a password": {"Authorization": "Basic YWRtaW46YWRtaW4="},
    "a key in X-API-Key": {"X-API-Key": _KEY},
    "a key in Api-Key": {"Api-Key": _KEY},
    "a token in X-Auth-Token": {"X-Auth-Token": _KEY},
    "a proxy's credential": {"Proxy-Authorization": "Basic YWRtaW46YWRtaW4="},
    "a session cookie": {"Cookie": "session=0123456789abcdef0123456789abcdef; logged_in=1"},
    "an unreadable credential": {"Authorization": "Bearer"},
}
# Offers are compared this many times, with a credential and without. A price may change, and a lane may become
# unavailable, for other reasons.
_COMPARISONS: Final = 3
_DOCUMENTS: Final = (
    "/pay/v1/index",
    "/.well-known/x402",
    "/discovery/resources",
    "/openapi.json",
    "/.well-known/did.json",
    "/.well-known/jwks.json",
)
# The price of a call: network, asset and amount of each lane.
_Offer = frozenset[tuple[str, str, str]]


@check(
    "RAIL-402-13",
    surface="rail",
    fix="Do not read account credentials on the rail: the payment is the only credential.",
)
async def account_credentials_change_nothing(case: Case) -> None:
    """An account credential turns 402 neither into 200 nor into 401 or 403, and does not change a price.

    Sends unpaid calls with API keys, tenant ids, Bearer and Basic credentials, cookies and unreadable ones. Expects 402
    with accepts each time, with the same lanes and prices as without a credential.
    """

    async def attempt(operation: Operation, plain: Answer, name: str) -> None:
        headers, where = ACCOUNT_CREDENTIALS[name], {"operation": operation.path, "credential": name}
        answer = await case.client.call("POST", operation.url, json_body=operation.body, headers=headers)
        holds = answer.status == 402 and bool(entries(answer))
        # 401 and 403 would tell the client to sign in, although the payment is the only credential on the rail (5.1).
        expectation = "402 with accepts, as without a credential"
        finding = f"{answer.status} with {len(entries(answer))} accepts entries"
        case.expect("RAIL-402-13", holds, expectation, finding, exchange=answer, where=where)
        if holds and _read_offer(answer) != _read_offer(plain) and await _always_differs(case, operation, headers):
            differences = sorted(_read_offer(answer) ^ _read_offer(plain))
            expectation = "the same prices as without a credential"
            case.expect("RAIL-402-13", False, expectation, differences, exchange=answer, where=where)

    for operation in case.session.catalog.operations:
        plain = await case.client.call("POST", operation.url, json_body=operation.body)
        await run_concurrently(attempt(operation, plain, name) for name in ACCOUNT_CREDENTIALS)


@check(
    "RAIL-DISC-14",
    surface="rail",
    fix="Do not read account credentials on the rail: documents and tasks are the same for every client.",
)
async def account_credentials_change_no_document(case: Case) -> None:
    """An account credential changes no document, and no task over A2A.

    Fetches each document without and with account credentials, and orders a service over A2A with them. Expects the
    same bytes of each document, and a task with the same lanes and prices.
    """
    paths = [*_DOCUMENTS, *([a2a.CARD] if case.profile.claims.includes("rail.agent_card") else [])]

    async def judge_document(path: str) -> None:
        plain = await case.client.call("GET", case.session.rail + path)
        for name, headers in ACCOUNT_CREDENTIALS.items():
            answer = await case.client.call("GET", case.session.rail + path, headers=headers)
            holds, finding = (answer.status, answer.body) == (plain.status, plain.body), f"{answer.status}, other bytes"
            where = {"place": path, "credential": name}
            expectation = "the same bytes as without a credential"
            case.expect("RAIL-DISC-14", holds, expectation, "so" if holds else finding, exchange=answer, where=where)

    await run_concurrently(map(judge_document, paths))
    if case.profile.claims.includes("rail.a2a"):
        await _judge_tasks(case)


async def _judge_tasks(case: Case) -> None:
    """Judge that an order over A2A with an account credential makes a task with the same lanes and prices."""
    operation = case.session.catalog.operations[0]
    plain = _read_entries((await a2a.order_service(case, operation)).entries)
    for name, headers in ACCOUNT_CREDENTIALS.items():
        params = json_rpc.message(a2a.orders(case, operation)[0], a2a.name_message(case))
        address = case.session.rail + a2a.A2A
        answer = await json_rpc.call(case, address, "message/send", params, headers=headers)
        task = a2a.task_of(a2a.name_live_values(case, answer))
        holds = task.asks_for_payment and _read_entries(task.entries) == plain
        where, expectation = {"place": a2a.A2A, "credential": name}, "the same offer as without a credential"
        case.expect("RAIL-DISC-14", holds, expectation, task.describe(), exchange=answer, where=where)


def _read_offer(answer: Answer) -> _Offer:
    return _read_entries(entries(answer))


def _read_entries(accepts: Sequence[Mapping[str, Any]]) -> _Offer:
    members = ("network", "asset", "maxAmountRequired")
    return frozenset((str(one.get(members[0])), str(one.get(members[1])), str(one.get(members[2]))) for one in accepts)


async def _always_differs(case: Case, operation: Operation, headers: Mapping[str, str]) -> bool:
    """Return whether the offers with a credential differ each time from those without one, which are all equal."""

    async def fetch_offer(**options: Any) -> _Offer:
        return _read_offer(
            await case.client.call("POST", operation.url, json_body=operation.body, retry=True, **options)
        )

    pairs = [(await fetch_offer(), await fetch_offer(headers=headers)) for _ in range(_COMPARISONS)]
    without = {plain for plain, _ in pairs}
    return len(without) == 1 and without.isdisjoint(other for _, other in pairs)
