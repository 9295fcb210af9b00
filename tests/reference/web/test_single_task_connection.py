"""The lean connection answers as Quart's own does, with one task a request; streams go Quart's way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from quart import Quart, Response, request

from reference.web.http.asgi_envelope import Message
from reference.web.http.single_task_connection import SingleTaskConnection


def app(*, lean: bool) -> Quart:
    """Return an app with one route of each kind, on either connection class."""
    quart_app = Quart(__name__, static_folder=None)
    quart_app.config.update(RESPONSE_TIMEOUT=None, BODY_TIMEOUT=None)
    if lean:
        quart_app.asgi_http_class = SingleTaskConnection

    @quart_app.post("/echo")
    async def echo() -> Response:
        return Response(await request.get_data(as_text=False), 201, {"X-Tasks": str(len(asyncio.all_tasks()))})

    @quart_app.get("/stream")
    async def stream() -> Response:
        async def parts() -> AsyncIterator[bytes]:
            for number in range(3):
                yield str(number).encode()

        return Response(parts())

    @quart_app.get("/fault")
    async def fault() -> Response:
        raise RuntimeError("an unexpected fault")

    return quart_app


async def sent_by(served: Quart, method: str, path: str, *parts: bytes) -> list[Message]:
    """Return the messages of an answer."""
    body_parts = list(parts) or [b""]
    payments_sent: list[Message] = []

    async def receive() -> Any:
        if not body_parts:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": body_parts.pop(0), "more_body": bool(body_parts)}

    async def send(message: Any) -> None:
        payments_sent.append(message)

    scope: Any = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"localhost"), (b"content-type", b"text/plain")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "extensions": {},
    }
    await served(scope, receive, send)
    return payments_sent


def visible_answer(messages: list[Message]) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Return what a client sees of an answer, but for how many tasks there were."""
    headers = [(name, value) for name, value in messages[0]["headers"] if name != b"x-tasks"]
    return messages[0]["status"], headers, b"".join(one["body"] for one in messages[1:])


@pytest.mark.parametrize(
    ("method", "path", "parts"),
    [
        ("POST", "/echo", (b"whole",)),
        ("POST", "/echo", (b"",)),
        ("POST", "/echo", (b"in ", b"two ", b"parts")),
        ("GET", "/stream", ()),
        ("HEAD", "/stream", ()),
        ("GET", "/fault", ()),
        ("GET", "/nowhere", ()),
        ("DELETE", "/echo", ()),
    ],
)
async def test_both_connections_answer_alike(method: str, path: str, parts: tuple[bytes, ...]) -> None:
    """Status, headers and bytes, whatever the form of body and answer."""
    stock, lean = [await sent_by(app(lean=one), method, path, *parts) for one in (False, True)]
    assert visible_answer(stock) == visible_answer(lean)


async def test_a_whole_body_takes_no_further_task_and_two_messages() -> None:
    """The handler runs in the server's own task; start and body are all that is sent."""
    messages = await sent_by(app(lean=True), "POST", "/echo", b"whole")
    assert dict(messages[0]["headers"])[b"x-tasks"] == str(len(asyncio.all_tasks())).encode()
    assert [one["type"] for one in messages] == ["http.response.start", "http.response.body"]


async def test_a_body_in_parts_goes_the_stock_way() -> None:
    """Quart's own tasks receive it."""
    messages = await sent_by(app(lean=True), "POST", "/echo", b"in ", b"parts")
    assert int(dict(messages[0]["headers"])[b"x-tasks"]) > len(asyncio.all_tasks())
