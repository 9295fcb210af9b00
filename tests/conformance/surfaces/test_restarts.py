"""Checks that have a service started again side by side share one restart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from conformance.engine.check import Case, Check
from conformance.engine.exclusive import Exclusive
from conformance.engine.runner import Plan, Run
from conformance.ledger import load
from conformance.log.events import EventLog
from conformance.outcome import Inconclusive
from conformance.surfaces.restarts import ready_for_restart, start_again
from conformance.target import Claims, Profile, Surface

ROW = "X-ROB-01"


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """A server that answers whatever it is asked."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


class Restarts:
    """Checks that prepare something, have a service started again by a command, and look."""

    def __init__(self, folder: Path, url: str, command: str) -> None:
        self.done = folder / "restarts"
        self.words = ["sh", "-c", command, str(self.done)]
        self.url = url
        self.order: list[str] = []
        self.faults: list[str] = []

    def check(self, name: str, *, steps: int, surface: str = "gateway", door: str = "/") -> Check:
        """Return a check whose preparation takes so many turns of the event loop."""

        async def restarts(case: Case) -> None:
            for _ in range(steps):
                await asyncio.sleep(0)
            self.order.append(f"{name} is ready")
            await ready_for_restart(case)
            try:
                await start_again(case, self.words, self.url + door)
            except Inconclusive as fault:
                self.faults.append(str(fault))
            self.order.append(f"{name} looks")

        return Check(name, (ROW,), surface, None, Exclusive.RESTART, "", restarts)

    async def run(self, *checks: Check) -> int:
        """Run checks and return how often the command was run."""
        claims = Claims(surfaces=("gateway", "rail"))
        profile = Profile(surfaces={name: Surface(url=self.url) for name in claims.surfaces}, claims=claims)
        log = EventLog()
        await Run(Plan((load()[ROW],), checks, seed=1, workers=2), profile, log).execute()
        assert {event["outcome"] for event in log.of("check.finished")} == {"done"}, log.of("check.finished")
        return len(self.done.read_text().splitlines())


async def test_a_service_is_started_again_once_when_all_are_ready(tmp_path: Path, url: str) -> None:
    """No check looks before all have prepared what should outlive the restart."""
    restarts = Restarts(tmp_path, url, 'echo again >> "$0"')
    assert await restarts.run(restarts.check("quick", steps=1), restarts.check("slow", steps=200)) == 1
    assert restarts.order[:2] == ["quick is ready", "slow is ready"]
    assert sorted(restarts.order[2:]) == ["quick looks", "slow looks"]


async def test_one_alone_and_another_service_have_their_own(tmp_path: Path, url: str) -> None:
    """The rail's restart is no restart of the gateway."""
    restarts = Restarts(tmp_path, url, 'echo again >> "$0"')
    rail = restarts.check("rail", steps=1, surface="rail", door="/rail")
    assert await restarts.run(restarts.check("alone", steps=3), rail) == 2
    assert restarts.faults == []


async def test_a_restart_that_fails_does_so_for_all(tmp_path: Path, url: str) -> None:
    """Each tells why."""
    restarts = Restarts(tmp_path, url, 'echo again >> "$0"; echo no such unit; exit 3')
    assert await restarts.run(restarts.check("quick", steps=1), restarts.check("slow", steps=200)) == 1
    assert len(restarts.faults) == 2
    assert all("ended with 3: no such unit" in fault for fault in restarts.faults)


async def test_a_command_that_fails_at_once_is_run_once(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All checks that were ready at the same time are notified, though nothing took any time."""
    restarts, calls = Restarts(tmp_path, url, ""), []

    async def fails(words: Sequence[str], url: str, client: object, names: object) -> None:
        del words, client, names
        calls.append(url)
        restarts.done.write_text("")
        raise Inconclusive("cannot be run")

    monkeypatch.setattr("conformance.surfaces.restarts.restart", fails)
    await restarts.run(restarts.check("quick", steps=1), restarts.check("slow", steps=200))
    assert calls == [f"{url}/"]
    assert restarts.faults == ["cannot be run"] * 2
