"""CP-VIEW-01: each member of the posture, if the target claims the specification (7.3, P-CP-05)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.http.client import Answer
from conformance.oracles.member_rules import Rule, Rules, between, equals, find_listed_faults, matches
from conformance.surfaces.control_plane.access import POSTURE, Hub, serving_hub
from conformance.surfaces.control_plane.services import (
    OK_REPLY,
    NamedService,
    PlayedService,
    play_service,
    play_trickling_service,
)
from conformance.webhook_receiver.raw_receiver import Reply

ROW: Final = "CP-VIEW-01"
_TIME: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
_READS: Final = 10
_BODY_MARK: Final = "qx7vzk-health-body"
_MARKED_REPLY: Final = Reply(503, (("Content-Type", "text/plain"), ("X-Note", _BODY_MARK)), _BODY_MARK.encode())
_MOVED_REPLY: Final = Reply(302, (("Location", "/elsewhere"),))
_NO_HTTP: Final = b"SSH-2.0-no-http-answer\r\n\r\n"
# More than the 64 KiB that are read, and then no end.
_ENDLESS_OK: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + b"a" * 100_000


@check(
    ROW,
    surface="control_plane",
    # Services that never end their answers slow each posture that is read meanwhile.
    exclusive=Exclusive.SURFACE,
    fix="Keep services by their names, ask each once a second at most, and give each record of the posture the members "
    "of 7.3, its address only to the administrator, and nothing of the health answer.",
)
async def members_of_the_posture(case: Case) -> None:
    """Each record of the posture has the members of 7.3, and findings are shared for one second.

    Registers services that are healthy, answer 503, 302 and no HTTP, are unreachable, and send a body without an end
    with 200. Registers a second name at the address of each of two. Expects a record for each name with each
    member, the word of each error, and a summary and a status of the records. Expects the address only with the admin
    token, and nothing of a health answer. Reads the posture ten times, and expects at most one health call a second.
    """
    hub = await serving_hub(case)
    hub.known_token  # noqa: B018 - without it nothing can be registered
    async with AsyncExitStack() as stack:
        replies = {"sound": OK_REPLY, "marked": _MARKED_REPLY, "moved": _MOVED_REPLY}
        played = {label: await play_service(case, stack, label, reply) for label, reply in replies.items()}
        gone = await play_service(case, stack, "gone")
        await gone.stop()
        garbled = await play_trickling_service(case, stack, "garbled", head=_NO_HTTP, piece=b"x")
        endless = await play_trickling_service(case, stack, "endless", head=_ENDLESS_OK, piece=b"a")
        twins = [replace(played[label], name=f"{played[label].name}-twin") for label in ("sound", "marked")]
        services: list[NamedService] = [*played.values(), gone, garbled, endless, *twins]
        await stack.enter_async_context(hub.registered_services(*services))
        answer = await hub.read_posture_until(
            lambda posture: all(_find_record(posture, one.name) is not None for one in services)
        )
        expectations = {
            played["sound"].name: (True, 200, None),
            played["marked"].name: (False, 503, "unexpected_status"),
            played["moved"].name: (False, 302, "unexpected_status"),
            twins[0].name: (True, 200, None),
            twins[1].name: (False, 503, "unexpected_status"),
            gone.name: (False, None, "unreachable"),
            garbled.name: (False, None, "bad_answer"),
            endless.name: (True, 200, None),
        }
        for name, (is_healthy, status, error) in expectations.items():
            faults = _find_record_faults(_find_record(answer, name), is_healthy, status, error)
            _expect(case, answer, faults, name.partition("-")[0])
        _expect(case, answer, _find_summary_faults(answer), "the whole")
        await _judge_addresses(case, hub, played["sound"])
    async with AsyncExitStack() as stack:
        service = await play_service(case, stack, "shared")
        await stack.enter_async_context(hub.registered_services(service))
        await _judge_sharing(case, hub, service)


def _expect(case: Case, answer: Answer, faults: Sequence[str], trial: str) -> None:
    finding = "; ".join(faults)[:1500] or "so"
    case.expect(ROW, not faults, "as 7.3 says", finding, exchange=answer, where={"record": trial})


def _list_records(answer: Answer) -> list[Mapping[str, Any]]:
    records = answer.read_object().get("services")
    return [one for one in records if isinstance(one, Mapping)] if isinstance(records, list) else []


def _find_record(answer: Answer, name: str) -> Mapping[str, Any] | None:
    return next((one for one in _list_records(answer) if one.get("name") == name), None)


def _find_record_faults(
    record: Mapping[str, Any] | None, is_healthy: bool, status: int | None, error: str | None
) -> list[str]:
    if record is None:
        return ["no record of this name"]
    rules: Rules = {
        "type": equals("addon"),
        "health_path": equals("/health"),
        "healthy": equals(is_healthy),
        "status_code": equals(status),
        "latency_ms": equals(None) if status is None else between(0, 60_000),
        "error": equals(error),
        "checked_at": matches(_TIME),
    }
    return find_listed_faults(record, rules, "the record")


def _find_summary_faults(answer: Answer) -> list[str]:
    document, records = answer.read_object(), _list_records(answer)
    healthy_count = sum(one.get("healthy") is True for one in records)
    counts = {"total": len(records), "healthy": healthy_count, "unhealthy": len(records) - healthy_count}
    rules: dict[str, Rule] = {
        "status": equals("degraded" if healthy_count < len(records) else "ok"),
        "checked_at": matches(_TIME),
        "summary": equals(counts),
        "issuers": between(0, 10**9),
    }
    faults = find_listed_faults(document, rules, "the posture")
    return faults + (["a part of a health answer"] if _BODY_MARK in answer.body.decode("utf-8", "replace") else [])


async def _judge_addresses(case: Case, hub: Hub, service: PlayedService) -> None:
    plain = await hub.call("GET", POSTURE)
    faults = ["base_url without the token"] if any("base_url" in one for one in _list_records(plain)) else []
    _expect(case, plain, faults, "without the admin token")
    shown = await hub.admin("GET", POSTURE)
    record = _find_record(shown, service.name) or {}
    faults = [] if record.get("base_url") == service.url else ["another base_url, or none"]
    _expect(case, shown, faults, "with the admin token")
    async with hub.registered_issuer(hub.new_issuer("counted")):
        # Other checks change the trust set as well, so the number lies between those before and after.
        before = len(await hub.trust_set())
        answer = await hub.call("GET", POSTURE)
        after = len(await hub.trust_set())
        number = answer.read_object().get("issuers")
        if before == after:
            faults = [] if number == before else [f"issuers {number!r}, not {before}"]
            _expect(case, answer, faults, "the number of issuers")


async def _judge_sharing(case: Case, hub: Hub, service: PlayedService) -> None:
    """Judge that a service gets at most one call a second, by the time that the reads take."""
    calls_before, start_seconds = len(service.calls), time.monotonic()
    answers = await run_concurrently(hub.call("GET", POSTURE) for _ in range(_READS))
    for _ in range(_READS):
        answers.append(await hub.call("GET", POSTURE))
    seconds = time.monotonic() - start_seconds
    count = len(service.calls) - calls_before
    # A call for each second that was begun, and one for the second in which the reads began.
    most = int(seconds) + 2
    faults = [] if count <= most else [f"{count} calls in {seconds:.1f} s"]
    _expect(case, answers[-1], faults, f"{2 * _READS} reads")
