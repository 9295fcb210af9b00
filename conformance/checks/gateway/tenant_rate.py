"""GW-RATE: a tenant's rate, 300 a minute with a burst of 60.

Whether that is a bucket or a window is open (C-09). Under both readings 60 concurrent calls pass from rest, and more
than 360 in any minute do not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.assertions.gateway.limits import (
    MINUTE,
    judge_throttled,
    read_retry_after,
    require_quick_calls,
    select_throttled,
)
from conformance.assertions.gateway.nothing_created import judge_nothing_created
from conformance.assertions.gateway.refusals import ROW as CODE_ROW
from conformance.assertions.gateway.refusals import Refusal, judge_refusal
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer, Unreachable
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import (
    LINKS,
    RESOURCES,
    Caller,
    Creation,
    bodies,
    brief,
    create,
    is_created,
    link_body,
    name_live_values,
    new_text,
    post,
    resource_body,
)
from conformance.surfaces.gateway.rate_limited_gateway import LimitedGateway, limited_gateway

# One call more than the burst of 60 and the 300 of a minute together.
BURST, CALLS_IN_A_MINUTE = 60, 361
# A burst and nine rounds of 34 calls, six seconds apart: 366 calls in 54 seconds. A limiter that lets all of them pass
# refills at least 5.67 calls a second, and so more than the 5 that are allowed.
_ROUNDS, _ROUND_SIZE, _APART = 9, 34, 6.0
# As many as the burst, so that the suite's own concurrency never spreads the burst over time.
_AT_ONCE = 60
_SAMPLE_SIZE = 3
# Calls of a tenant that another one must not throttle, far fewer than its burst.
_FEW_CALLS = 10
_HOUR_SECONDS = 3600.0
# Calls that a tenant may make in any minute, sustained (P-RL-01).
_SUSTAINED_CALLS = 300
# Networks that are reserved for documentation (RFC 5737), so that no real client is named.
_EXAMPLE_NETWORKS = ("198.51.100", "203.0.113", "192.0.2")
# Seconds that are added to a wait: an HTTP date has whole seconds, and is by the target's own clock.
_CLOCKS_APART = 1.0
_FIX = (
    "Count every authenticated call of a tenant together, whatever its key, endpoint and headers: 60 at once, 300 a "
    "minute. Answer further calls 429 with Retry-After and the envelope."
)


@dataclass(frozen=True, slots=True)
class ClientDisguises:
    """The variations of a tenant's calls that must still count for it: its keys, and proxies' header fields.

    Attributes:
        tenant: The tenant, with one of its keys.
        keys: The tenant with each of its test keys, over and over.
        live: The tenant with a live key, for calls that a key of either mode may make; None if it has none.
        clients: Numbers of the clients that the forwarding fields name, one for each call; None if they are not sent.
        what: These in words, for the reader.
    """

    tenant: Credentials
    keys: Iterator[Credentials]
    live: Credentials | None
    clients: Iterator[int] | None
    what: str


async def send_burst(
    case: Case, service: LimitedGateway, tenant: Credentials, count: int, disguises: ClientDisguises | None = None
) -> list[Answer]:
    """Send `count` concurrent calls of a tenant, over the endpoints in turn, and return the answers.

    They are plain creations, so that only the limit may refuse them.
    """
    creations = _build_creations(case, tenant, count, with_keys=False)
    if disguises is not None:
        creations = [_choose_key(one, disguises) for one in creations]
    clients = None if disguises is None else disguises.clients
    calls = (
        post(service.call if clients is None else _make_forwarding_caller(service, next(clients)), one)
        for one in creations
    )
    return [name_live_values(case, answer) for answer in await run_concurrently(calls, at_once=_AT_ONCE)]


def _choose_key(creation: Creation, disguises: ClientDisguises) -> Creation:
    """Return a creation with another key of its tenant; a live key creates resources, which are of no network."""
    if creation.path == RESOURCES and disguises.live is not None:
        return replace(creation, tenant=disguises.live)
    return replace(creation, tenant=next(disguises.keys))


async def _find_disguises(case: Case, service: LimitedGateway) -> ClientDisguises:
    """Return the variations of a tenant's calls with which plain calls succeed.

    Raises:
        Inconclusive: A plain call does not succeed.
    """
    tenant, numbers = service.tenant("first"), itertools.count()
    plain_creation = Creation(LINKS, link_body(case, tenant), tenant)
    await create(case, plain_creation, service.call)
    is_forwarded = is_created(
        case, name_live_values(case, await post(_make_forwarding_caller(service, next(numbers)), plain_creation))
    )
    keys, live = await _create_keys(case, service, plain_creation)
    variations = ["with two keys in turn"] if keys[1:] else []
    variations += ["with a live key for resources"] if live is not None else []
    variations += ["forwarded for as many clients"] if is_forwarded else []
    return ClientDisguises(
        keys[0],
        itertools.cycle(keys),
        live,
        numbers if is_forwarded else None,
        "".join(f", {one}" for one in variations),
    )


async def _create_keys(
    case: Case, service: LimitedGateway, plain_creation: Creation
) -> tuple[Sequence[Credentials], Credentials | None]:
    """Create an approved tenant with two test keys and a live key, with which plain calls succeed.

    Returns:
        The tenant with its test keys, and with its live key if that creates resources. If no tenant can be created,
        the tenant of the plain creation alone.
    """
    tenant = plain_creation.tenant
    try:
        admin = service.find_administrator()
        if admin is None:
            return [tenant], None
        own = await admin.create_tenant("Weldproof rate", tenant.payout)
        await admin.approve(own)
        keys = [own, await admin.add_key(own, "test")]
        live = await admin.add_key(own, "live")
        for key in keys:
            await create(case, replace(plain_creation, tenant=key), service.call)
        if case.profile.gateway_bindings.resource_body is None:
            return keys, None
        answer = await post(service.call, Creation(RESOURCES, resource_body(case), live))
    except (Inconclusive, Unreachable) as reason:
        case.note(f"the rate is judged with one key of the tenant: {reason}")
        return [tenant], None
    return keys, live if is_created(case, name_live_values(case, answer)) else None


def _make_forwarding_caller(service: LimitedGateway, client: int) -> Caller:
    """Return a caller that sends the fields by which a proxy names the client whose call it forwards."""
    address = f"{_EXAMPLE_NETWORKS[client // 250 % len(_EXAMPLE_NETWORKS)]}.{client % 250 + 1}"
    # A limiter that counts by such a field counts each of these calls for another client, and so never refuses one.
    forwarding_fields = {"X-Forwarded-For": address, "X-Real-IP": address, "Forwarded": f"for={address}"}

    async def call(method: str, path: str, *, headers: Any = None, **arguments: Any) -> Answer:
        return await service.call(method, path, headers={**(headers or {}), **forwarding_fields}, **arguments)

    return call


def _build_creations(case: Case, tenant: Credentials, count: int, *, with_keys: bool) -> list[Creation]:
    """Return plain creations of a tenant, over the endpoints in turn."""
    paths = list(bodies(case, tenant))
    wanted_paths = [paths[number % len(paths)] for number in range(count)]
    return [
        Creation(
            path,
            link_body(case, tenant) if path == LINKS else resource_body(case),
            tenant,
            new_text(case) if with_keys else None,
        )
        for path in wanted_paths
    ]


async def exhaust_rate(case: Case, service: LimitedGateway, tenant: Credentials) -> list[Answer]:
    """Exhaust a tenant's rate and return the answers 429.

    Raises:
        Inconclusive: There was none, which GW-RATE-01 judges.
    """
    refusals = select_throttled(await send_burst(case, service, tenant, CALLS_IN_A_MINUTE))
    if not refusals:
        raise Inconclusive(f"{CALLS_IN_A_MINUTE} calls at once met no 429, which GW-RATE-01 judges")
    return refusals


@check("GW-RATE-01", "GW-RATE-05", "GW-RATE-06", surface="gateway", exclusive=Exclusive.LIMITS, fix=_FIX)
async def a_sustained_rate_is_throttled(case: Case) -> None:
    """A tenant that sustains more than 300 requests per minute gets 429.

    Sends three loads, with a rest between them. Expects at least one 429 of each:

    * 361 concurrent calls.
    * A burst of 60, and 34 more every six seconds, which are 366 in less than a minute. Each names another client in
      its forwarding fields. If keys can be created, two test keys of a tenant take turns, and its live key creates
      resources.
    * 361 calls with an invalid body, and 60 valid ones.

    After the second load another tenant sends ten creations, of which none may be answered 429. Then waits as the last
    429 of the load says, and expects that a creation succeeds.

    Which fault of a faulty call wins is open, so only the valid calls of the last load have to be answered 429. If the
    target refuses calls with forwarding fields, none has them.
    """
    async with limited_gateway(case) as service:
        disguises, tenant = await _find_disguises(case, service), service.tenant("first")
        start_time = service.now
        refusals = select_throttled(await send_burst(case, service, tenant, CALLS_IN_A_MINUTE))
        require_quick_calls(service, start_time, refusals, f"{CALLS_IN_A_MINUTE} calls")
        _judge_throttling(case, refusals, f"{CALLS_IN_A_MINUTE} calls at once")
        await service.advance(MINUTE + 1)
        await _judge_sustained(case, service, disguises)
        await service.advance(MINUTE + 1)
        start_time = service.now
        calls = (post(service.call, Creation(LINKS, {}, tenant)) for _ in range(CALLS_IN_A_MINUTE))
        # Calls that fail by their body count as well. A limiter behind the schema check would never see them.
        refusals = select_throttled(await run_concurrently(calls, at_once=_AT_ONCE))
        refusals += select_throttled(await send_burst(case, service, tenant, BURST))
        require_quick_calls(service, start_time, refusals, f"{CALLS_IN_A_MINUTE + BURST} calls")
        _judge_throttling(case, refusals, f"{CALLS_IN_A_MINUTE} calls that fail by their body and {BURST} good ones")


async def _judge_sustained(case: Case, service: LimitedGateway, disguises: ClientDisguises) -> None:
    """Send a burst and then calls evenly spread, with other keys and header fields; judge that some are throttled."""
    tenant = disguises.tenant
    start_time, answers = service.now, await send_burst(case, service, tenant, BURST, disguises)
    # The refill counts from this moment. Until the burst was answered the bucket may have been full, and then it gained
    # nothing.
    burst_end = service.now
    for number in range(1, _ROUNDS + 1):
        await service.advance_to(burst_end + number * _APART)
        answers += await send_burst(case, service, tenant, _ROUND_SIZE, disguises)
    load_name, refusals = (
        f"{len(answers)} calls in {_ROUNDS * _APART:.0f} seconds{disguises.what}",
        select_throttled(answers),
    )
    require_quick_calls(service, start_time, refusals, f"{len(answers)} calls")
    await _judge_after_load(case, service, tenant, refusals)
    accepted_count = sum(is_created(case, one) for one in answers)
    # A target may refuse some of the calls for their forwarding fields. If it accepted no more than the limit allows,
    # the absence of a 429 proves nothing.
    if not refusals and accepted_count <= _SUSTAINED_CALLS:
        case.mark_inconclusive(
            "GW-RATE-01", f"no 429, and only {accepted_count} accepted, of {load_name}", exchange=answers[-1]
        )
        return
    _judge_throttling(case, refusals, load_name)


async def _judge_after_load(
    case: Case, service: LimitedGateway, tenant: Credentials, refusals: Sequence[Answer]
) -> None:
    """Judge after a sustained load that another tenant is not throttled, and that Retry-After was long enough."""
    if not refusals:
        for row in ("GW-RATE-05", "GW-RATE-06"):
            case.mark_not_applicable(row, "the sustained load met no 429, which GW-RATE-01 judges")
        return
    try:
        other_tenant = service.tenant("second")
    except Inconclusive as reason:
        case.mark_inconclusive("GW-RATE-06", str(reason))
    else:
        await _judge_alone(case, service, tenant, other_tenant)
    wait = read_retry_after(refusals[-1], service.now)
    if wait is None:
        case.mark_not_applicable("GW-RATE-05", "the 429 has no Retry-After, which GW-RATE-03 judges")
        return
    await _judge_after_wait(case, service, tenant, refusals[-1], wait)


async def _judge_alone(case: Case, service: LimitedGateway, busy_tenant: Credentials, idle_tenant: Credentials) -> None:
    """Judge that ten creations of a tenant are not throttled after the rate of another one is exhausted."""
    answers = await send_burst(case, service, idle_tenant, _FEW_CALLS)
    refusals = select_throttled(answers)
    answer, where = (refusals or answers)[0], {"exhausted": busy_tenant.name}
    finding = f"{len(refusals)} of {len(answers)}"
    case.expect("GW-RATE-06", not refusals, "no 429", finding, exchange=answer, where=where)


async def _judge_after_wait(
    case: Case, service: LimitedGateway, tenant: Credentials, refusal: Answer, wait: float
) -> None:
    """Judge that the wait of a 429 is within the hour, and that a creation after it succeeds."""
    if not case.expect("GW-RATE-05", wait <= _HOUR_SECONDS, "a wait within the hour", f"{wait:g} s", exchange=refusal):
        return
    # The target's word is taken literally: a wait that is too short makes clients retry in vain.
    await service.advance(wait + _CLOCKS_APART)
    answer = name_live_values(case, await post(service.call, Creation(LINKS, link_body(case, tenant), tenant)))
    case.expect("GW-RATE-05", 200 <= answer.status < 300, "success", brief(answer), exchange=answer)


def _judge_throttling(case: Case, refusals: Sequence[Answer], load_name: str) -> None:
    refusal = refusals[0] if refusals else None
    finding = f"{len(refusals)} of {load_name}"
    case.expect("GW-RATE-01", bool(refusals), "429 for some", finding, exchange=refusal, where={"calls": load_name})


@check("GW-RATE-02", surface="gateway", exclusive=Exclusive.LIMITS, fix=_FIX)
async def a_burst_passes(case: Case) -> None:
    """A tenant can send a burst of 60 requests without 429 from a rested state.

    Rests and sends 60 creations at once, and again after a minute. Expects no 429.
    """
    async with limited_gateway(case) as service:
        tenant = service.tenant("first")
        for _ in range(2):
            answers = await send_burst(case, service, tenant, BURST)
            refusals = select_throttled(answers)
            answer = refusals[0] if refusals else answers[-1]
            finding = f"{len(refusals)} of {BURST}"
            case.expect("GW-RATE-02", not refusals, "no 429", finding, exchange=answer)
            await service.advance(MINUTE + 1)


@check("GW-RATE-03", "GW-RATE-04", "GW-HTTP-08", CODE_ROW, surface="gateway", exclusive=Exclusive.LIMITS, fix=_FIX)
async def a_throttled_call_is_told_when_to_come_back(case: Case) -> None:
    """Every 429 carries Retry-After with seconds or an HTTP date, the error envelope, and a request id.

    Exhausts a tenant's rate with creations of links and resources. Expects all three of every 429. Of a target that
    claims the specification also expects the code `rate_limited`, and the seconds of Retry-After as `retry_after`.
    """
    async with limited_gateway(case) as service:
        for answer in await exhaust_rate(case, service, service.tenant("first")):
            judge_throttled(case, service, answer)
            # A date as Retry-After is allowed, too. Then the number of seconds cannot be compared.
            value = answer.headers.get("Retry-After", "")
            members: dict[str, Any] = {"retry_after": int(value) if value.isdecimal() else int}
            judge_refusal(
                case, Refusal("too many calls", ("POST", LINKS, None, {}), 429, "rate_limited", members), answer
            )


@check("GW-RATE-05", surface="gateway", exclusive=Exclusive.LIMITS, fix=_FIX)
async def a_call_succeeds_after_the_wait(case: Case) -> None:
    """After the Retry-After time a request succeeds.

    Exhausts a tenant's rate, waits as the last 429 says, and creates a link. Expects no 429, and a wait of no more than
    an hour.
    """
    async with limited_gateway(case) as service:
        tenant = service.tenant("first")
        last_refusal = (await exhaust_rate(case, service, tenant))[-1]
        wait = read_retry_after(last_refusal, service.now)
        if wait is None:
            raise Inconclusive("the 429 has no Retry-After, which GW-RATE-03 judges")
        await _judge_after_wait(case, service, tenant, last_refusal, wait)


@check("GW-RATE-06", surface="gateway", exclusive=Exclusive.LIMITS, fix=_FIX)
async def a_tenant_is_throttled_alone(case: Case) -> None:
    """One tenant's exhaustion does not throttle another tenant.

    Exhausts each tenant's rate in turn and then sends ten creations as the other tenant. Expects no 429.
    """
    async with limited_gateway(case) as service:
        first, second = service.tenant("first"), service.tenant("second")
        for busy_tenant, idle_tenant in ((first, second), (second, first)):
            await exhaust_rate(case, service, busy_tenant)
            await _judge_alone(case, service, busy_tenant, idle_tenant)
            await service.advance(MINUTE + 1)


@check("GW-RATE-07", "GW-RATE-01", surface="gateway", exclusive=Exclusive.LIMITS, fix=_FIX)
async def a_throttled_creation_creates_nothing(case: Case) -> None:
    """A throttled creating call creates nothing.

    Sends 361 concurrent creations, each with a separate Idempotency-Key, of which at least one must be answered 429.
    After a rest takes some of those, creates another amount with their keys, and creates resources of their names.
    Expects that all keys and names are free.
    """
    async with limited_gateway(case) as service:
        creations = _build_creations(case, service.tenant("first"), CALLS_IN_A_MINUTE, with_keys=True)
        start_time = service.now
        answers = await run_concurrently((post(service.call, one) for one in creations), at_once=_AT_ONCE)
        refused_pairs = [pair for pair in zip(creations, answers, strict=True) if pair[1].status == 429]
        calls = f"{CALLS_IN_A_MINUTE} calls, each with a separate key"
        require_quick_calls(service, start_time, select_throttled(answers), calls)
        _judge_throttling(case, select_throttled(answers), calls)
        if not refused_pairs:
            raise Inconclusive(f"{calls}, met no 429, which GW-RATE-01 judges")
        for _, answer in refused_pairs:
            granted_names = sorted({"token", "checkout_url"} & set(answer.read_object()))
            case.expect("GW-RATE-07", not granted_names, "nothing handed out", granted_names, exchange=answer)
        await service.advance(MINUTE + 1)
        for path in (LINKS, RESOURCES):
            # Three of each kind are enough, because each costs a further creation.
            for creation in [one for one, _ in refused_pairs if one.path == path][:_SAMPLE_SIZE]:
                await judge_nothing_created(case, "GW-RATE-07", creation, {"path": path}, service.call)
