"""Fast path of plain paid calls: they are answered without Quart.

It takes only the plain case: GET or POST of a paid path in its exact spelling, with no payment header but `X-PAYMENT`.
The same `PaidEndpoint` answers on both ways, so both answers are equal byte for byte; a test checks that.
"""

from __future__ import annotations

from functools import lru_cache

from reference.rail.error_replies import fault_reply
from reference.rail.paid_endpoint import PaidEndpoint
from reference.web.http.asgi_envelope import REQUEST_ID, AsgiApp, Receive, Scope, Send
from reference.web.http.exchange import Reply, read_request
from reference.web.http.single_task_connection import put_back, send_whole

_METHODS = frozenset({"GET", "POST"})
_NOT_PLAIN = b"payment-signature"


# The rail sends about a dozen header names, so the cache never evicts one.
@lru_cache(maxsize=64)
def _field_name(name: str) -> bytes:
    """Return a header's name as it is sent."""
    return name.lower().encode()


class PaidFastPath:
    """The layer between the envelope and the app."""

    def __init__(self, app: AsgiApp, paid_endpoint: PaidEndpoint) -> None:
        self.app = app
        self._paid_endpoint = paid_endpoint
        self._paths = paid_endpoint.paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI event."""
        if not self._is_plain(scope):
            await self.app(scope, receive, send)
            return
        message = await receive()
        # A body in parts, or a client that has gone, is not plain. The message was consumed, so it is put back for
        # Quart.
        if message["type"] != "http.request" or message.get("more_body", False):
            await self.app(scope, put_back(message, receive), send)
            return
        reply = await self._answer(scope, message.get("body", b""))
        headers = [(_field_name(name), value.encode()) for name, value in reply.headers.items()]
        headers.append((b"content-length", str(len(reply.body)).encode()))
        await send_whole(send, reply.status, headers, reply.body)

    def _is_plain(self, scope: Scope) -> bool:
        return (
            scope["type"] == "http"
            and scope["path"] in self._paths
            and scope["method"] in _METHODS
            and not scope.get("root_path")
            and _NOT_PLAIN not in [name for name, _ in scope["headers"]]
        )

    async def _answer(self, scope: Scope, body: bytes) -> Reply:
        try:
            return await self._paid_endpoint.call(read_request(scope, scope["path"], body))
        # Outside of Quart no error handler catches it, and the server would send a bare 500 without the rail's error
        # body (P-CV-18).
        except Exception as fault:  # noqa: BLE001 - the outermost handler of this path
            return fault_reply(fault, str(scope.get(REQUEST_ID, "")))
