"""Raw receiver of webhooks: records each request that arrives, and answers it by a plan.

It judges nothing and knows no secret. Every request has an answer: a body beyond the limit 413, a body that breaks off
400, and bytes that are not HTTP the 400 of the server underneath.
"""

from __future__ import annotations

import asyncio
import errno
import inspect
import itertools
import logging
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal, Self, TypeAlias

from aiohttp import web

from conformance.vocabulary.receiver_defaults import BODY_LIMIT

# A sender that stops in the middle of a body must not hold the receiver for the rest of the
# run.
_BODY_SECONDS = 30.0
_CHUNK = 65_536
# Silent connections never end by themselves, so closing does not wait for them.
_SHUTDOWN_SECONDS = 0.1
_QUIET = logging.getLogger("conformance.webhook_receiver.raw_receiver")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False

Ending: TypeAlias = Literal["answer", "silence", "hang_up"]


class CannotListen(Exception):
    """An address cannot be bound; the text says which and what to do."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The reaction to an arrival.

    Attributes:
        status: HTTP status of the answer.
        headers: Header fields of the answer, in order.
        body: Its body.
        delay: Seconds until it is given.
        filler_bytes: Number of further bytes of the body, which are sent until the sender closes the connection.
        ending: `answer`; `silence` keeps the connection open and never answers; `hang_up` closes it without an answer.
    """

    status: int = 204
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    delay: float = 0.0
    filler_bytes: int = 0
    ending: Ending = "answer"

    @property
    def description(self) -> str:
        """The reaction in words."""
        late = f" after {self.delay:g} s" if self.delay else ""
        long = f" with {self.filler_bytes} bytes more" if self.filler_bytes else ""
        return {"answer": f"{self.status}{long}{late}", "silence": "no answer", "hang_up": f"connection closed{late}"}[
            self.ending
        ]


SILENCE = Reply(ending="silence")
HANG_UP = Reply(ending="hang_up")


def redirect(url: str, status: int = 307) -> Reply:
    """Return a redirect to `url`."""
    return Reply(status, (("Location", url),))


@dataclass(slots=True)
class Arrival:
    """One request that arrived.

    Attributes:
        number: 1, 2, … at this receiver.
        at: Time of arrival in unix seconds.
        monotonic: The same moment on the monotonic clock, in seconds.
        method: HTTP method.
        target: Path with query, as sent.
        peer: `HOST:PORT` of the sender.
        headers: Header fields as sent, in order, with repeats and case; bytes beyond ASCII as Latin-1.
        body: The body's bytes as sent; only its beginning if it is beyond the limit.
        whole: Whether the body is complete.
        reply: The reply, once it is decided.
        answered_at: Monotonic time at which the answer was handed to the connection; None before that.
        left_at: Monotonic time at which the sender closed the connection before the answer; None if it did not.
        filler_sent: Number of bytes of the reply's filler that were handed to the connection.
    """

    number: int
    at: float
    monotonic: float
    method: str
    target: str
    peer: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    whole: bool = True
    reply: Reply | None = None
    answered_at: float | None = None
    left_at: float | None = None
    filler_sent: int = 0

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def values(self, name: str) -> tuple[str, ...]:
        """Return every value of a header field, its name in any case."""
        return tuple(value for given, value in self.headers if given.lower() == name.lower())


Plan: TypeAlias = Callable[[Arrival], Reply | Awaitable[Reply]]
Matches: TypeAlias = Callable[[Arrival], bool]


def accept(_: Arrival) -> Reply:
    """Accept everything with 204."""
    return Reply()


