"""HTTP transport of the suite: paced, with bounded time and bounded size of answers."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Self

import aiohttp
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from conformance.http.client import (
    LONGEST_BODY,
    PATIENCE,
    LateAnswer,
    PieceListener,
    Unreachable,
    describe_long_answer,
    describe_silent_address,
)
from conformance.http.connections import Connections, RequestProgress
from conformance.http.pacing import Pacer
from conformance.http.unanswered import explain_failure, explain_foreign_bytes, was_reset

_AUTOMATIC: Final = ("User-Agent", "Content-Type", "Accept", "Accept-Encoding")
# How long and how much is read from a server that speaks before it gets a request.
_LISTENING_SECONDS: Final = 2.0
_GREETING_BYTES: Final = 200


class HttpTransport:
    """Sends over HTTP on kept connections, without proxy and redirects, at most at the pace that the target allows.

    The body of an answer is read up to `LONGEST_BODY` and never unpacked.
    """

    def __init__(
        self,
        *,
        seconds: float,
        requests_per_second: float,
        connections: int,
        limits: Mapping[str, float] | None = None,
        tls: ssl.SSLContext | None = None,
        from_address: str | None = None,
    ) -> None:
        """Take the time that an answer may take, the pace of all calls, and limits of single operations.

        Args:
            seconds: From the first byte of a request to the last of its answer.
            requests_per_second: 0 for as fast as it goes.
            connections: At most so many at a time.
            limits: Calls a minute by `METHOD /path`, in addition to what 429 answers show.
            tls: Verification of certificates, instead of the usual one.
            from_address: IP address of this machine from which requests come; None for the usual one.
        """
        self.pacer = Pacer(limits)
        self._seconds = seconds
        self._interval = 1 / requests_per_second if requests_per_second > 0 else 0.0
        self._connections = Connections(seconds=seconds, at_most=connections, tls=tls, from_address=from_address)
        self._open = False
        self._next = 0.0
        self._answered: set[URL] = set()
        self._silent: Counter[URL] = Counter()
        self._greetings: dict[URL, bytes] = {}

    async def __aenter__(self) -> Self:
        self._open = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._open = False
        await self._connections.close()

    def has_answered(self, url: str) -> bool:
        """Return whether any answer came from the address of a URL."""
        return _origin(URL(url, encoded=True)) in self._answered

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Send one request; see `conformance.http.client.Transport`."""
        return await self._send(method, url, headers, body, None)

    async def stream(
        self,
        method: str,
        url: str,
        headers: Sequence[tuple[str, str]],
        body: bytes | None,
        listener: PieceListener,
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Send one request; see `conformance.http.client.StreamingTransport`."""
        return await self._send(method, url, headers, body, listener)

    async def _send(
        self,
        method: str,
        url: str,
        headers: Sequence[tuple[str, str]],
        body: bytes | None,
        listener: PieceListener | None,
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        if not self._open:
            raise Unreachable("the transport is not open")
        address = URL(url, encoded=True)
        origin = _origin(address)
        # Only after requests without an answer: an address that refuses connections may belong to a server that is
        # starting.
        if self._silent[origin] >= PATIENCE and origin not in self._answered:
            raise describe_silent_address(str(origin))
        await self._wait_for_turn()
        request = RequestProgress()
        try:
            try:
                return await self._send_once(method, address, headers, body, request, listener)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as fault:
                if not self._connections.may_repeat(origin, method, request, fault):
                    raise
            self._connections.renew(origin)
            request = RequestProgress()
            return await self._send_once(method, address, headers, body, request, listener)
        except TimeoutError as fault:
            self._silent[origin] += 1
            missing_part = "no whole answer" if request.has_begun else "no answer"
            raise LateAnswer(f"{missing_part} within {self._seconds:g} s") from fault
        except (aiohttp.ClientError, OSError, ValueError) as fault:
            raise Unreachable(await self._explain_failure(fault, address)) from fault

    async def _send_once(
        self,
        method: str,
        address: URL,
        headers: Sequence[tuple[str, str]],
        body: bytes | None,
        request: RequestProgress,
        listener: PieceListener | None,
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Send one request once, and read its answer up to `LONGEST_BODY`."""
        origin = _origin(address)
        async with self._connections.session_of(origin).request(
            method,
            address,
            headers=CIMultiDict(headers),
            data=body,
            allow_redirects=False,
            skip_auto_headers=_AUTOMATIC,
            trace_request_ctx=request,
        ) as response:
            request.has_begun = True
            self._connections.record_answer(origin, request, response.headers)
            content = await read_up_to(response.content, LONGEST_BODY, listener)
            if content is None:
                self._silent[origin] += 1
                raise describe_long_answer()
            self._answered.add(origin)
            # The raw spelling of names: the parser replaces known names by its own spelling.
            fields = [(_text(name), _text(value)) for name, value in response.raw_headers]
            return response.status, CIMultiDictProxy(CIMultiDict(fields)), content

    async def _explain_failure(self, fault: Exception, address: URL) -> str:
        """Return why a call got no answer."""
        origin = _origin(address)
        has_answered = origin in self._answered
        # A server of another protocol may speak first and then close. Whether its words were read before the reset
        # depends on the speed of both machines, so they are read again, to explain the fault.
        if not has_answered and origin.scheme == "http" and was_reset(fault):
            if origin not in self._greetings:
                place = (origin.host or "", origin.port or 80)
                self._greetings[origin] = await asyncio.to_thread(
                    read_greeting, *place, min(self._seconds, _LISTENING_SECONDS)
                )
            if greeting := self._greetings[origin]:
                return explain_foreign_bytes(repr(greeting), str(address))
        return explain_failure(fault, str(address), has_answered=has_answered)

    async def _wait_for_turn(self) -> None:
        if self._interval <= 0:
            return
        now = time.monotonic()
        self._next = max(now, self._next) + self._interval
        await asyncio.sleep(self._next - self._interval - now)


def _origin(address: URL) -> URL:
    return URL.build(scheme=address.scheme, authority=address.raw_authority, encoded=True)


def _text(field: bytes) -> str:
    return field.decode("utf-8", "surrogateescape")


def read_greeting(host: str, port: int, seconds: float) -> bytes:
    """Return what a server sends before any request, within some seconds; empty if it waits for a request."""
    try:
        with socket.create_connection((host, port), timeout=seconds) as connection:
            return connection.recv(_GREETING_BYTES)
    except OSError:
        # This includes the timeout of a server that waits for a request.
        return b""


async def read_whole(response: aiohttp.ClientResponse, limit: int = LONGEST_BODY) -> bytes:
    """Return the body of an answer outside a run's client, such as a node's.

    Raises:
        ValueError: It is longer than `limit`, or compressed although the request did not allow that.
    """
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in {"", "identity"}:
        raise ValueError(f"its answer is packed as {coding[:40]}, which was not asked for")
    body = await read_up_to(response.content, limit)
    if body is None:
        raise ValueError(f"its answer is longer than {limit} bytes, of which no more is read")
    return body


# For sessions outside a run's client: answers must not be compressed, since a small one may unpack without end.
PLAIN_ANSWERS: Final[Mapping[str, str]] = {"Accept-Encoding": "identity"}


async def read_up_to(content: aiohttp.StreamReader, limit: int, listener: PieceListener | None = None) -> bytes | None:
    """Return a body, or None as soon as more than `limit` bytes of it came; a listener is called with each piece."""
    body = bytearray()
    async for piece in content.iter_any():
        body += piece
        if len(body) > limit:
            return None
        if listener is not None:
            listener(piece)
    return bytes(body)
