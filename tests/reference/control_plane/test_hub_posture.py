"""The posture: who is asked, what counts as healthy, and what hostile services can do to it (7.3, C-05)."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from reference.control_plane import service_health
from reference.control_plane.health_client import HealthResult
from reference.web.clock import WpClock
from tests.reference.control_plane.hub_stack import Hub, hub
from tests.reference.control_plane.scripted_service import Script, Writer, answers, hangs, says, service
from tests.reserved_port import reserved_port


@pytest.fixture
async def quick(tmp_path: Path) -> AsyncIterator[Hub]:
    """A control plane that waits for health half a second."""
    async with hub(tmp_path / "quick", health_timeout=0.5) as control_plane:
        yield control_plane


def share_readings(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(service_health, "SHARED_SECONDS", seconds)


async def finding(plane: Hub, url: str, **members: Any) -> dict[str, Any]:
    """Register a service and return how the posture shows it."""
    assert (await plane.serve("a", url, **members)).status_code in {200, 201}
    document = await plane.posture()
    match: dict[str, Any] = document["services"][0]
    healthy = int(match["healthy"])
    assert document["summary"] == {"total": 1, "healthy": healthy, "unhealthy": 1 - healthy}
    assert document["status"] == ("ok" if match["healthy"] else "degraded")
    return match


async def test_no_service_is_an_empty_posture(either: Hub) -> None:
    """With the number of issuers."""
    await either.register()
    document = await either.posture()
    assert document == {
        "status": "empty",
        "checked_at": document["checked_at"],
        "services": [],
        "summary": {"total": 0, "healthy": 0, "unhealthy": 0},
        "issuers": 1,
    }


async def test_a_service_that_answers_200_is_healthy(plane: Hub) -> None:
    """It is asked at the registered address with one GET, and listed by name; only the operator sees the address."""
    async with service(answers(200)) as service_process:
        health = await finding(plane, f"{service_process.url}/base/", health_path="/up?deep=1")
        assert health == {
            "name": "a",
            "type": "addon",
            "health_path": "/up?deep=1",
            "healthy": True,
            "status_code": 200,
            "latency_ms": health["latency_ms"],
            "error": None,
            "checked_at": health["checked_at"],
        }
        assert health["latency_ms"] >= 0
        lines = service_process.heads[0].split("\r\n")
        assert lines[0] == "GET /base/up?deep=1 HTTP/1.1"
        assert "user-agent: Weldproof/1" in [one.lower().replace("weldproof", "Weldproof") for one in lines]
        assert not [one for one in lines if one.lower().startswith(("authorization", "cookie"))]
        assert (await plane.posture(admin=True))["services"][0]["base_url"] == f"{service_process.url}/base/"


@pytest.mark.parametrize("status", [201, 204, 301, 302, 307, 308, 401, 404, 429, 500, 503])
async def test_any_other_status_is_not_healthy(plane: Hub, status: int) -> None:
    """200 alone is (interface)."""
    body = "" if status == 204 else "ok"
    async with service(answers(status, body=body)) as service_process:
        health = await finding(plane, service_process.url)
    assert (health["healthy"], health["status_code"], health["error"]) == (False, status, "unexpected_status")


async def test_a_redirect_is_not_followed(plane: Hub) -> None:
    """P-CV-21: only the registered address is asked."""
    async with (
        service(answers(200)) as elsewhere,
        service(answers(302, f"Location: {elsewhere.url}/x")) as service_process,
    ):
        assert (await finding(plane, service_process.url))["status_code"] == 302
        assert elsewhere.heads == []


async def test_proxies_of_the_environment_are_not_used(plane: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-CV-21."""
    async with service(answers(200)) as proxy, service(answers(200)) as service_process:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert (await finding(plane, service_process.url))["healthy"]
        assert (len(service_process.heads), proxy.heads) == (1, [])


async def test_nobody_listens(plane: Hub) -> None:
    """Unreachable, without a status and a latency."""
    with reserved_port() as port:
        health = await finding(plane, f"http://127.0.0.1:{port}")
    assert (health["healthy"], health["status_code"], health["latency_ms"], health["error"]) == (
        *(False, None, None),
        "unreachable",
    )


