"""Each server that is offered, byte for byte: what a connection gets is the same on all of them."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from reference.web.servers.uvicorn_http1 import FastHttp1
from reference.web.settings import HYPERCORN, UVICORN
from tests import prepared
from tests.reference.web.five_services import Answer, send_bytes
from tests.reference.worker_process import WorkerProcess, environment

HOST = b"Host: a.example\r\n"
H2C = b"Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"
JSON = b"Content-Type: application/json\r\n"
CLOSE = b"Connection: close\r\n"
LAST = b"GET /health HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n"
VERIFY = b"POST /verify/rfc9421 HTTP/1.1\r\n" + HOST + JSON
SERVICES = {
    "rail": "reference.rail",
    "gateway": "reference.gateway",
    "agent": "reference.agent",
    "control_plane": "reference.control_plane",
    "addon": "reference.addons.atb_verifier",
}


@pytest.fixture(scope="module", params=[HYPERCORN, UVICORN])
def agent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """One agent on one server after the other."""
    settings = {"WP_SERVER": request.param}
    worker = WorkerProcess(tmp_path_factory.mktemp("agent"), ("-m", "reference.agent"), "WP_AGENT_FD", settings).start()
    try:
        yield worker.ready()
    finally:
        worker.close()


def ask(worker: WorkerProcess, raw: bytes) -> Answer:
    """Send bytes to a worker."""
    return send_bytes(worker.socket.getsockname(), raw)


def statuses(answer: Answer) -> list[int]:
    """Return the status of each answer that came."""
    return [int(one) for one in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer.raw)]


@pytest.mark.parametrize("body", [b"{}", LAST], ids=["JSON", "a request"])
@pytest.mark.parametrize("framed", ["length", "chunks"])
def test_a_body_behind_an_upgrade_is_that_body(agent: WorkerProcess, framed: str, body: bytes) -> None:
    """An upgrade that is ignored moves no message's end, and what is in a body is never carried out."""
    how = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    if framed == "chunks":
        how = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    for at_once in (True, False):
        raw = VERIFY + H2C + how
        answer = ask(agent, raw + LAST) if at_once else asked_in_parts(agent, [raw, LAST])

        assert (statuses(answer), answer.ended) == ([422, 200], True), answer.raw


def asked_in_parts(worker: WorkerProcess, parts: list[bytes]) -> Answer:
    """Send bytes one by one, which is every way to cut them."""
    with socket.create_connection(worker.socket.getsockname(), 60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for part in parts:
            for place in range(len(part)):
                connection.sendall(part[place : place + 1])
        matches = []
        while some := connection.recv(65536):
            matches.append(some)
    return Answer(b"".join(matches), ended=True)


@pytest.mark.parametrize("method", [b"BREW", b"X-1"])
def test_a_method_that_nobody_knows_is_the_apps_to_refuse(agent: WorkerProcess, method: bytes) -> None:
    """With its own status; on the first call of a connection and on a later one, alone or among others."""
    odd = method + b" /health HTTP/1.1\r\n" + HOST + b"\r\n"

    assert statuses(ask(agent, odd + LAST)) == [405, 200]
    assert statuses(ask(agent, odd[:-2] + H2C + b"\r\n" + LAST)) == [405, 200]


def test_an_empty_line_before_a_request_may_come_in_parts(agent: WorkerProcess) -> None:
    """CR LF is one line end, wherever it is cut: uvicorn's parser skips the line, h11 takes none (RFC 9112, 2.2)."""
    if agent.environment["WP_SERVER"] == UVICORN:
        assert statuses(asked_in_parts(agent, [b"\r\n" + LAST])) == [200]
    else:
        # It answers and closes at once: what is sent after the line meets a closed connection.
        assert statuses(asked_in_parts(agent, [b"\r\n"])) == [400]


def test_a_field_behind_the_body_is_none_of_the_head(agent: WorkerProcess) -> None:
    """A trailer that contradicts the head changes nothing."""
    chunked_body = b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nContent-Type: text/plain\r\nHost: b\r\n\r\n"
    answer = ask(agent, VERIFY + chunked_body + LAST)

    assert statuses(answer) == [422, 200], answer.raw


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"GET /health?" + b"a" * 9000 + b" HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", 414),
        (b"GET /health HTTP/1.1\r\n" + HOST + CLOSE + b"A: " + b"b" * 20_000 + b"\r\n\r\n", 431),
        (b"GET /health HTTP/1.1\r\n" + HOST + b"A: " + b"b" * 400_000, 431),
        (b"GET /" + b"a" * 400_000, 431),
        (VERIFY + b"Content-Length: 1000000\r\n\r\n", 413),
        (VERIFY + b"Transfer-Encoding: chunked\r\n\r\n80000\r\n" + b"a" * 0x80000 + b"\r\n0\r\n\r\n", 413),
        (VERIFY + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nA: " + b"b" * 400_000, 431),
    ],
    ids=["target", "headers", "headers without end", "target without end", "length", "chunks", "trailers without end"],
)
def test_what_is_too_large_is_refused(agent: WorkerProcess, raw: bytes, status: int) -> None:
    """In the service's own form, and nothing more than the limit is kept of what has no end."""
    answer = ask(agent, raw)

    assert (answer.status, answer.count, answer.ended) == (status, 1, True), answer.raw[:300]
    assert re.fullmatch(r"req_[0-9a-f]{32}", answer.headers["x-request-id"])
    assert answer.headers["connection"] == "close"


def test_a_break_in_a_body_spoils_no_answer_before_it(agent: WorkerProcess) -> None:
    """What came whole is answered, in its order."""
    whole = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
    answer = ask(agent, whole + whole + VERIFY + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + whole)

    assert (statuses(answer), answer.ended) == ([200, 200, 400], True), answer.raw


async def test_on_uvicorn_a_connection_without_a_head_is_ended() -> None:
    """The first head has its time, as the next one has: uvicorn itself waits for the first one for ever."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive, send

    config = uvicorn.Config(app, http=FastHttp1, ws="none", lifespan="off", log_config=None, timeout_keep_alive=0)
    config.load()
    state = uvicorn.server.ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: FastHttp1(config, state, {}), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"GET / HT")

        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    ("name", "why"),
    [("granian", "granian answers broken framing by itself"), ("gunicorn", "give hypercorn or uvicorn")],
)
def test_a_server_that_is_not_offered_says_why(service: str, name: str, why: str, tmp_path: Path) -> None:
    """One line and status 2, whether it is asked for by the option or by the setting, and nothing was written."""
    env = environment(S2CP_DATA_DIR=str(tmp_path / "hub"))
    for ended in (
        prepared.run(SERVICES[service], "--server", name, env=env, cwd=tmp_path),
        prepared.run(SERVICES[service], env=env | {"WP_SERVER": name}, cwd=tmp_path),
    ):
        assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1), ended.stderr
        assert ended.stderr.startswith(f"WP_SERVER: {why}")
    assert list(tmp_path.iterdir()) == []


def test_the_option_counts_before_the_setting(tmp_path: Path) -> None:
    """What is typed is what serves."""
    worker = WorkerProcess(
        tmp_path, ("-m", "reference.agent", "--server", UVICORN), "WP_AGENT_FD", {"WP_SERVER": "granian"}
    )
    try:
        assert worker.start().ready().is_running
    finally:
        worker.close()
