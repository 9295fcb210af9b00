"""CP-SVC and CP-POST: services that the suite plays are registered, called, and shown with their real state."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import WAITS
from conformance.http.client import Answer, Unreachable
from conformance.oracles.strict_json import is_json_type
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces import binding_hints
from conformance.surfaces.control_plane.access import (
    POSTURE,
    Hub,
    explain_token_refusal,
    hub_of,
    is_success,
    json_of,
    serving_hub,
)
from conformance.surfaces.control_plane.services import (
    EMPTY_REPLY,
    ERROR_REPLY,
    HEALTH,
    NO_REPLY,
    NOT_FOUND_REPLY,
    OK_REPLY,
    REDIRECT_REPLY,
    PlayedService,
    play_service,
    play_trickling_service,
)
from conformance.webhook_receiver.raw_receiver import redirect

# Hanging services. A control plane that asks one after the other, with two seconds for each, takes 14 seconds for them.
_HANGING_COUNT = 7
# A health path that no control plane calls by default.
_OTHER_HEALTH = "/status/alive"
_FURTHER_HEALTH = "/status/ready"
_AT_LAST_PATH = f"a service that was registered again with {_FURTHER_HEALTH} is called there"
_AT_ITS_PATH = f"a service that registers with {_OTHER_HEALTH} is called there, unless it is refused"
# From this status on a call has failed in the server, which is neither a registration nor a refusal.
_SERVER_FAULT = 500
# Seconds in which a registration that failed in the server may still turn out to have been carried out.
_SERVER_FAULT_SECONDS = 5.0
# The statuses of a proxy whose control plane is down, and of a control plane that is temporarily unavailable.
_UNAVAILABLE_STATUSES = frozenset({502, 503, 504})
# Seconds. An HTTP client follows a redirect immediately or never.
_FOLLOWS_SECONDS = 2.0
# Seconds for reading the posture while some services never answer. The profile's default is 3, and a slow machine gets
# more.
_AT_MOST_SECONDS = 15.0
_IN_TIME_TEXT = f"200 within {_AT_MOST_SECONDS:g} s"
# The specification's time limit for one service, in seconds. If every service answers immediately and the posture takes
# as long, the machine was too slow, and the control plane may have abandoned answers that were on their way.
_GIVEN_SECONDS = 2.0


@asynccontextmanager
async def _register_played(case: Case, **labels: object) -> AsyncIterator[tuple[Hub, dict[str, PlayedService]]]:
    """Yield the control plane, and services of the suite that are registered there, by their labels."""
    hub = await serving_hub(case)
    hub.known_token  # noqa: B018 - without it nothing can be registered
    async with AsyncExitStack() as stack:
        services = {label: await play_service(case, stack, label, reply) for label, reply in labels.items()}  # type: ignore[arg-type]
        await stack.enter_async_context(hub.registered_services(*services.values()))
        yield hub, services


@check(
    "CP-POST-01",
    surface="control_plane",
    fix="Serve GET /v1/posture to every client, as JSON.",
)
async def the_posture_is_open(case: Case) -> None:
    """GET /v1/posture answers 200 JSON without a credential.

    Reads it. Expects 200, JSON, and its Content-Type.
    """
    hub = await hub_of(case)
    answer = await hub.call("GET", POSTURE)
    media_type = answer.headers.get("Content-Type")
    holds = answer.status == 200 and json_of(answer) is not None and is_json_type(media_type)
    case.expect("CP-POST-01", holds, "200 with JSON", f"{answer.status} {media_type}", exchange=answer)


@check(
    "CP-SVC-02",
    "CP-SVC-03",
    "CP-SVC-04",
    "CP-POST-02",
    surface="control_plane",
    fix="List every registered service once, and request its health at the address that it registered.",
)
async def registered_services_are_listed_and_called(case: Case) -> None:
    """Every registered service is in the posture, once, and its health address is called.

    Registers three services that the suite plays, one of them twice, and reads the posture until all are there. Expects
    each under the name or address that it registered, one record of the one that registered twice, and a call at each.
    """
    async with _register_played(case, one=OK_REPLY, two=OK_REPLY, three=OK_REPLY) as (hub, services):
        repeated_service = services["one"]
        # The second registration is equal to the first, so a hub that keys by name or address has one record.
        await hub.register_service(repeated_service)
        answer = await hub.read_posture_until(
            lambda posture: all(hub.posture_records(posture, service) for service in services.values())
        )
        counts = {label: len(hub.posture_records(answer, service)) for label, service in services.items()}
        hint = binding_hints.of_posture(hub.bindings.posture_name_at)
        is_listed, finding = counts["one"] > 0, _describe_count(counts["one"])
        case.expect("CP-SVC-02", is_listed, "the service listed", finding, exchange=answer, hint=hint)
        missing_labels = sorted(label for label, count in counts.items() if not count)
        finding = f"missing: {missing_labels or 'none'}"
        case.expect("CP-POST-02", not missing_labels, "all three", finding, exchange=answer, hint=hint)
        case.expect("CP-SVC-04", counts["one"] == 1, "listed once", _describe_count(counts["one"]), exchange=answer)
        for label, service in services.items():
            is_called = await service.wait_for_call(hub.bindings.propagation_budget)
            finding = "called" if is_called else f"{len(service.calls)} calls, none at its health address"
            hint = binding_hints.of_calls(hub.bindings.reach_host)
            requirement = "its health address called"
            case.expect("CP-SVC-03", is_called, requirement, finding, where={"service": label}, hint=hint)


@check(
    "CP-SVC-03",
    surface="control_plane",
    fix="Let a successful registration replace the address of the previous one.",
)
async def a_service_that_moved_is_called_where_it_is(case: Case) -> None:
    """A service that registers again from another address is called there.

    Registers a service, ends it, and registers the same name at another address, where it is healthy. Expects a call at
    the new address, unless the second registration is refused. A 5xx is not a refusal.
    """
    async with _register_played(case, first=OK_REPLY) as (hub, services), AsyncExitStack() as stack:
        await services["first"].stop()
        # The same name at another address: a hub that keys by name must replace the address.
        moved_service = replace(await play_service(case, stack, "moved"), name=services["first"].name)
        answer = await hub.register_service(moved_service)
        if answer.status < _SERVER_FAULT and not is_success(answer):
            case.expect("CP-SVC-03", True, "refused, or called there", f"refused: {answer.status}", exchange=answer)
            return
        stack.push_async_callback(hub.remove_service, moved_service)
        posture = await hub.read_posture_until(lambda _: bool(moved_service.calls), _choose_wait(answer))
        is_called = await moved_service.wait_for_call(1.0)
        _judge_called(
            case, answer, posture, "called" if is_called else "not called", "its health requested at the new address"
        )


@check(
    "CP-SVC-03",
    surface="control_plane",
    fix="Request a service's health at the address and the path that its registration names.",
)
async def a_service_is_called_at_the_path_that_it_names(case: Case) -> None:
    """A service whose health is not at /health is called at the path that it registers.

    If the profile's registration body has the path, registers a service whose health is only at another path. Expects a
    call there, unless the registration is refused. A 5xx is not a refusal. Then registers the same name again with a
    further path, at another address. Expects a call at the path that was registered last, unless that is refused.
    """
    hub = await hub_of(case)
    hub.known_token  # noqa: B018 - without it nothing can be registered
    if not hub.has_health_path:
        case.mark_not_applicable("CP-SVC-03", "the profile binds no [hub] service_body with a service's health path")
        return
    async with AsyncExitStack() as stack:
        service = await play_service(case, stack, "elsewhere", health=_OTHER_HEALTH)
        answer = await hub.register_service(service)
        if refusal := explain_token_refusal(answer):
            raise Inconclusive(refusal)
        if answer.status < _SERVER_FAULT and not is_success(answer):
            case.expect("CP-SVC-03", True, _AT_ITS_PATH, f"refused: {answer.status}", exchange=answer)
            return
        stack.push_async_callback(hub.remove_service, service)
        posture = await hub.read_posture_until(lambda _: service.was_called, _choose_wait(answer))
        _judge_called(case, answer, posture, _describe_calls(service), _AT_ITS_PATH)
        if is_success(answer) and service.was_called:
            await _judge_renamed_path(case, hub, stack, service)


async def _judge_renamed_path(case: Case, hub: Hub, stack: AsyncExitStack, service: PlayedService) -> None:
    """Judge that a name that is registered again has its health requested at the path of the last registration."""
    renamed_service = replace(await play_service(case, stack, "renamed", health=_FURTHER_HEALTH), name=service.name)
    answer = await hub.register_service(renamed_service)
    if answer.status < _SERVER_FAULT and not is_success(answer):
        case.expect("CP-SVC-03", True, _AT_ITS_PATH, f"refused: {answer.status}", exchange=answer)
        return
    stack.push_async_callback(hub.remove_service, renamed_service)
    posture = await hub.read_posture_until(lambda _: renamed_service.was_called, _choose_wait(answer))
    _judge_called(case, answer, posture, _describe_calls(renamed_service), _AT_LAST_PATH)


def _describe_calls(service: PlayedService) -> str:
    return "called" if service.was_called else "called elsewhere only" if service.calls else "not called"


def _choose_wait(registration: Answer) -> float | None:
    """Return for how many seconds to wait for a call after a registration; None means the profile's own budget."""
    return None if is_success(registration) else _SERVER_FAULT_SECONDS


