"""HTTP/1.1 only, on Hypercorn; broken framing is refused in the surface's own form.

Hypercorn accepts HTTP/2 in clear text and WebSockets, without a setting for either. Behind a proxy that filters paths,
both bring a caller past the filter. So the class below serves each connection. It ignores upgrades (RFC 9110, 7.8), and
a message of another version or with a target of unknown form ends the connection. The app itself answers faults: it
finds them in the scope, and has the surface's error body and request id.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, ClassVar

import h11
from h11._receivebuffer import ReceiveBuffer
from hypercorn.asyncio import run, tcp_server
from hypercorn.protocol.events import EndBody, Request, StreamClosed
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.h11 import STREAM_ID, H11Protocol
from hypercorn.protocol.http_stream import HTTPStream
from hypercorn.typing import ConnectionState

from reference.web.http.asgi_envelope import FRAMING
from reference.web.servers.framing import (
    CODING_UNKNOWN,
    FIRST_REQUEST_SECONDS,
    HEAD_TOO_LARGE,
    NOT_FRAMED,
    Head,
    judge_head,
)

_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_FAULTS = {431: HEAD_TOO_LARGE, 501: CODING_UNKNOWN}


def install_http1() -> None:
    """Make Hypercorn serve every connection of this process with `Http1`, and end it as `Connection` does."""
    tcp_server.ProtocolWrapper = _open_connection  # type: ignore[attr-defined,assignment]
    run.TCPServer = Connection  # type: ignore[attr-defined]


def _open_connection(*words: Any) -> Http1:
    *arguments, alpn_protocol = words
    del alpn_protocol
    return Http1(*arguments)


class Connection(tcp_server.TCPServer):
    """One connection; at the end of the process, one without a request waits for its first one for a short time."""

    running: ClassVar[set[asyncio.Task[Any]]] = set()

    async def run(self) -> None:
        """Serve the connection until it is closed."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - Hypercorn makes one for each connection
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        await super().run()

    @classmethod
    async def finish(cls) -> None:
        """Wait for the connections that Hypercorn does not: it accepted them when it was about to end."""
        await asyncio.sleep(0)  # their tasks begin
        if cls.running:
            await asyncio.wait(cls.running, timeout=FIRST_REQUEST_SECONDS * 2)

    async def _idle_timeout(self) -> None:
        # Not `wait_for`: it swallows a cancellation that comes when the event is set, and would end a call that begins.
        try:
            async with asyncio.timeout(self.config.keep_alive_timeout):
                await self.context.terminated.wait()
        except TimeoutError:
            pass
        else:
            # A proxy that has just connected has sent its request already. To end the connection would lose the call.
            if isinstance(self.protocol, Http1) and not self.protocol.keep_alive_requests:
                await asyncio.sleep(FIRST_REQUEST_SECONDS)
        await asyncio.shield(self._initiate_server_close())


class StrictLines(ReceiveBuffer):
    """The received bytes of a connection; a line ends with CR LF.

    h11 also accepts a bare LF in heads and trailers, which a recipient MAY do (RFC 9112, 2.2). A proxy in front that
    does not finds another end of the head, and so requests are smuggled.
    """

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Return the lines of a whole head or of whole trailers, None while they are not whole.

        Raises:
            LocalProtocolError: A line ends with a bare LF.
        """
        before = bytes(self)
        lines = super().maybe_extract_lines()
        if lines is not None and _BARE_LINE_FEED.search(before, 0, len(before) - len(self)):
            raise h11.LocalProtocolError("a line ends with a bare LF")
        return lines


class Http1(H11Protocol):
    """One connection."""

    def __init__(self, *words: Any) -> None:
        """Take Hypercorn's arguments of a connection."""
        super().__init__(*words)
        self.connection._receive_buffer = StrictLines()  # type: ignore[union-attr]  # noqa: SLF001 - h11 has no option
        self._answered = asyncio.Event()

    async def stream_send(self, event: StreamEvent) -> None:
        """Send what the app answers."""
        await super().stream_send(event)
        if isinstance(event, StreamClosed):
            self._answered.set()

    async def _check_protocol(self, event: h11.Request) -> None:
        """Change to no other protocol."""

    async def _create_stream(self, request: h11.Request) -> None:
        head = judge_head(request.method, request.target, request.http_version, request.headers)
        await self._open(request.method.decode("ascii"), request.http_version.decode(), head)
        self.keep_alive_requests += 1
        await self.context.mark_request()

    async def _send_error_response(self, status_code: int) -> None:
        """Let the app answer what cannot be read; the connection ends when this returns."""
        fault = _FAULTS.get(status_code, NOT_FRAMED)
        self._answered.clear()
        if isinstance(self.stream, HTTPStream):
            # The fault is in the body: the reader of the body finds it at the end.
            self.stream.scope["state"][FRAMING] = fault
            await self.stream.handle(EndBody(stream_id=STREAM_ID))
        else:
            await self._open("GET", "1.1", Head(b"/", [], fault))
        await self._answered.wait()

    async def _open(self, method: str, version: str, head: Head) -> None:
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
