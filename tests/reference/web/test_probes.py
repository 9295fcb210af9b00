"""Probes of liveness and readiness, for load balancers and orchestrators (P-CV-24)."""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from reference.web.process.readiness import Readiness
from reference.web.process.shutdown import Shutdown
from tests.reference.web.five_services import SERVICES, five_services
from tests.reference.worker_process import WorkerProcess


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, WorkerProcess]]:
    """One worker of each service."""
    with five_services(tmp_path_factory.mktemp("services")) as workers:
        yield workers


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(("path", "status"), [("/health/live", "live"), ("/health/ready", "ready")])
def test_each_service_answers_probes(services: dict[str, WorkerProcess], service: str, path: str, status: str) -> None:
    """200 with a request id, never from a cache; HEAD is GET without a body, and POST is no probe."""
    http = services[service].http
    answer = http.get(path)
    assert (answer.status_code, answer.json()) == (200, {"status": status})
    assert answer.headers["Cache-Control"] == "no-store"
    assert re.fullmatch(r"req_[0-9a-f]{32}", answer.headers["X-Request-Id"])
    assert (http.head(path).status_code, http.head(path).content) == (200, b"")
    assert http.post(path, json={}).status_code in {404, 405}


@pytest.mark.parametrize("server", ["hypercorn", "uvicorn"])
def test_a_process_that_ends_is_alive_and_not_ready(tmp_path: Path, server: str) -> None:
    """After SIGTERM it drains: not ready at once, calls are served, and each answer ends its connection."""
    settings = {"WP_SERVER": server, "WP_DRAIN_SECONDS": "60"}
    worker = WorkerProcess(tmp_path / "agent", ("-m", "reference.agent"), "WP_AGENT_FD", settings)
    try:
        worker.start().ready()
        assert worker.process is not None
        worker.process.send_signal(signal.SIGTERM)
        answer = await_drain(worker.http)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        for path in ("/health/live", "/health", "/.well-known/agent-card.json"):
            served = worker.http.get(path)
            assert (served.status_code, served.headers["Connection"]) == (200, "close")
        # A second signal does not wait for the rest of the minute.
        worker.stop()
    finally:
        worker.close()


def await_drain(http: httpx.Client) -> httpx.Response:
    """Return the first answer of a process that is not ready."""
    deadline = time.monotonic() + 60
    while (answer := http.get("/health/ready")).status_code == 200:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return answer


async def test_a_condition_that_hangs_does_not_hold() -> None:
    """It is given up, and its name is the reason."""
    readiness = Readiness(Shutdown(), seconds=0.01)
    with readiness.require("database", asyncio.Event().wait):
        assert await readiness.find_fault() == "database"


async def test_a_condition_that_fails_does_not_hold() -> None:
    """After the block it is required no more."""

    async def fail() -> None:
        raise OSError

    readiness = Readiness(Shutdown())
    with readiness.require("database", fail):
        assert await readiness.find_fault() == "database"
    assert await Readiness(Shutdown()).find_fault() is None


async def test_probes_share_one_question() -> None:
    """However many come, the condition is asked once a second."""
    calls = []

    async def note_call() -> None:
        calls.append(1)
        await asyncio.sleep(0)

    readiness = Readiness(Shutdown())
    with readiness.require("database", note_call):
        assert await asyncio.gather(*(readiness.find_fault() for _ in range(9))) == [None] * 9
        assert await readiness.find_fault() is None
    assert len(calls) == 1