def _judge_called(case: Case, answer: Answer, posture: Answer, finding: str, requirement: str) -> None:
    """Judge that a service is called as its registration says, which was not refused.

    If the registration was answered with a 5xx, the service has to be called as well, or the registration failed.
    """
    is_called = finding == "called"
    if not is_called and answer.status in _UNAVAILABLE_STATUSES:
        case.mark_inconclusive("CP-SVC-03", f"the registration was answered {answer.status}", exchange=answer)
        return
    full_finding = finding if is_success(answer) else f"the registration answered {answer.status}, {finding}"
    case.expect("CP-SVC-03", is_called, requirement, full_finding, exchange=posture if is_success(answer) else answer)


@check(
    "CP-CONF-06",
    surface="control_plane",
    fix="Follow no redirect when you request the health of a service: the address in it is not registered.",
    quick=WAITS,
)
async def a_redirect_of_health_is_not_followed(case: Case) -> None:
    """The control plane does not follow a redirect of a health answer, because its address is not registered.

    Registers services that answer 301, 302, 307 and 308 to a service that is not registered, and reads the posture
    until all were called. Expects no call there. Calls to other addresses can be observed only in an enclosure.
    """
    async with AsyncExitStack() as stack:
        elsewhere = await play_service(case, stack, "elsewhere")
        redirects = {f"moved{status}": redirect(elsewhere.url + HEALTH, status) for status in (301, 302, 307, 308)}
        hub, services = await stack.enter_async_context(_register_played(case, **redirects))
        answer = await hub.read_posture_until(lambda _: all(one.calls for one in services.values()))
        if not all(one.calls for one in services.values()):
            raise Inconclusive("a registered health address was not called, which CP-SVC-03 judges")
        await asyncio.sleep(_FOLLOWS_SECONDS)
        finding = "a redirect was followed" if elsewhere.calls else "none of the redirects followed"
        requirement = "registered health addresses only"
        case.expect("CP-CONF-06", not elsewhere.calls, requirement, finding, exchange=answer)


