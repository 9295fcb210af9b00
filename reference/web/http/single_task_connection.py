"""A connection class for Quart that spends one task on a request instead of four, through its public hook.

Set as `app.asgi_http_class` under an `Envelope`, which has read the body already, with its limit and its time. A body
in parts or an answer that streams is handled by Quart's own class.
"""

from __future__ import annotations

from typing import Any

from quart.asgi import ASGIHTTPConnection
from quart.utils import encode_headers
from quart.wrappers import Request, Response
from quart.wrappers.response import DataBody

from reference.web.http.asgi_envelope import Message, Receive, Send


class SingleTaskConnection(ASGIHTTPConnection):
    """Answers one request whose whole body has arrived."""

    async def __call__(self, receive: Any, send: Any) -> None:
        """Serve the request in the caller's own task."""
        message = await receive()
        # Not under an envelope, as in some tests: Quart's own way handles every form.
        if message["type"] != "http.request" or message.get("more_body", False):
            await super().__call__(put_back(message, receive), send)  # type: ignore[arg-type]
            return
        request: Request = self._create_request_from_scope(send)
        request.body.append(message.get("body", b""))
        request.body.set_complete()
        await self.handle_request(request, send)

    async def _send_response(self, send: Any, response: Any) -> None:
        body = response.response if isinstance(response, Response) else None
        if not isinstance(body, DataBody):
            await super()._send_response(send, response)
            return
        await send_whole(send, response.status_code, encode_headers(response.headers), body.data[body.begin : body.end])


def put_back(first: Message, receive: Receive) -> Receive:
    """Return a callable that returns `first`, which was received already, and then calls `receive`."""
    messages = [first]

    async def receive_next() -> Message:
        return messages.pop() if messages else await receive()

    return receive_next


async def send_whole(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    """Send an answer with its whole body at once."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