@dataclass(slots=True)
class Receiver:
    """Receives at given sockets between `start` and `close`.

    Attributes:
        plan: Decides the reaction to an arrival; it may be replaced at any time. If it fails, the answer is 500.
        limit: Greatest length of a body, in bytes.
        keep: Greatest number of remembered arrivals, the latest; None for all.
    """

    plan: Plan = accept
    limit: int = BODY_LIMIT
    keep: int | None = None
    _arrivals: deque[Arrival] = field(init=False)
    _listeners: list[Callable[[Arrival], None]] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _arrival_event: asyncio.Event = field(default_factory=asyncio.Event)
    _close_event: asyncio.Event = field(default_factory=asyncio.Event)
    _runner: web.ServerRunner | None = None
    _sockets: list[socket.socket] = field(default_factory=list)

    def __post_init__(self) -> None:
        # A long run may receive without end, so the memory is bounded.
        self._arrivals = deque(maxlen=self.keep)

    async def start(self, sockets: Sequence[socket.socket]) -> Self:
        """Receive at listening sockets, such as those of `bind_sockets`; `close` closes them."""
        self._sockets = list(sockets)
        # Bodies stay as sent, because a signature covers their bytes. A sender that hangs up
        # cancels its handler, which notes the time.
        server = web.Server(
            self._take, access_log=None, logger=_QUIET, auto_decompress=False, handler_cancellation=True
        )
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=_SHUTDOWN_SECONDS)
        await self._runner.setup()
        for listening_socket in sockets:
            await web.SockSite(self._runner, listening_socket).start()
        return self

    async def close(self) -> None:
        """End every connection, also those that wait for an answer, and free the address."""
        self._close_event.set()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        for listening_socket in self._sockets:
            listening_socket.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def port(self) -> int:
        """The port at which it receives."""
        return int(self._sockets[0].getsockname()[1])

    @property
    def arrivals(self) -> tuple[Arrival, ...]:
        """All remembered arrivals, in order."""
        return tuple(self._arrivals)

    def listen(self, listener: Callable[[Arrival], None]) -> None:
        """Call `listener` with each later arrival, after the reply is decided and before it is sent."""
        self._listeners.append(listener)

    async def next(
        self, matches: Matches = lambda _: True, *, seconds: float, count: int = 1, after: int = 0
    ) -> tuple[Arrival, ...]:
        """Return the first matching arrivals as soon as there are `count` or the time is over.

        Args:
            matches: Whether an arrival counts.
            seconds: Longest wait.
            count: Number of arrivals to wait for.
            after: Only arrivals with a greater number count.
        """
        ends = time.monotonic() + seconds
        while True:
            self._arrival_event.clear()
            arrivals = [one for one in self._arrivals if one.number > after and matches(one)][:count]
            seconds_left = ends - time.monotonic()
            if len(arrivals) >= count or seconds_left <= 0:
                return tuple(arrivals)
            try:
                # Each arrival wakes all waiting tasks, whichever of them clears the event, so that none misses one.
                async with asyncio.timeout(seconds_left):
                    await self._arrival_event.wait()
            except TimeoutError:
                continue

    async def _take(self, request: web.BaseRequest) -> web.StreamResponse:
        arrival_time, monotonic = time.time(), time.monotonic()
        body, whole, refusal = await self._body(request)
        arrival = Arrival(
            next(self._numbers),
            arrival_time,
            monotonic,
            request.method,
            request.raw_path,
            _peer(request),
            tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.raw_headers),
            body,
            whole,
        )
        self._arrivals.append(arrival)
        self._arrival_event.set()
        # The arrival is recorded before the plan runs, so that a failing plan does not lose it.
        reply = refusal or await self._decide(arrival)
        arrival.reply = reply
        for listener in self._listeners:
            listener(arrival)
        return await self._answer(request, arrival, reply)

    async def _body(self, request: web.BaseRequest) -> tuple[bytes, bool, Reply | None]:
        """Return the body, whether it is complete, and the refusal if it is not."""
        content = bytearray()
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                # One byte beyond the limit is enough to know that the body is too large.
                while len(content) <= self.limit:
                    chunk = await request.content.read(_CHUNK)
                    if not chunk:
                        return bytes(content), True, None
                    content += chunk
        except TimeoutError:
            return bytes(content), False, Reply(HTTPStatus.REQUEST_TIMEOUT, (("Connection", "close"),))
        except (web.RequestPayloadError, ConnectionError, ValueError):
            return bytes(content), False, Reply(HTTPStatus.BAD_REQUEST, (("Connection", "close"),))
        too_large = Reply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, (("Connection", "close"),))
        return bytes(content[: self.limit]), False, too_large

    async def _decide(self, arrival: Arrival) -> Reply:
        try:
            reply = self.plan(arrival)
            return await reply if inspect.isawaitable(reply) else reply
        except Exception:  # noqa: BLE001 - a plan's fault must not take the receiver down
            _QUIET.exception("the plan failed")
            return Reply(HTTPStatus.INTERNAL_SERVER_ERROR)

    async def _answer(self, request: web.BaseRequest, arrival: Arrival, reply: Reply) -> web.StreamResponse:
        try:
            if reply.ending == "silence":
                await self._close_event.wait()
            elif reply.delay:
                await self._wait(reply.delay)
        except asyncio.CancelledError:
            # aiohttp cancels the handler when the sender closes the connection.
            arrival.left_at = time.monotonic()
            self._arrival_event.set()
            raise
        if reply.ending != "answer" and request.transport is not None:
            # Aborted, so that no byte of an answer is sent, as after a crash.
            request.transport.abort()
        else:
            arrival.answered_at = time.monotonic()
        if reply.filler_bytes and reply.ending == "answer":
            return await self._send_long_answer(request, arrival, reply)
        response = web.Response(status=reply.status, body=reply.body)
        for name, value in reply.headers:
            response.headers.add(name, value)
        return response

    async def _send_long_answer(self, request: web.BaseRequest, arrival: Arrival, reply: Reply) -> web.StreamResponse:
        response = web.StreamResponse(status=reply.status, headers=[*reply.headers, ("Connection", "close")])
        response.content_length = len(reply.body) + reply.filler_bytes
        # A sender that has read enough closes the connection.
        with suppress(ConnectionError):
            await response.prepare(request)
            await response.write(reply.body)
            while arrival.filler_sent < reply.filler_bytes and not self._close_event.is_set():
                chunk = bytes(min(_CHUNK, reply.filler_bytes - arrival.filler_sent))
                await response.write(chunk)
                arrival.filler_sent += len(chunk)
        return response

    async def _wait(self, seconds: float) -> None:
        """Wait, but not longer than the receiver is open."""
        try:
            async with asyncio.timeout(seconds):
                await self._close_event.wait()
        except TimeoutError:
            return