@check(
    "CP-CONF-06",
    surface="control_plane",
    fix="Treat a health path only as a path below the base address, and refuse one that can name another host.",
    quick=WAITS,
)
async def a_health_path_leads_to_no_other_host(case: Case) -> None:
    """A health path that some parsers read as another host does not lead the control plane there.

    If the profile's registration body has a separate health path, registers services whose path begins with `@` and a
    host, with `//` and a host, or is a whole address, and reads the posture. Expects each refused, or no call at that
    host. A breach only warns: the interface leaves open which addresses a registration may name.
    """
    hub = await hub_of(case)
    hub.known_token  # noqa: B018 - without it nothing can be registered
    if not hub.has_separate_health_path:
        case.mark_not_applicable("CP-CONF-06", "the profile binds no [hub] service_body with a separate health path")
        return
    async with AsyncExitStack() as stack:
        elsewhere = await play_service(case, stack, "elsewhere")
        host = elsewhere.url.partition("://")[2]
        paths = {"userinfo": f"@{host}{HEALTH}", "reference": f"//{host}{HEALTH}", "address": elsewhere.url + HEALTH}
        # Parsers disagree on each of these: `base + path` as text names the other host for some of them.
        for label, path in paths.items():
            service = await play_service(case, stack, label, health=path)
            answer = await hub.register_service(service)
            if refusal := explain_token_refusal(answer):
                raise Inconclusive(refusal)
            stack.push_async_callback(hub.remove_service, service)
            call_count = len(elsewhere.calls)
            if is_success(answer):
                answer = await hub.posture()
                await asyncio.sleep(_FOLLOWS_SECONDS)
            is_called = len(elsewhere.calls) > call_count
            finding = "a call at the host that the path names" if is_called else "refused, or none called there"
            where, beyond = {"path": label}, OpenPoint("which addresses a registration may name", "7.1")
            requirement = "no call at another host than that of the base address"
            case.expect("CP-CONF-06", not is_called, requirement, finding, exchange=answer, where=where, beyond=beyond)


