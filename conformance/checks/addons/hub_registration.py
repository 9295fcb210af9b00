"""CP-ADDON: what an addon does on its start, with the suite as its control plane and with the operator's own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from conformance.engine.check import Case, check
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.http.client import Answer, Recorded
from conformance.outcome import STAND_IN
from conformance.processes.launching import RunningProgram
from conformance.surfaces.agent.answer_reader import leaves
from conformance.surfaces.control_plane import document_reader
from conformance.surfaces.control_plane.access import ATB_KEYS, PKS, SERVICES, Hub, ask_until, json_of, token_of
from conformance.surfaces.control_plane.log_reading import INSTANT
from conformance.surfaces.control_plane.played_hub import PlayedHub, played_hub
from conformance.surfaces.control_plane.services import HEALTH
from conformance.surfaces.control_plane.starting import (
    AddonSubject,
    bundled_names,
    started_addon,
    started_hub,
    subjects,
)

# Seconds. An addon that has joined answers its health immediately, so this only covers a slow machine.
_HEALTH_SECONDS = 10.0
_FIX = (
    "On start read S2_HUB_URL, S2_HUB_TOKEN and S2_HUB_SELF_URL, GET /v1/issuer-pks, then POST /v1/services with the "
    "Bearer token and the self address; answer GET /health with 200."
)


@dataclass(frozen=True, slots=True)
class _RunningAddon:
    """A running addon, and the control plane that the suite plays for it."""

    case: Case
    subject: AddonSubject
    hub: PlayedHub
    addon: RunningProgram
    self_url: str

    async def health(self, *, again: bool = False) -> Answer:
        """Request its health."""
        return await self.case.client.call("GET", self.addon.url + HEALTH, retry=again)


@asynccontextmanager
async def _start_addon(
    case: Case, subject: AddonSubject, *, self_host: str | None = None
) -> AsyncIterator[_RunningAddon]:
    """Start an addon with the suite as its hub; `self_host` is the host of its self address if the suite chooses it."""
    variables = {"S2_HUB_SELF_URL": f"http://{self_host}:{{port}}"} if self_host and subject.addon.url is None else {}
    async with played_hub(case) as hub:
        # Two issuers, so that an addon which counts them cannot be right by the answer 1.
        for _ in range(2):
            issuer = Hub(case, hub.url, case.profile.hub_bindings).new_issuer("trusted")
            hub.trust_set[issuer.did] = issuer.key
        async with started_addon(case, subject, hub.url, hub.token, variables=variables) as addon:
            self_url = addon.url.replace("127.0.0.1", self_host) if variables and self_host else addon.url
            yield _RunningAddon(case, subject, hub, addon, self_url)


@check(
    "CP-ADDON-01",
    "CP-ADDON-02",
    "CP-ADDON-03",
    "CP-ADDON-04",
    "CP-ADDON-05",
    "CP-ADDON-08",
    surface="control_plane",
    self_contained=True,
    fix=_FIX,
    quick=OWN_PROCESSES,
)
async def an_addon_joins_the_suites_hub(case: Case) -> None:
    """An addon pulls the trust set of the configured hub, registers there with token and address, and is healthy.

    Starts each addon with S2_HUB_URL, S2_HUB_TOKEN and S2_HUB_SELF_URL that the suite generates, and waits for its
    calls. Expects GET /v1/issuer-pks, and before or after it POST /v1/services with the Bearer token and the self
    address somewhere in its body. Expects 200 from its health.
    """
    for subject in subjects(case):
        # An address that the addon would not find by itself, so that one which registers its own is distinguished.
        async with _start_addon(case, subject, self_host="localhost") as running_addon:
            await _judge_joining(running_addon)
    bundled_services = bundled_names(case)
    if not bundled_services:
        case.mark_not_applicable("CP-ADDON-08", "the profile has no bundled services")
    for name in bundled_services:
        if name not in case.profile.addon_bindings:
            case.mark_inconclusive("CP-ADDON-08", f"needs to start {name}: give [addons.{name}] command")


async def _judge_joining(running_addon: _RunningAddon) -> None:
    def judge(row: str, holds: bool, requirement: str, finding: object, exchange: Recorded | None = None) -> None:
        for row_id in (row, "CP-ADDON-08") if running_addon.subject.is_bundled else (row,):
            running_addon.case.expect(
                row_id, holds, requirement, finding, exchange=exchange, where=running_addon.subject.where
            )

    hub = running_addon.hub
    seconds = _budget(running_addon.case)
    trust_pull, service_call = await asyncio.gather(
        hub.wait_for_call(PKS, seconds=seconds), hub.wait_for_call(SERVICES, "POST", seconds=seconds)
    )
    # The log lists calls in the order of their arrival.
    for arrival in sorted((one for one in (trust_pull, service_call) if one is not None), key=lambda one: one.number):
        hub.record_call(arrival)
    pull_exchange = None if trust_pull is None else hub.record_call(trust_pull)
    judge(
        "CP-ADDON-02",
        trust_pull is not None,
        f"GET {PKS} at S2_HUB_URL",
        "it came" if trust_pull else "none came",
        pull_exchange,
    )
    # A call without the token is not a registration, but it is shown as the evidence.
    registrations = [arrival for arrival, _ in hub.registrations]
    call_exchange = (
        None if service_call is None else hub.record_call(registrations[0] if registrations else service_call)
    )
    finding = "it came" if registrations else "none came" if service_call is None else "one without S2_HUB_TOKEN"
    judge("CP-ADDON-03", bool(registrations), f"POST {SERVICES} with the Bearer token", finding, call_exchange)
    is_reached = trust_pull is not None or service_call is not None
    hub_finding = "called with it" if registrations else "called, without the token" if is_reached else "not called"
    judge("CP-ADDON-05", bool(registrations), "the hub of S2_HUB_URL, with S2_HUB_TOKEN", hub_finding, call_exchange)
    if service_call is not None:
        is_carried = any(
            _contains_address(body, running_addon.self_url) for _, body in hub.registrations
        ) or _contains_address(service_call.body.decode("utf-8", "replace"), running_addon.self_url)
        judge(
            "CP-ADDON-04",
            is_carried,
            "the S2_HUB_SELF_URL address",
            "it is there" if is_carried else "not in it",
            call_exchange,
        )
    else:
        judge("CP-ADDON-04", False, "a registration with the S2_HUB_SELF_URL address", "none came")
    answer = await ask_until(
        lambda again: running_addon.health(again=again), lambda one: one.status == 200, _HEALTH_SECONDS
    )
    judge("CP-ADDON-01", answer.status == 200, "200", answer.status, answer)


def _contains_address(value: object, url: str) -> bool:
    """Return whether a registration contains an address, whole, or split into its scheme, host and port."""
    if document_reader.mentions(value, url):
        return True
    host, _, port = url.partition("://")[2].rpartition(":")
    # A registration may have host and port as separate members, and the port as a number or a text.
    whole = isinstance(value, dict) and port in {str(member) for member in value.values()}
    return whole and document_reader.mentions(value, host)


@check(
    "CP-ADDON-06",
    surface="control_plane",
    fix="Register with an address at which health answers 200; the control plane lists every registered service.",
    quick=OWN_PROCESSES,
)
async def an_addon_is_listed_by_the_hub(case: Case) -> None:
    """After its registration the control plane lists the addon in the posture.

    Starts each addon with a control plane that the suite starts, else with the one that runs. Expects a record with its
    address or a separate name in the posture. Without any control plane but the suite's, the registration must contain
    an address whose health answers 200.
    """
    subject_list, ended_hosts = subjects(case), list[str]()
    async with _real_hub(case) as hub:
        for subject in subject_list:
            if hub is None:
                await _judge_registration(case, subject)
            else:
                ended_hosts.append(await _judge_listing(case, subject, hub, ended_hosts))


@asynccontextmanager
async def _real_hub(case: Case) -> AsyncIterator[Hub | None]:
    """Yield a control plane that is started for this, else the one that runs, else None."""
    surface, token = case.profile.surfaces.get("control_plane"), token_of(case)
    if case.profile.hub_bindings.command is not None:
        async with started_hub(case) as instance:
            yield instance.hub
    elif surface is not None and token is not None:
        yield Hub(case, surface.url.rstrip("/"), case.profile.hub_bindings, token)
    else:
        yield None


async def _judge_registration(case: Case, subject: AddonSubject) -> None:
    async with _start_addon(case, subject) as running_addon:
        await running_addon.hub.wait_for_call(SERVICES, "POST", seconds=_budget(case))
        where = {**subject.where, STAND_IN: "the suite's own control plane"}
        if not any(_contains_address(body, running_addon.addon.url) for _, body in running_addon.hub.registrations):
            case.expect("CP-ADDON-06", False, "a registration that can be listed", "none with its address", where=where)
            return
        answer = await ask_until(
            lambda again: running_addon.health(again=again), lambda one: one.status == 200, _HEALTH_SECONDS
        )
        holds = answer.status == 200
        requirement = "a registered address whose health answers 200"
        case.expect("CP-ADDON-06", holds, requirement, answer.status, exchange=answer, where=where)


async def _judge_listing(case: Case, subject: AddonSubject, hub: Hub, ended_hosts: Sequence[str]) -> str:
    """Start an addon with a real control plane, and look for a new record in the posture that is about it.

    Returns:
        Its host and port. A later addon needs them, because this one may still become healthy in a posture.
    """
    before = json_of(await hub.posture())
    async with started_addon(case, subject, hub.url, hub.known_token) as addon:
        host = addon.url.partition("://")[2]

        def has_record(posture: Answer) -> bool:
            document = json_of(posture)
            return document_reader.mentions(document, host) or is_fresh(before, document, ended_hosts)

        answer = await ask_until(lambda again: hub.admin("GET", "/v1/posture", retry=again), has_record, _budget(case))
        finding = "listed" if has_record(answer) else "not listed"
        case.expect("CP-ADDON-06", has_record(answer), "listed", finding, exchange=answer, where=subject.where)
    return host


def is_fresh(before: object, after: object, ended_hosts: Sequence[str] = ()) -> bool:
    """Return whether a posture has a healthy record that is new, or has become healthy.

    A record that names the host and port of an addon that has `ended_hosts` does not count.
    """
    # Numbers of records are not compared, because some that were healthy before may have ended meanwhile.
    new_records = _find_healthy_records(after) - _find_healthy_records(before)
    ended_patterns = [re.compile(re.escape(host) + r"(?!\d)") for host in ended_hosts]
    return any(not any(one.search(text) for one in ended_patterns for text in texts) for texts in new_records)


def _find_healthy_records(document: object) -> set[tuple[str, ...]]:
    """Return the texts that identify the healthy records of a posture: in them, around them, and their names."""
    values = dict(leaves(document))
    healthy_places = (
        place for place, one in values.items() if _is_record(one) and document_reader.read_health(one, None, None)
    )
    return {_collect_texts(place, values) for place in healthy_places}


def _is_record(value: object) -> bool:
    """Return whether a value has one health, and none of the objects in it has another."""
    return isinstance(value, dict) and not any(
        isinstance(inner, dict) and document_reader.read_health(inner, None, None) is not None
        for place, inner in leaves(value)
        if place
    )


def _collect_texts(place: str, values: Mapping[str, object]) -> tuple[str, ...]:
    names = place.split(".")
    enclosing_values = [values.get(".".join(names[:count])) for count in range(1, len(names) + 1)]
    texts = [
        text for one in enclosing_values if isinstance(one, dict) for text in one.values() if isinstance(text, str)
    ]
    return (*(one for one in names if not one.isdecimal()), *sorted(one for one in texts if not INSTANT.match(one)))


def _budget(case: Case) -> float:
    return case.profile.hub_bindings.propagation_budget


@check(
    "CP-ADDON-07",
    "CP-ISSUER-10",
    surface="control_plane",
    self_contained=True,
    fix="Pull the trust set on start and again every few seconds, and use the latest one.",
    quick=OWN_PROCESSES,
)
async def an_addon_shares_the_trust_set(case: Case) -> None:
    """An addon has the hub's trust set, and picks up an issuer that is registered later.

    Starts each addon with the suite as its hub, then adds an issuer. Expects another pull within the budget. If the
    addon reports how many issuers it trusts, expects that number to change. An addon that does not pull again and
    reports no number may pull on demand, and is not judged.
    """
    judged_bundled = False
    for subject in subjects(case):
        rows = ("CP-ADDON-07", "CP-ISSUER-10") if subject.is_bundled else ("CP-ADDON-07",)
        judged_bundled = judged_bundled or subject.is_bundled
        async with _start_addon(case, subject) as running_addon:
            await _judge_following(running_addon, rows)
    if not judged_bundled:
        if bundled_names(case):
            case.mark_inconclusive("CP-ISSUER-10", "needs a bridged service to start: give [addons.NAME] command")
        else:
            case.mark_not_applicable("CP-ISSUER-10", "the profile has no bundled services")


async def _judge_following(running_addon: _RunningAddon, rows: tuple[str, ...]) -> None:
    case, hub, where = running_addon.case, running_addon.hub, running_addon.subject.where
    place = running_addon.subject.addon.issuers_at

    def judge(holds: bool, requirement: str, finding: object, exchange: Answer | None = None) -> None:
        for row in rows:
            case.expect(row, holds, requirement, finding, exchange=exchange, where=where)

    if await hub.wait_for_call(PKS, seconds=_budget(case)) is None:
        judge(False, f"GET {PKS} on its start", "none came")
        return
    # First the number at the start, then with one more: a constant in the health is wrong one time.
    for expected_count in (len(hub.trust_set), len(hub.trust_set) + 1):
        if expected_count > len(hub.trust_set):
            issuer = Hub(case, hub.url, case.profile.hub_bindings).new_issuer("later")
            hub.trust_set[issuer.did] = issuer.key
        if place is not None:
            answer = await ask_until(
                lambda again: running_addon.health(again=again), _has_count(place, expected_count), _budget(case)
            )
            number = document_reader.count(json_of(answer), "issuers", place)
            judge(number == expected_count, f"{expected_count} issuers", f"{number} issuers", answer)
    if place is None:
        # A service may follow the trust set by atb-keys.json instead of /v1/issuer-pks.
        if not await hub.is_pulled_again((PKS, ATB_KEYS), seconds=_budget(case), after=hub.last):
            reason = (
                f"unbound: it pulled the trust set once; give [addons.{running_addon.subject.name}] issuers_at, where "
                "its health reports how many issuers it trusts"
            )
            for row in rows:
                case.mark_inconclusive(row, reason)
            return
        judge(True, "the trust set pulled again", "it was pulled again")


def _has_count(place: str, expected_count: int) -> Callable[[Answer], bool]:
    return lambda answer: document_reader.count(json_of(answer), "issuers", place) == expected_count
