"""The end of a process: what still waits is answered 503 in the form of its surface, on every service and server."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import MutableMapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from reference.web.http.asgi_envelope import Envelope
from reference.web.process.shutdown import CutShort, Interruptible, Shutdown
from tests.reference.web.five_services import Answer, five_services

HOST = b"Host: a.example\r\n"
PART = b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
# A call of each service that waits: most of its body has not come.
WAITING = {
    "rail": (b"POST /pay/v1/verify/receipt HTTP/1.1\r\n", b"POST /a2a HTTP/1.1\r\n"),
    "gateway": (b"POST /v1/receipt/verify HTTP/1.1\r\n", b"POST /dashboard/sign-in HTTP/1.1\r\n"),
    "agent": (b"POST /verify/rfc9421 HTTP/1.1\r\n", b"POST /a2a HTTP/1.1\r\n"),
    "control_plane": (b"POST /v1/services HTTP/1.1\r\nAuthorization: Bearer " + b"a" * 43 + b"\r\n",),
    "addon": (b"POST /v1/verify HTTP/1.1\r\n",),
}
CALLS = [(service, head) for service, heads in WAITING.items() for head in heads]


@pytest.mark.parametrize("server", ["hypercorn", "uvicorn"])
def test_every_service_answers_what_it_does_not_finish(tmp_path: Path, server: str) -> None:
    """503 with `Retry-After`, a request id and a body, before the server breaks off; the service ends with status 0."""
    with five_services(tmp_path, server) as workers, ThreadPoolExecutor(len(workers)) as pool:
        connections = [
            socket.create_connection(workers[service].socket.getsockname(), timeout=120) for service, _ in CALLS
        ]
        for connection, (_, head) in zip(connections, CALLS, strict=True):
            connection.sendall(head + HOST + PART)
        for worker in workers.values():  # what was sent before has been read by then
            assert worker.http.get("/health").status_code in {200, 503}
        stops = [pool.submit(worker.stop) for worker in workers.values()]
        answers = [(*call, receive_all(one)) for call, one in zip(CALLS, connections, strict=True)]
        for stop in stops:
            stop.result()
    for service, head, answer in answers:
        assert answer.status == 503, (service, head, answer.raw)
        assert answer.count == 1
        assert int(answer.headers["retry-after"]) >= 1
        assert re.fullmatch(r"req_[0-9a-f]{32}", answer.headers["x-request-id"])
        assert answer.headers["connection"] == "close"
        check_form(service, head, answer)


def receive_all(connection: socket.socket) -> Answer:
    """Return what comes until the connection is ended."""
    parts = []
    with connection:
        while part := connection.recv(65536):
            parts.append(part)
    return Answer(b"".join(parts), ended=True)


def check_form(service: str, head: bytes, answer: Answer) -> None:
    """Check that an answer's body is an error of its surface: JSON, on the dashboard a page."""
    if b"/dashboard" in head:
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert b"shutting_down" in answer.body
        return
    body: Any = answer.json
    assert answer.headers["content-type"] == "application/json"
    if service in {"rail", "gateway"}:
        assert (body["error"], body["request_id"]) == ("shutting_down", answer.headers["x-request-id"])
        assert "shutting down" in body["message"]
    else:
        assert "shutting down" in body["detail"]


async def test_a_call_that_ends_in_time_has_its_own_answer() -> None:
    """The signal interrupts nothing by itself."""
    shutdown = Shutdown()
    with Interruptible(shutdown):
        shutdown.begin()
        await asyncio.sleep(0)
    with Interruptible(shutdown):
        await asyncio.sleep(0)


async def test_a_call_that_goes_on_is_interrupted_and_none_begins_after_that() -> None:
    """Also a call that came after the signal; the task itself is not cancelled."""
    shutdown = Shutdown(answer_seconds=0.01)
    shutdown.begin()
    for _ in range(2):
        with pytest.raises(CutShort), Interruptible(shutdown):
            await asyncio.Event().wait()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_before_the_signal_a_task_is_cancelled_as_ever() -> None:
    """A client that hangs up is no end of the process."""

    async def wait() -> None:
        with Interruptible(Shutdown()):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_server_that_cancels_first_sends_the_same_answer() -> None:
    """The loop may have been held up for longer than the server's patience."""
    shutdown = Shutdown(answer_seconds=3600)
    messages: list[MutableMapping[str, Any]] = []

    async def app(scope: object, receive: object, send: object) -> None:
        del scope, receive, send
        await asyncio.Event().wait()

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        messages.append(message)

    scope = {"type": "http", "method": "GET", "path": "/x", "query_string": b"", "headers": []}
    task = asyncio.create_task(Envelope(app, 1024, shutdown=shutdown)(scope, receive, send))
    await asyncio.sleep(0)
    shutdown.begin()
    task.cancel()
    await task
    assert [message.get("status") for message in messages] == [503, None]
