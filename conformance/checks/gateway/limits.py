"""GW-RATE: a tenant's rate, 300 a minute with a burst of 60.

Whether that is a bucket or a window is open (C-09). Under both readings 60 concurrent calls pass from rest, and more
than 360 in any minute do not.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer, Unreachable
from conformance.judging.gateway.limits import MINUTE, judge_throttled, quick_enough, retry_after, throttled
from conformance.judging.gateway.nothing_created import nothing_created
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import (
    LINKS,
    RESOURCES,
    Caller,
    Creation,
    bodies,
    brief,
    created,
    fresh,
    is_created,
    link_body,
    named,
    post,
    resource_body,
)
from conformance.surfaces.gateway.rate_limited_gateway import LimitedGateway, limited_gateway

BURST, IN_A_MINUTE = 60, 361
# A burst and nine rounds of 34 calls, six seconds apart: 366 calls in 54 seconds. A limiter that lets all of them pass
# refills at least 5.67 calls a second, and so more than the 5 that are allowed.
_ROUNDS, _A_ROUND, _APART = 9, 34, 6.0
_AT_ONCE = 60
_LOOKED_AT = 3
_A_WHILE = 3600.0
# Calls that a tenant may make in any minute, sustained (P-RL-01).
_SUSTAINED = 300
# Networks that are reserved for documentation (RFC 5737), so that no real client is named.
_EXAMPLES = ("198.51.100", "203.0.113", "192.0.2")
# Seconds that are added to a wait: an HTTP date has whole seconds, and is by the target's own clock.
_CLOCKS_APART = 1.0
_FIX = (
    "Count every authenticated call of a tenant together, whatever its key, endpoint and headers: 60 at once, 300 a "
    "minute. Answer further calls 429 with Retry-After and the envelope."
)


@dataclass(frozen=True, slots=True)
class Guises:
    """The variations of a tenant's calls that must still count for it: its keys, and proxies' header fields.

    Attributes:
        keys: The tenant with each of its keys, over and over.
        clients: Numbers of the clients that the forwarding fields name, one for each call; None if they are not sent.
        what: These in words, for the reader.
    """

    keys: Iterator[Credentials]
    clients: Iterator[int] | None
    what: str


async def burst(
    case: Case, service: LimitedGateway, tenant: Credentials, count: int, guises: Guises | None = None
) -> list[Answer]:
    """Send `count` concurrent calls of a tenant, over the endpoints in turn, and return the answers.

    They are plain creations, so that only the limit may refuse them.
    """
    creations = _creations(case, tenant, count, keyed=False)
    if guises is not None:
        creations = [replace(one, tenant=next(guises.keys)) for one in creations]
    clients = None if guises is None else guises.clients
    calls = (post(service.call if clients is None else _forwarded(service, next(clients)), one) for one in creations)
    return [named(case, answer) for answer in await run_concurrently(calls, at_once=_AT_ONCE)]


@asynccontextmanager
async def _guises(case: Case, service: LimitedGateway) -> AsyncIterator[Guises]:
    """Yield the variations of the first tenant's calls with which plain calls succeed; delete a key made here.

    Raises:
        Inconclusive: A plain call does not succeed.
    """
    tenant, numbers = service.tenant("first"), itertools.count()
    plain = Creation(LINKS, link_body(case, tenant), tenant)
    await created(case, plain, service.call)
    forwarded = is_created(case, named(case, await post(_forwarded(service, next(numbers)), plain)))
    async with _keys(case, service, plain) as keys:
        what = ["with two keys in turn"] if keys[1:] else []
        what += ["forwarded for as many clients"] if forwarded else []
        yield Guises(itertools.cycle(keys), numbers if forwarded else None, "".join(f", {one}" for one in what))


@asynccontextmanager
async def _keys(case: Case, service: LimitedGateway, plain: Creation) -> AsyncIterator[Sequence[Credentials]]:
    """Yield the tenant with its key, and with a second key if one can be created and plain calls succeed with it."""
    try:
        other = await service.another_key(plain.tenant)
    except Inconclusive as reason:
        case.note(f"the rate is judged with one key of the tenant: {reason}")
        other = None
    if other is None:
        yield [plain.tenant]
        return
    try:
        answer = named(case, await post(service.call, replace(plain, tenant=other.other)))
        yield [plain.tenant, *([other.other] if is_created(case, answer) else [])]
    finally:
        with suppress(Inconclusive, Unreachable):
            await other.delete()


def _forwarded(service: LimitedGateway, client: int) -> Caller:
    """Return a caller that sends the fields by which a proxy names the client whose call it forwards."""
    address = f"{_EXAMPLES[client // 250 % len(_EXAMPLES)]}.{client % 250 + 1}"
    # A limiter that counts by such a field counts each of these calls for another client, and so never refuses one.
    fields = {"X-Forwarded-For": address, "X-Real-IP": address, "Forwarded": f"for={address}"}

    async def call(method: str, path: str, *, headers: Any = None, **named_: Any) -> Answer:
        return await service.call(method, path, headers={**(headers or {}), **fields}, **named_)

    return call


def _creations(case: Case, tenant: Credentials, count: int, *, keyed: bool) -> list[Creation]:
    """Return plain creations of a tenant, over the endpoints in turn."""
    paths = list(bodies(case, tenant))
    wanted = [paths[number % len(paths)] for number in range(count)]
    return [
        Creation(
            path,
            link_body(case, tenant) if path == LINKS else resource_body(case),
            tenant,
            fresh(case) if keyed else None,
        )
        for path in wanted
    ]


async def exhausted(case: Case, service: LimitedGateway, tenant: Credentials) -> list[Answer]:
    """Exhaust a tenant's rate and return the answers 429.

    Raises:
        Inconclusive: There was none, which GW-RATE-01 judges.
    """
    refused = throttled(await burst(case, service, tenant, IN_A_MINUTE))
    if not refused:
        raise Inconclusive(f"{IN_A_MINUTE} calls at once met no 429, which GW-RATE-01 judges")
    return refused


@check("GW-RATE-01", surface="gateway", exclusive=Exclusive.LIMITS, fix=_FIX)
async def a_sustained_rate_is_throttled(case: Case) -> None:
    """A tenant that sustains more than 300 requests per minute gets 429.

    Sends three loads, with a rest between them. Expects at least one 429 of each:

    * 361 concurrent calls.
    * A burst of 60, and 34 more every six seconds, which are 366 in less than a minute. Each names another client in
      its forwarding fields, and two keys of the tenant take turns if a second one can be created.
    * 361 calls with an invalid body, and 60 valid ones.

    Which fault of a faulty call wins is open, so only the valid calls of the last load have to be answered 429. If the
    target refuses calls with forwarding fields, none has them.
    """
    async with limited_gateway(case) as service, _guises(case, service) as guises:
        tenant = service.tenant("first")
        started = service.now
        refused = throttled(await burst(case, service, tenant, IN_A_MINUTE))
        quick_enough(service, started, refused, f"{IN_A_MINUTE} calls")
        _judge_met(case, refused, f"{IN_A_MINUTE} calls at once")
        await service.advance(MINUTE + 1)
        await _sustained(case, service, tenant, guises)
        await service.advance(MINUTE + 1)
        started = service.now
        calls = (post(service.call, Creation(LINKS, {}, tenant)) for _ in range(IN_A_MINUTE))
        # Calls that fail by their body count as well. A limiter behind the schema check would never see them.
        refused = throttled(await run_concurrently(calls, at_once=_AT_ONCE))
        refused += throttled(await burst(case, service, tenant, BURST))
        quick_enough(service, started, refused, f"{IN_A_MINUTE + BURST} calls")
        _judge_met(case, refused, f"{IN_A_MINUTE} calls that fail by their body and {BURST} good ones")


async def _sustained(case: Case, service: LimitedGateway, tenant: Credentials, guises: Guises) -> None:
    """Send a burst and then calls evenly spread, with other keys and header fields; judge that some are throttled."""
    started, answers = service.now, await burst(case, service, tenant, BURST, guises)
    # The refill counts from this moment. Until the burst was answered the bucket may have been full, and then it gained
    # nothing.
    answered = service.now
    for number in range(1, _ROUNDS + 1):
        await service.advance_to(answered + number * _APART)
        answers += await burst(case, service, tenant, _A_ROUND, guises)
    what, refused = f"{len(answers)} calls in {_ROUNDS * _APART:.0f} seconds{guises.what}", throttled(answers)
    quick_enough(service, started, refused, f"{len(answers)} calls")
    taken = sum(is_created(case, one) for one in answers)
    # A target may refuse some of the calls for their forwarding fields. If it accepted no more than the limit allows,
    # the absence of a 429 proves nothing.
    if not refused and taken <= _SUSTAINED:
        case.mark_inconclusive("GW-RATE-01", f"no 429, and only {taken} accepted, of {what}", exchange=answers[-1])
        return
    _judge_met(case, refused, what)


def _judge_met(case: Case, refused: Sequence[Answer], what: str) -> None:
    shown = refused[0] if refused else None
    found = f"{len(refused)} of {what}"
    case.expect("GW-RATE-01", bool(refused), "429 for some", found, exchange=shown, where={"calls": what})


@check("GW-RATE-02", surface="gateway", exclusive=Exclusive.LIMITS, fix=_FIX)
async def a_burst_passes(case: Case) -> None:
    """A tenant can send a burst of 60 requests without 429 from a rested state.

    Rests and sends 60 creations at once, and again after a minute. Expects no 429.
    """
    async with limited_gateway(case) as service:
        tenant = service.tenant("first")
        for _ in range(2):
            answers = await burst(case, service, tenant, BURST)
            refused = throttled(answers)
            shown = refused[0] if refused else answers[-1]
            found = f"{len(refused)} of {BURST}"
            case.expect("GW-RATE-02", not refused, "no 429", found, exchange=shown)
            await service.advance(MINUTE + 1)


@check("GW-RATE-03", "GW-RATE-04", "GW-HTTP-08", surface="gateway", exclusive=Exclusive.LIMITS, fix=_FIX)
async def a_throttled_call_is_told_when_to_come_back(case: Case) -> None:
    """Every 429 carries Retry-After with seconds or an HTTP date, the error envelope, and a request id.

    Exhausts a tenant's rate with creations of links and resources. Expects all three of every 429.
    """
    async with limited_gateway(case) as service:
        for answer in await exhausted(case, service, service.tenant("first")):
            judge_throttled(case, service, answer)


@check("GW-RATE-05", surface="gateway", exclusive=Exclusive.LIMITS, fix=_FIX)
async def a_call_succeeds_after_the_wait(case: Case) -> None:
    """After the Retry-After time a request succeeds.

    Exhausts a tenant's rate, waits as the last 429 says, and creates a link. Expects no 429, and a wait of no more than
    an hour.
    """
    async with limited_gateway(case) as service:
        tenant = service.tenant("first")
        last = (await exhausted(case, service, tenant))[-1]
        wait = retry_after(last, service.now)
        if wait is None:
            raise Inconclusive("the 429 has no Retry-After, which GW-RATE-03 judges")
        if not case.expect("GW-RATE-05", wait <= _A_WHILE, "a wait within the hour", f"{wait:g} s", exchange=last):
            return
        # The target's word is taken literally: a wait that is too short makes clients retry in vain.
        await service.advance(wait + _CLOCKS_APART)
        answer = named(case, await post(service.call, Creation(LINKS, link_body(case, tenant), tenant)))
        found = brief(answer)
        case.expect("GW-RATE-05", 200 <= answer.status < 300, "success", found, exchange=answer)


@check("GW-RATE-06", surface="gateway", exclusive=Exclusive.LIMITS, fix=_FIX)
async def a_tenant_is_throttled_alone(case: Case) -> None:
    """One tenant's exhaustion does not throttle another tenant.

    Exhausts each tenant's rate in turn and then sends ten creations as the other tenant. Expects no 429.
    """
    async with limited_gateway(case) as service:
        first, second = service.tenant("first"), service.tenant("second")
        for busy, other in ((first, second), (second, first)):
            await exhausted(case, service, busy)
            answers = await burst(case, service, other, 10)
            refused = throttled(answers)
            shown, where = (refused or answers)[0], {"exhausted": busy.name}
            found = f"{len(refused)} of {len(answers)}"
            case.expect("GW-RATE-06", not refused, "no 429", found, exchange=shown, where=where)
            await service.advance(MINUTE + 1)


@check("GW-RATE-07", "GW-RATE-01", surface="gateway", exclusive=Exclusive.LIMITS, fix=_FIX)
async def a_throttled_creation_creates_nothing(case: Case) -> None:
    """A throttled creating call creates nothing.

    Sends 361 concurrent creations, each with a separate Idempotency-Key, of which at least one must be answered 429.
    After a rest takes some of those, creates another amount with their keys, and creates resources of their names.
    Expects that all keys and names are free.
    """
    async with limited_gateway(case) as service:
        creations = _creations(case, service.tenant("first"), IN_A_MINUTE, keyed=True)
        started = service.now
        answers = await run_concurrently((post(service.call, one) for one in creations), at_once=_AT_ONCE)
        refused = [pair for pair in zip(creations, answers, strict=True) if pair[1].status == 429]
        calls = f"{IN_A_MINUTE} calls, each with a separate key"
        quick_enough(service, started, throttled(answers), calls)
        _judge_met(case, throttled(answers), calls)
        if not refused:
            raise Inconclusive(f"{calls}, met no 429, which GW-RATE-01 judges")
        for _, answer in refused:
            handed = sorted({"token", "checkout_url"} & set(answer.object()))
            case.expect("GW-RATE-07", not handed, "nothing handed out", handed, exchange=answer)
        await service.advance(MINUTE + 1)
        for path in (LINKS, RESOURCES):
            # Three of each kind are enough, because each costs a further creation.
            for creation in [one for one, _ in refused if one.path == path][:_LOOKED_AT]:
                await nothing_created(case, "GW-RATE-07", creation, {"path": path}, service.call)
