"""An ASGI app served by aiohttp's server, which costs a node less a call than one of ASGI's own servers.

A run asks its nodes tens of thousands of times; docs/decisions/0038 says what was measured.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import unquote_to_bytes

from aiohttp import WSMsgType, web
from aiohttp.http_exceptions import HttpProcessingError

from sim.faulty import AsgiApp

LONGEST_BODY = 16 * 1024 * 1024
KEPT_SECONDS = 60.0  # longer than clients keep their connections: none of them calls into one that closes
END_SECONDS = 0.2
_log = logging.getLogger(__name__)
_ASGI = {"version": "3.0", "spec_version": "2.3"}


@asynccontextmanager
async def serve(app: AsgiApp, listener: socket.socket) -> AsyncIterator[None]:
    """Serve an app on a listening socket until the block is left; calls that go on then are cut off."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await _Conversation(request).carried_out(app)
        return await _Exchange(request).carried_out(app)

    server = web.Server(answer, access_log=None, keepalive_timeout=KEPT_SECONDS)
    runner = web.ServerRunner(server, shutdown_timeout=END_SECONDS)
    await runner.setup()
    try:
        await web.SockSite(runner, listener, backlog=512).start()
        yield
    finally:
        await runner.cleanup()


class _Exchange:
    """One call, as ASGI sees it."""

    def __init__(self, request: web.BaseRequest) -> None:
        self._request = request
        self._body: bytes | None = None
        self._status = 500
        self._headers: list[tuple[str, str]] = []
        self._streamed: web.StreamResponse | None = None
        self._whole: web.Response | None = None

    async def carried_out(self, app: AsgiApp) -> web.StreamResponse:
        """Return the app's answer. One that breaks off takes the connection with it.

        Raises:
            web.HTTPError: The body is refused, and the connection ends.
        """
        try:
            self._body = await _body(self._request)
        except web.HTTPError as refused:
            refused.force_close()
            raise
        except ConnectionError:  # the caller went before its body was whole
            return self._cut()
        try:
            await app(_scope(self._request, "http"), self._receive, self._send)
        except ConnectionAbortedError:
            return self._cut()
        except Exception:  # noqa: BLE001 - as servers do: the connection ends with its app
            _log.exception("a call's app failed")
            return self._cut()
        return self._whole or self._streamed or self._cut()

    async def _receive(self) -> dict[str, Any]:
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        # The connection's end is seen when it is written to; nothing more of the call comes.
        await asyncio.get_running_loop().create_future()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"]]
            return
        body, more = bytes(message.get("body", b"")), message.get("more_body", False)
        if self._streamed is None and not more:
            self._whole = web.Response(status=self._status, headers=self._headers, body=body)
            return
        if self._streamed is None:
            self._streamed = web.StreamResponse(status=self._status, headers=self._headers)
            await self._streamed.prepare(self._request)
        with suppress(ConnectionError):
            await self._streamed.write(body)
            if not more:
                await self._streamed.write_eof()

    def _cut(self) -> web.StreamResponse:
        if self._request.transport is not None:
            self._request.transport.close()
        return self._streamed or web.Response(status=500)


async def _body(request: web.BaseRequest) -> bytes:
    """Return the body of a call.

    Raises:
        web.HTTPRequestEntityTooLarge: It has more than LONGEST_BODY bytes.
        web.HTTPBadRequest: It is not framed as HTTP has it.
        ConnectionError: The caller went.
    """
    if (request.content_length or 0) > LONGEST_BODY:
        raise web.HTTPRequestEntityTooLarge(LONGEST_BODY, request.content_length or 0)
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = bytearray()
    try:
        async for piece in request.content.iter_any():
            body += piece
            if len(body) > LONGEST_BODY:
                raise web.HTTPRequestEntityTooLarge(LONGEST_BODY, len(body))
    except (HttpProcessingError, web.RequestPayloadError) as fault:
        raise web.HTTPBadRequest from fault
    return bytes(body)


class _Conversation:
    """One WebSocket, as ASGI sees it."""

    def __init__(self, request: web.BaseRequest) -> None:
        self._request = request
        self._socket = web.WebSocketResponse(timeout=END_SECONDS)
        self._begun = False
        self._accepted = asyncio.Event()

    async def carried_out(self, app: AsgiApp) -> web.StreamResponse:
        """Return the answer to the handshake when the connection is over.

        Raises:
            web.HTTPError: The handshake was not a WebSocket's.
        """
        try:
            await app(_scope(self._request, "websocket"), self._receive, self._send)
        except web.HTTPError:
            raise
        except Exception:  # noqa: BLE001 - as servers do: the connection ends with its app
            _log.exception("a connection's app failed")
        if not self._socket.prepared:
            return web.Response(status=403)
        await self._socket.close()
        return self._socket

    async def _receive(self) -> dict[str, Any]:
        if not self._begun:
            self._begun = True
            return {"type": "websocket.connect"}
        await self._accepted.wait()
        message = await self._socket.receive()
        if message.type is WSMsgType.TEXT:
            return {"type": "websocket.receive", "text": message.data}
        if message.type is WSMsgType.BINARY:
            return {"type": "websocket.receive", "bytes": message.data}
        return {"type": "websocket.disconnect", "code": self._socket.close_code or 1005}

    async def _send(self, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "websocket.accept":
            await self._socket.prepare(self._request)
            self._accepted.set()
        elif kind == "websocket.send" and not self._socket.closed:
            with suppress(ConnectionError):
                if message.get("text") is not None:
                    await self._socket.send_str(message["text"])
                else:
                    await self._socket.send_bytes(message["bytes"])
        elif kind == "websocket.close" and self._socket.prepared:
            await self._socket.close(code=message.get("code", 1000))


def _scope(request: web.BaseRequest, kind: str) -> dict[str, Any]:
    raw_path, _, query = request.raw_path.encode("utf-8", "surrogateescape").partition(b"?")
    transport = request.transport
    return {
        "type": kind,
        "asgi": _ASGI,
        "http_version": f"{request.version.major}.{request.version.minor}",
        "method": request.method,
        "scheme": "http" if kind == "http" else "ws",
        "path": unquote_to_bytes(raw_path).decode("utf-8", "replace"),
        "raw_path": raw_path,
        "query_string": query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.raw_headers],
        "client": transport and transport.get_extra_info("peername"),
        "server": transport and transport.get_extra_info("sockname"),
        "subprotocols": [],
        "extensions": {},
    }