@pytest.mark.parametrize(
    "url", ["http://nowhere.invalid", "https://127.0.0.1:9", "http://a..b", "http://" + "a" * 64 + ".x"]
)
async def test_an_address_that_leads_nowhere(plane: Hub, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Also a name that no resolver takes: the posture shows it, and answers."""
    plainly = socket.getaddrinfo

    def looked_up(host: str, *context: Any, **further: Any) -> Any:
        if host == "nowhere.invalid":  # whatever resolver this machine has, and however long it thinks
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return plainly(host, *context, **further)

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    health = await finding(plane, url)
    assert (health["healthy"], health["status_code"], health["error"]) == (False, None, "unreachable")


async def endless_body(writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"1000\r\n" + b"x" * 4096 + b"\r\n")
        await writer.drain()


async def endless_head(writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X: " + b"x" * 4000 + b"\r\n")
        await writer.drain()


async def endless_informing(writer: Writer) -> None:
    while True:
        writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100)
        await writer.drain()


async def half_a_head(writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX:")
    await hangs(writer)


async def half_a_body(writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx")
    await hangs(writer)


@pytest.mark.parametrize(
    ("script", "healthy", "status", "error"),
    [
        (hangs, False, None, "timeout"),
        (half_a_head, False, None, "timeout"),
        (half_a_body, False, None, "timeout"),
        (endless_body, True, 200, None),
        (endless_head, False, None, "bad_answer"),
        (endless_informing, False, None, "bad_answer"),
        (says(""), False, None, "bad_answer"),
        (says("HTTP/1.1 200 OK\r\n"), False, None, "bad_answer"),
        (says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx"), False, None, "bad_answer"),
        (says("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), False, None, "bad_answer"),
        (says("SSH-2.0-x\r\n"), False, None, "bad_answer"),
        (says("HTTP/2 200\r\n\r\n"), False, None, "bad_answer"),
        (says("HTTP/1.1 101 X\r\n\r\n"), False, None, "bad_answer"),
        (says("HTTP/1.1 999 X\r\n\r\n"), False, 999, "unexpected_status"),
        (says("HTTP/1.0 200 OK\r\n\r\nuntil the end"), True, 200, None),
        (answers(200, body="x" * 200_000), True, 200, None),
    ],
)
async def test_what_a_service_may_answer(
    plane: Hub, quick: Hub, script: Script, healthy: bool, status: int | None, error: str | None
) -> None:
    """A truncated answer counts as no answer; of an endless one 64 KiB are read."""
    async with service(script) as service_process:
        health = await finding(quick if error == "timeout" else plane, service_process.url)
    assert (health["healthy"], health["status_code"], health["error"]) == (healthy, status, error)


async def test_services_are_asked_side_by_side(plane: Hub) -> None:
    """Forty that answer only once the last one was asked do not hold it up, and are found healthy with it."""
    asked_event = asyncio.Event()

    async def first_the_last(writer: Writer) -> None:
        await asked_event.wait()
        await answers(200)(writer)

    async def last(writer: Writer) -> None:
        asked_event.set()
        await answers(200)(writer)

    async with service(first_the_last) as service_process, service(last) as fine:
        for place in range(40):
            await plane.serve(f"waiting-{place}", f"{service_process.url}/{place}")
        await plane.serve("fine", fine.url)
        assert (await plane.posture())["summary"] == {"total": 41, "healthy": 41, "unhealthy": 0}


async def test_services_that_hang_take_as_long_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    """Each of forty has its time, and the posture is returned within its own limit."""
    monkeypatch.setattr(service_health, "WHOLE_SECONDS", patience)
    async with hub(tmp_path, health_timeout=2) as plane, service(hangs) as stuck:
        for place in range(40):
            await plane.serve(f"stuck-{place}", f"{stuck.url}/{place}")
        began = time.monotonic()
        document = await plane.posture()
        # Three seconds by the profile; the rest is for a machine that has other things to do.
        assert time.monotonic() - began < 3 + 30
        assert {one["error"] for one in document["services"]} == {"timeout"}


async def test_no_more_than_some_are_asked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others wait for their turn, and are asked then."""
    monkeypatch.setattr(service_health, "AT_ONCE", 3)
    now, most, fine = 0, 0, HealthResult(200, 1, None)

    async def ask(_: str) -> HealthResult:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        return fine

    board = await service_health.HealthBoard(ask, WpClock()).look([str(place) for place in range(20)])
    assert most == 3
    assert [one.finding for one in board.values()] == [fine] * 20


async def test_a_posture_is_told_in_time_though_not_all_were_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    """Those whose turn did not come count as late."""
    monkeypatch.setattr(service_health, "AT_ONCE", 1)
    monkeypatch.setattr(service_health, "WHOLE_SECONDS", patience)
    async with hub(tmp_path, health_timeout=2) as plane, service(hangs) as stuck:
        for place in range(20):
            await plane.serve(f"stuck-{place}", f"{stuck.url}/{place}")
        began = time.monotonic()
        assert {one["error"] for one in (await plane.posture())["services"]} == {"timeout"}
        assert time.monotonic() - began < 20 * 2  # what asking one after the other would take


async def test_findings_are_shared_while_they_are_fresh(plane: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty calls at once ask a service once; a service that is registered meanwhile is listed at once."""
    assert service_health.SHARED_SECONDS == 1
    share_readings(monkeypatch, 3600)
    async with service(answers(200)) as service_process:
        await plane.serve("a", service_process.url)
        for posture in await asyncio.gather(*(plane.posture() for _ in range(20))):
            assert posture["status"] == "ok"
        assert len(service_process.heads) == 1
        await plane.serve("b", f"{service_process.url}/b")
        assert [one["name"] for one in (await plane.posture())["services"]] == ["a", "b"]


async def test_findings_are_asked_for_anew_after_a_second(plane: Hub) -> None:
    """The posture follows a service that fails and comes back."""

    async def becomes(healthy: bool) -> None:
        async with asyncio.timeout(100):
            while (await plane.posture())["services"][0]["healthy"] is not healthy:  # noqa: ASYNC110 - it sends no signal
                await asyncio.sleep(0.05)

    async with service(answers(200)) as service_process:
        await plane.serve("a", service_process.url)
        await becomes(True)
        service_process.script = answers(503)
        await becomes(False)
        service_process.script = answers(200)
        await becomes(True)


async def test_who_gives_up_waiting_takes_nothing_from_others(plane: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that was cancelled leaves the finding to those who share it."""
    share_readings(monkeypatch, 3600)
    release = asyncio.Event()

    async def slowly(writer: Writer) -> None:
        await release.wait()
        await answers(200)(writer)

    async with service(slowly) as service_process:
        await plane.serve("a", service_process.url)
        calls = [asyncio.create_task(plane.posture()) for _ in range(2)]
        while not service_process.heads:  # noqa: ASYNC110 - a socket sends no signal
            await asyncio.sleep(0.01)
        calls[0].cancel()
        await asyncio.gather(calls[0], return_exceptions=True)
        release.set()
        assert (await calls[1])["status"] == "ok"
        assert len(service_process.heads) == 1


async def test_a_service_that_was_removed_is_not_asked_again(plane: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that moved is asked at its new address only (CP-CONF-06)."""
    share_readings(monkeypatch, 0.0)
    async with service(answers(200)) as old, service(answers(200)) as new:
        await plane.serve("a", old.url)
        await plane.posture()
        await plane.serve("a", new.url)
        await plane.posture()
        await plane.http.delete("/v1/services/a", headers=plane.admin)
        await plane.posture()
        assert (len(old.heads), len(new.heads)) == (1, 1)


async def test_nothing_but_the_posture_asks_anybody(plane: Hub) -> None:
    """Registering and reading make no outbound calls (interface: no outbound calls of its own)."""
    async with service(answers(200)) as service_process:
        await plane.serve("a", service_process.url)
        await plane.register("did:web:" + service_process.url.removeprefix("http://").replace(":", "%3A"))
        for path in ("/health", "/v1/issuer-pks", "/.well-known/atb-keys.json", "/openapi.json"):
            await plane.http.get(path)
        await plane.audit(verify="full")
        assert service_process.heads == []
