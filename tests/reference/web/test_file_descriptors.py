"""A process that runs out of descriptors says so: in its log once in a while, and in its health."""

from __future__ import annotations

import contextlib
import http.client
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from reference.web.process.file_descriptors import Count, Watch, count_descriptors
from tests.reference.worker_process import WorkerProcess

LIMIT = 64


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[WorkerProcess]:
    """An agent that may have few descriptors."""
    worker = WorkerProcess(tmp_path, ("-m", "reference.agent"), "WP_AGENT_FD", {})
    try:
        worker.start().ready()
        assert worker.process is not None
        resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
        yield worker
    finally:
        worker.close()


def until(connection: http.client.HTTPConnection, status: int) -> http.client.HTTPResponse:
    """Ask for health on a connection that is open already until it has a status."""
    while True:
        connection.request("GET", "/health")
        answer = connection.getresponse()
        answer.read()
        if answer.status == status:
            return answer
        time.sleep(0.02)


def test_health_and_log_tell_that_descriptors_run_out(agent: WorkerProcess) -> None:
    """503 on the connections that there are; one line; and both when there are enough again."""
    address = agent.socket.getsockname()
    connection = http.client.HTTPConnection(address[0], address[1], timeout=100)
    until(connection, 200)
    with contextlib.ExitStack() as open_files:
        for _ in range(2 * LIMIT):
            open_files.enter_context(socket.create_connection(address, 100))
        outcome = until(connection, 503)
        until(connection, 503)
    until(connection, 200)
    connection.close()
    lines = [line for line in agent.log().splitlines() if "descriptors_" in line]

    assert outcome.headers["Retry-After"] == "5"
    assert ["descriptors_short" in lines[0], "descriptors_enough" in lines[-1]] == [True, True]
    assert "Traceback" not in agent.log()


def test_it_is_said_once_in_a_while() -> None:
    """Not at each look; at once when it comes back."""
    now, used = [0.0], [60]
    watch = Watch(lambda: Count(used[0], LIMIT), lambda: now[0])
    with structlog.testing.capture_logs() as log_entries:
        for second in range(125):
            now[0] = float(second)
            watch.look()
        used[0] = 10
        watch.look()
        watch.look()

    assert [line["event"] for line in log_entries] == ["descriptors_short"] * 3 + ["descriptors_enough"]
    assert not watch.is_short


def test_descriptors_are_counted(tmp_path: Path) -> None:
    """One more open file is one more."""
    before = count_descriptors()
    with (tmp_path / "file").open("wb"):
        assert count_descriptors().used == before.used + 1
    assert count_descriptors() == before