def _describe_count(count: int) -> str:
    return {0: "not listed", 1: "listed once"}.get(count, f"listed {count} times")


def _describe_service(hub: Hub, posture: Answer, service: PlayedService) -> str:
    if not hub.posture_records(posture, service):
        return "not listed"
    return {True: "healthy", False: "not healthy", None: "in words that are not bound"}[hub.health(posture, service)]


def _judge(
    case: Case, row: str, hub: Hub, posture: Answer, service: PlayedService, is_healthy: bool, label: str
) -> None:
    """Judge how a posture shows a service. If the posture cannot be read, the row is inconclusive."""
    health = hub.health(posture, service)
    if health is None and hub.posture_records(posture, service) and hub.bindings.posture_healthy_at is None:
        reason = "unbound: where does the posture say that a service is healthy? give [hub] posture_healthy_at"
        case.mark_inconclusive(row, reason, exchange=posture)
        return
    if is_healthy and health is False and posture.seconds >= _GIVEN_SECONDS:
        reason = (
            f"the posture takes {_GIVEN_SECONDS:g} s, and every service answers immediately: try on an idle machine"
        )
        case.mark_inconclusive(row, reason, exchange=posture)
        return
    requirement = "healthy" if is_healthy else "not healthy"
    # A control plane may also show that a service is away by not listing it.
    holds = health is is_healthy or (not is_healthy and not hub.posture_records(posture, service))
    case.expect(
        row, holds, requirement, _describe_service(hub, posture, service), exchange=posture, where={"service": label}
    )


