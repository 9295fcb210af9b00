"""GW-RATE-08: depth, refill and callers of each limit of a gateway, if it claims the specification (1.1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from conformance.assertions.gateway.limits import select_throttled
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.http.client import Answer
from conformance.oracles.conventional_answers import find_rate_faults
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import CHECKOUT, LINKS, RECEIPT_VERIFY, RESOURCES, SCREEN, link_body, token_of
from conformance.surfaces.gateway.key_documents import JWKS
from conformance.surfaces.gateway.rate_limited_gateway import LimitedGateway, limited_gateway

ROW: Final = "GW-RATE-08"
ORDER_ROW: Final = "GW-ERR-07"
_AT_ONCE: Final = 20
_UNKNOWN_TOKEN: Final = "A" * 22
_REFILL_SECONDS: Final = 10
_PROBES: Final = 40

# Calls before each faulty one, so that a limit is surely exhausted, and faulty calls.
_TOP_UP, _FAULTY = 12, 8
_THROTTLED: Final = 429
_LARGE_BODY: Final = b'{"a":"' + b"x" * 70_000 + b'"}'
_JSON: Final = {"content-type": "application/json"}
_TEXT: Final = {"content-type": "text/plain"}

Send = Callable[[], Awaitable[Answer]]


@check(
    ROW,
    ORDER_ROW,
    surface="gateway",
    exclusive=Exclusive.LIMITS,
    fix="Count open calls by address, tenants by tenant, checkouts by token and verifications separately, each in a "
    "bucket of its depth, and no probe at all.",
)
async def limits_have_their_depth_and_their_callers(case: Case) -> None:
    """Each limit of the gateway has the depth and the refill of 1.1, counts its own calls, and lets probes pass.

    Sends from rest as many open calls as the bucket holds. Expects that all are served, and a 429 for some of as many
    again and more. Does so after ten seconds, in which the bucket refills. While open calls are refused, sends probes,
    120 verifications at once, and calls of a checkout. Expects that none is refused, and that some calls with an
    unknown token and with another X-Forwarded-For are. Empties the bucket of the checkout and of a tenant in the same
    way. Expects of every 429 a whole number of seconds to wait, and of each answer the three fields of its limit.

    While calls of an address are refused, and then those of a tenant, sends calls with a further fault. Expects the
    refusal of the check that comes first in 3.1: of route and method before both limits, of size and credential between
    them, and of the media type and the JSON after both.
    """
    async with limited_gateway(case) as service:
        tenant = service.tenant("first")
        link = await service.call("POST", LINKS, json_body=link_body(case, tenant), headers=tenant.headers)
        token = token_of(link)
        if token is None:
            raise Inconclusive("no link with a token was created, which GW-LINK judges")
        await service.advance(61)

        def get(path: str, headers: Mapping[str, str] | None = None) -> Send:
            return lambda: service.call("GET", path, headers=headers)

        await _judge_bucket(case, service, get(JWKS), "open calls", depth=30, per_second=2)
        await _judge_others(case, service, f"{CHECKOUT}{token}/status")
        await service.advance(61)
        await _judge_bucket(
            case, service, get(f"{CHECKOUT}{token}/status"), "calls of a checkout", depth=60, per_second=1
        )
        await service.advance(61)
        resource = get(f"{RESOURCES}/no-such-resource", tenant.headers)
        await _judge_bucket(case, service, resource, "calls of a tenant", depth=60, per_second=5)
        await service.advance(61)
        own = dict(tenant.headers)
        await _send(get(JWKS), 60)
        await _judge_order(case, service, get(JWKS), "address", _list_faults_beyond_address())
        await service.advance(61)
        await _send(resource, 100)
        await _judge_order(case, service, resource, "tenant", _list_faults_beyond_tenant(own))


async def _send(send: Send, count: int) -> list[Answer]:
    return await run_concurrently((send() for _ in range(count)), at_once=_AT_ONCE)


async def _judge_bucket(
    case: Case, service: LimitedGateway, send: Send, name: str, *, depth: int, per_second: int
) -> None:
    """Judge a bucket from rest: its depth, and what ten seconds refill."""
    for served_count, when in ((depth, "from rest"), (per_second * _REFILL_SECONDS, "after ten seconds")):
        start_time = service.now
        served = await _send(send, served_count)
        _judge_served(case, served, f"{served_count} {name} {when}")
        # More calls than the bucket can refill while they are sent.
        further = await _send(send, served_count + 20 * per_second)
        refusals = select_throttled(further)
        seconds = service.now - start_time
        if not refusals and seconds * per_second >= len(further):
            raise Inconclusive(f"{name}: calls took {seconds:.0f} s: too slow from here to reach the limit")
        where = {"calls": f"{len(further)} more {name} {when}"}
        finding = f"{len(refusals)} of {len(further)}"
        case.expect(ROW, bool(refusals), "429 for some", finding, exchange=further[-1], where=where)
        _judge_refusals(case, refusals, name)
        # The bucket is empty now, up to the time that the calls took.
        await service.advance(_REFILL_SECONDS)


def _judge_served(case: Case, answers: Sequence[Answer], name: str, *, is_counted: bool = True) -> None:
    refusals = select_throttled(answers)
    finding = f"{len(refusals)} of {len(answers)}"
    shown = (refusals or list(answers))[0]
    case.expect(ROW, not refusals, "no 429", finding, exchange=shown, where={"calls": name})
    faults = find_rate_faults(shown.headers) if is_counted else []
    case.expect(ROW, not faults, "the fields of 1.1", "; ".join(faults) or "so", exchange=shown, where={"calls": name})


def _judge_refusals(case: Case, refusals: Sequence[Answer], name: str) -> None:
    for answer in refusals[:3]:
        value = answer.headers.get("Retry-After", "")
        faults = find_rate_faults(answer.headers)
        faults += [] if value.isdecimal() and int(value) >= 1 else [f"Retry-After {value!r}"]
        where = {"refused": name}
        case.expect(ROW, not faults, "the fields of 1.1", "; ".join(faults) or "so", exchange=answer, where=where)


async def _judge_others(case: Case, service: LimitedGateway, status_path: str) -> None:
    """Judge, while open calls are refused, which calls are counted with them."""
    body: Mapping[str, Any] = {"jws": "e30.e30.AA"}

    def get(path: str, headers: Mapping[str, str] | None = None) -> Send:
        return lambda: service.call("GET", path, headers=headers)

    await _send(get(JWKS), 60)
    for word in ("live", "ready"):
        probes = await _send(get(f"/health/{word}"), _PROBES)
        _judge_served(case, probes, f"{_PROBES} probes of /health/{word}", is_counted=False)
        is_right = all(answer.status == 200 for answer in probes)
        statuses = sorted({answer.status for answer in probes})
        case.expect(ROW, is_right, "200", statuses, exchange=probes[0], where={"calls": f"/health/{word}"})
    verifications = await _send(lambda: service.call("POST", RECEIPT_VERIFY, json_body=dict(body)), 120)
    _judge_served(case, verifications, "120 verifications at once")
    _judge_served(case, await _send(get(status_path), 60), "60 calls of a checkout at once")
    for name, send in {
        "calls with an unknown token": get(f"{CHECKOUT}{_UNKNOWN_TOKEN}/status"),
        "open calls with another X-Forwarded-For": get(JWKS, {"X-Forwarded-For": "203.0.113.9"}),
    }.items():
        await _send(get(JWKS), 60)
        start_time, answers = service.now, await _send(send, 60)
        refusals, seconds = select_throttled(answers), service.now - start_time
        # A separate bucket for these calls would hold thirty; the common one holds what it refilled meanwhile.
        if seconds * 2 >= len(answers) - 35:
            raise Inconclusive(f"{name}: calls took {seconds:.0f} s: too slow from here to reach the limit")
        finding, where = f"{len(refusals)} of {len(answers)}", {"calls": name}
        is_shared = len(answers) - len(refusals) <= seconds * 2 + 5
        requirement = "429 for all but what the bucket refilled"
        case.expect(ROW, is_shared, requirement, finding, exchange=answers[-1], where=where)


# A faulty call and the status that is due for it: 429 if the limit comes before the check of the fault.
Fault = tuple[str, str, bytes | None, Mapping[str, str], int]


def _list_faults_beyond_address() -> Mapping[str, Fault]:
    return {
        "route": ("GET", "/v1/no-such-thing", None, {}, 404),
        "method": ("DELETE", JWKS, None, {}, 405),
        "size": ("POST", LINKS, _LARGE_BODY, _JSON, _THROTTLED),
        "credential": ("POST", LINKS, b"{}", _JSON, _THROTTLED),
        "media type": ("POST", SCREEN, b"{}", _TEXT, _THROTTLED),
    }


def _list_faults_beyond_tenant(own: Mapping[str, str]) -> Mapping[str, Fault]:
    return {
        "method": ("PUT", LINKS, b"{}", {**own, **_JSON}, 405),
        "size": ("POST", LINKS, _LARGE_BODY, {**own, **_JSON}, 413),
        "key": ("POST", LINKS, b"{}", {**own, **_JSON, "Authorization": "Bearer " + "A" * 48}, 401),
        "media type": ("POST", LINKS, b"{}", {**own, **_TEXT}, _THROTTLED),
        "JSON": ("POST", LINKS, b"{", {**own, **_JSON}, _THROTTLED),
    }


async def _judge_order(
    case: Case, service: LimitedGateway, send: Send, owner: str, faults: Mapping[str, Fault]
) -> None:
    """Judge calls with a fault of another check beyond the limit of an owner, which is exhausted."""
    for name, (method, path, body, headers, status) in faults.items():
        start_time, drained = service.now, select_throttled(await _send(send, _TOP_UP))
        answers = await _send(lambda: service.call(method, path, body=body, headers=headers), _FAULTY)  # noqa: B023 - it is sent in this round
        where = {"faults": f"rate of the {owner}, {name}"}
        statuses = sorted({answer.status for answer in answers})
        is_beyond = bool(drained) and service.now - start_time <= 1.0
        if status == _THROTTLED and _THROTTLED not in statuses and not is_beyond:
            # What refilled meanwhile lets calls through, whose other fault is answered then.
            case.note(f"{where['faults']}: too slow from here to be beyond the limit")
            continue
        is_right = status in statuses if status == _THROTTLED else statuses == [status]
        case.expect(ORDER_ROW, is_right, str(status), statuses, exchange=answers[0], where=where)