def _peer(request: web.BaseRequest) -> str:
    name = None if request.transport is None else request.transport.get_extra_info("peername")
    return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else "unknown"


def bind_sockets(host: str, port: int) -> list[socket.socket]:
    """Return listening sockets of one port at every address of a host; port 0 picks a free port.

    Raises:
        CannotListen: The address cannot be bound.
    """
    try:
        # A host name may have several addresses, and a sender may use any of them.
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as fault:
        raise CannotListen(f"{host} is no address of this machine: {fault.strerror}") from fault
    sockets: list[socket.socket] = []
    trouble: list[OSError] = []
    for family, kind, protocol, _, address in dict.fromkeys(addresses):
        try:
            # With port 0 the first socket picks a port, and the others must have the same one.
            place = (address[0], sockets[0].getsockname()[1], *address[2:]) if sockets else address
            sockets.append(_listening_socket(family, kind, protocol, place))
        except OSError as fault:
            trouble.append(fault)
    # A machine may lack an address family. An address that another program uses is a fault.
    in_use = [fault for fault in trouble if fault.errno == errno.EADDRINUSE]
    if in_use or not sockets:
        for bound_socket in sockets:
            bound_socket.close()
        raise CannotListen(f"cannot listen at {host}:{port}: {(in_use or trouble)[0].strerror}")
    return sockets


def _listening_socket(
    family: int, kind: int, protocol: int, address: tuple[str | int, ...] | tuple[int, bytes]
) -> socket.socket:
    new_socket = socket.socket(family, kind, protocol)
    try:
        new_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Otherwise the IPv6 socket would also take the IPv4 address, and the IPv4 socket could not
        # be bound.
        if family == socket.AF_INET6:
            new_socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        new_socket.bind(address)
        new_socket.listen(socket.SOMAXCONN)
        new_socket.setblocking(False)
    except OSError:
        new_socket.close()
        raise
    return new_socket