@check(
    "CP-POST-03",
    "CP-POST-04",
    "CP-POST-06",
    surface="control_plane",
    fix="Request each registered health address directly. Only an answer of 200 means healthy.",
)
async def the_posture_shows_services_as_they_are(case: Case) -> None:
    """A service that answers 200 is healthy; one that fails or is away is not, until it is back.

    Registers a healthy service, one each that answers 500, 404, 302 and 204, and one at a closed port. Reads the
    posture until it shows them. Then lets the failing one recover. Expects the real state of each within the profile's
    budget.
    """
    ill_replies = {"failing": ERROR_REPLY, "missing": NOT_FOUND_REPLY, "moved": REDIRECT_REPLY, "empty": EMPTY_REPLY}
    async with _register_played(case, well=OK_REPLY, **ill_replies, away=OK_REPLY) as (hub, services):
        await services["away"].stop()
        expected_health = {"well": True, **dict.fromkeys(ill_replies, False), "away": False}

        def fits(posture: Answer) -> bool:
            return all(
                hub.health(posture, services[label]) is is_healthy for label, is_healthy in expected_health.items()
            )

        answer = await hub.read_posture_until(fits)
        for label, is_healthy in expected_health.items():
            row = "CP-POST-03" if is_healthy else "CP-POST-04"
            _judge(case, row, hub, answer, services[label], is_healthy, label)
        # The service recovers without a new registration: the hub must ask it again by itself.
        services["failing"].reply = OK_REPLY
        later_posture = await hub.read_posture_until(lambda posture: hub.health(posture, services["failing"]) is True)
        _judge(case, "CP-POST-06", hub, later_posture, services["failing"], is_healthy=True, label="failing, then well")


@check(
    "CP-POST-05",
    surface="control_plane",
    # If the posture hangs, it hangs for every other check that reads it.
    exclusive=Exclusive.SURFACE,
    fix="Call all services concurrently, and give each a few seconds for its whole answer, not for each read of it.",
)
async def a_hanging_service_hangs_nobody(case: Case) -> None:
    """A health endpoint that never answers does not hang the posture.

    Registers seven services that accept a call and never answer, one whose answer's head and one whose body continues
    for ever, a few bytes at a time, and a healthy one. Expects the posture within 15 seconds, with the healthy one.
    """
    hanging_replies = {f"silent{number}": NO_REPLY for number in range(_HANGING_COUNT)}
    async with _register_played(case, **hanging_replies, well=OK_REPLY) as (hub, services), AsyncExitStack() as stack:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        # A timeout for each read never ends such an answer, because a few bytes always arrive in time.
        slow_services = [
            await play_trickling_service(case, stack, "head", head=head, piece=b"X-Slow: 1\r\n"),
            await play_trickling_service(case, stack, "body", head=head + b"Content-Length: 99999\r\n\r\n", piece=b" "),
        ]
        await stack.enter_async_context(hub.registered_services(*slow_services))
        is_prompt, finding, answer = await _read_posture(hub)
        if is_prompt:
            holds = answer is not None and answer.status == 200
            case.expect("CP-POST-05", holds, _IN_TIME_TEXT, finding, exchange=answer)
            later_posture = await hub.read_posture_until(lambda posture: hub.health(posture, services["well"]) is True)
            is_listed = bool(hub.posture_records(later_posture, services["well"]))
            case.expect(
                "CP-POST-05",
                is_listed,
                "the other service listed",
                _describe_count(int(is_listed)),
                exchange=later_posture,
            )
            return
    # The hanging services are gone. If the posture is still late, they were not the reason.
    if not (await _read_posture(hub))[0]:
        raise Inconclusive(f"the posture takes over {_AT_MOST_SECONDS:g} s without hanging services as well")
    case.expect("CP-POST-05", False, _IN_TIME_TEXT, finding, exchange=answer)


async def _read_posture(hub: Hub) -> tuple[bool, str, Answer | None]:
    """Read the posture. Return whether the answer arrived in time, a description, and the answer."""
    start_time = time.monotonic()
    try:
        answer = await hub.posture()
    except Unreachable as fault:
        return False, str(fault), None
    is_prompt = time.monotonic() - start_time <= _AT_MOST_SECONDS
    # The seconds differ from run to run, so the report has only "in time" or "too late".
    return is_prompt, f"{answer.status} {'in time' if is_prompt else 'too late'}", answer
