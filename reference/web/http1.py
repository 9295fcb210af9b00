"""HTTP/1.1 and nothing else, as every surface is served; what breaks its framing is refused in the surface's own form.

Hypercorn takes HTTP/2 in clear text and WebSockets, without a setting for either. Behind a proxy that filters paths,
both bring a caller past the filter. So a class of ours serves each connection: an upgrade is ignored (RFC 9110, 7.8), a
message of another version or with a target of no known form ends its connection, and what is wrong is answered by the
app itself, which finds it in the scope and has the surface's error body and request id for it.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

import h11
from hypercorn.asyncio import tcp_server
from hypercorn.protocol.events import EndBody, Request, StreamClosed
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.h11 import STREAM_ID, H11Protocol
from hypercorn.protocol.http_stream import HTTPStream
from hypercorn.typing import ConnectionState

from reference.web.envelope import FRAMING
from reference.web.errors import Refused

_ABSOLUTE = re.compile(rb"https?://([^/?#@]+)([/?].*)?", re.IGNORECASE | re.DOTALL)
_HOST = re.compile(rb"[A-Za-z0-9._~!$&'()*+,;=:%\[\]-]*")
_NOT_FRAMED = "the request is not framed as HTTP/1.1 has it (RFC 9112)"
_FAULTS = {
    431: Refused(431, "headers_too_large", "the headers are over the limit"),
    501: Refused(501, "not_implemented", "of transfer codings there is chunked alone, once"),
}


@dataclass(frozen=True, slots=True)
class _Head:
    """A request's head as the app sees it, and what is wrong with it."""

    target: bytes
    headers: list[tuple[bytes, bytes]]
    fault: Refused | None


def install() -> None:
    """Let Hypercorn serve every connection of this process this way."""
    tcp_server.ProtocolWrapper = _connection  # type: ignore[attr-defined,assignment]


def _connection(*words: Any) -> Http1:
    *known, alpn_protocol = words
    del alpn_protocol
    return Http1(*known)


class Http1(H11Protocol):
    """One connection."""

    def __init__(self, *words: Any) -> None:
        """Take what Hypercorn hands to a connection."""
        super().__init__(*words)
        self._answered = asyncio.Event()

    async def stream_send(self, event: StreamEvent) -> None:
        """Send what the app answers."""
        await super().stream_send(event)
        if isinstance(event, StreamClosed):
            self._answered.set()

    async def _check_protocol(self, event: h11.Request) -> None:
        """Change to no other protocol."""

    async def _create_stream(self, request: h11.Request) -> None:
        head = _judged(request)
        await self._open(request.method.decode("ascii").upper(), request.http_version.decode(), head)
        self.keep_alive_requests += 1
        await self.context.mark_request()

    async def _send_error_response(self, status_code: int) -> None:
        """Let the app answer what cannot be read; the connection ends when this returns."""
        fault = _FAULTS.get(status_code) or Refused(400, "invalid_request", _NOT_FRAMED)
        self._answered.clear()
        if isinstance(self.stream, HTTPStream):
            # It broke in the body: whoever reads that finds the fault at its end.
            self.stream.scope["state"][FRAMING] = fault
            await self.stream.handle(EndBody(stream_id=STREAM_ID))
        else:
            await self._open("GET", "1.1", _Head(b"/", [], fault))
        await self._answered.wait()

    async def _open(self, method: str, version: str, head: _Head) -> None:
        state = self.connection_state if head.fault is None else {**self.connection_state, FRAMING: head.fault}
        self.stream = HTTPStream(
            self.app,
            self.config,
            self.context,
            self.task_group,
            self.ssl,
            self.client,
            self.server,
            self.stream_send,
            STREAM_ID,
        )
        await self.stream.handle(
            Request(
                stream_id=STREAM_ID,
                headers=head.headers,
                http_version=version,
                method=method,
                raw_path=head.target,
                state=ConnectionState(state),
            )
        )


def _judged(request: h11.Request) -> _Head:
    headers = list(request.headers)
    target, authority = _origin_form(request.target, request.method)
    if authority is not None:
        # RFC 9112, 3.2.2: what the target names stands, whatever Host says.
        headers = [(name, value) for name, value in headers if name != b"host"] + [(b"host", authority)]
    fault = None
    if not request.http_version.startswith(b"1."):
        fault = Refused(505, "http_version_not_supported", "HTTP/1.1 is spoken here")
    elif not target:
        sentence = "the target is a path, with http:// and a host before it if you like (RFC 9112, 3.2)"
        fault = Refused(400, "invalid_request", sentence)
    elif _HOST.fullmatch(dict(headers).get(b"host", b"")) is None:
        fault = Refused(400, "invalid_request", "Host is a host, with a port if you like")
    return _Head(target or b"/", headers, fault)


def _origin_form(target: bytes, method: bytes) -> tuple[bytes, bytes | None]:
    """Return path and query, empty for a target of no form that is served, and the authority that stands before."""
    if target.startswith(b"/") or (target == b"*" and method == b"OPTIONS"):
        return target, None
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        return b"", None
    rest = absolute[2] or b""
    if not rest:
        rest = b"*" if method == b"OPTIONS" else b"/"
    return rest if rest[:1] != b"?" else b"/" + rest, absolute[1]
