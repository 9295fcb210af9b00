"""Calls straight into an ASGI app, without a socket, and the apps that do nothing, which are the floors of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quart import Quart, Response

from reference.web.http.asgi_envelope import AsgiApp, Message, Receive, Scope, Send

HELLO = b'{"hello":"world"}'
Headers = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What an app sent."""

    status: int
    headers: Mapping[bytes, bytes]
    body: bytes


async def call(app: AsgiApp, method: str, path: str, body: bytes = b"", headers: Headers = ()) -> Answer:
    """Call an app as a server would for one request, and return what it sent."""
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [
            (b"host", b"127.0.0.1:8402"),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            *headers,
        ],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8402),
        "extensions": {},
        "state": {},
    }
    incoming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    outgoing: list[Message] = []

    async def receive() -> Message:
        return incoming.pop() if incoming else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        outgoing.append(message)

    await app(scope, receive, send)
    return Answer(
        outgoing[0]["status"], dict(outgoing[0]["headers"]), b"".join(one.get("body", b"") for one in outgoing[1:])
    )


async def bare(scope: Scope, receive: Receive, send: Send) -> None:
    """Say hello without any framework."""
    if scope["type"] == "lifespan":
        await _live(receive, send)
        return
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(HELLO)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": HELLO})


async def _live(receive: Receive, send: Send) -> None:
    while (message := await receive())["type"] != "lifespan.shutdown":
        await send({"type": f"{message['type']}.complete"})
    await send({"type": "lifespan.shutdown.complete"})


def quart_hello() -> Quart:
    """Return an app of Quart as it ships that says hello."""
    app = Quart("hello", static_folder=None)

    async def hello() -> Response:
        return Response(HELLO, 200, {"Content-Type": "application/json"})

    app.add_url_rule("/", "hello", hello, methods=["GET", "POST"])
    return app
