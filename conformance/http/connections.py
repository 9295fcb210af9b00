"""Kept connections by origin: how long they are kept, and which requests are repeated after a close."""

from __future__ import annotations

import errno
import re
import ssl
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Final

import aiohttp
from multidict import CIMultiDictProxy
from yarl import URL

# A server may close an idle connection at any time. A request that is on its way then is lost, without having reached
# the application (RFC 9112, 9.3.1 and 9.5). Stock Node.js closes after 5 s. So connections are kept for less than that,
# and for a second less than a server announces in `Keep-Alive: timeout`.
_KEPT_SECONDS: Final = 4.0
_EARLIER_SECONDS: Final = 1.0
_TIMEOUT = re.compile(r"(?:^|[\s,;])timeout\s*=\s*\"?([0-9]{1,6})", re.IGNORECASE)
# Methods that a client may repeat by itself (RFC 9110, 9.2.2).
_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})
_CLOSE_ERRORS: Final = frozenset({errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN})


@dataclass(slots=True)
class RequestProgress:
    """One request on its way.

    Attributes:
        start: When it was begun, by the monotonic clock.
        is_reused: Whether its connection had carried another request.
        has_begun: Whether the head of an answer came.
    """

    start: float = field(default_factory=time.monotonic)
    is_reused: bool = False
    has_begun: bool = False


@dataclass(slots=True)
class _Origin:
    session: aiohttp.ClientSession
    keepalive: float
    quickest: float = float("inf")


class Connections:
    """One pool of connections for each origin."""

    def __init__(
        self, *, seconds: float, at_most: int, tls: ssl.SSLContext | None = None, from_address: str | None = None
    ) -> None:
        """Take the time of an answer, how many connections an origin gets, and what decides on certificates.

        Requests come from `from_address` if it is given.
        """
        self._from_address = from_address
        self._tls = tls
        self._seconds = seconds
        self._at_most = at_most
        self._origins: dict[URL, _Origin] = {}
        self._old_sessions: list[aiohttp.ClientSession] = []

    def session_of(self, origin: URL) -> aiohttp.ClientSession:
        """Return the session of an origin."""
        if origin not in self._origins:
            self._origins[origin] = _Origin(self._open_session(_KEPT_SECONDS), _KEPT_SECONDS)
        return self._origins[origin].session

    def record_answer(self, origin: URL, progress: RequestProgress, headers: CIMultiDictProxy[str]) -> None:
        """Record how quickly an origin answers, and how long it keeps connections."""
        entry = self._origins[origin]
        entry.quickest = min(entry.quickest, time.monotonic() - progress.start)
        timeout = _TIMEOUT.search(headers.get("Keep-Alive", ""))
        if timeout is not None and (keepalive := max(0.0, float(timeout[1]) - _EARLIER_SECONDS)) < entry.keepalive:
            entry.keepalive = keepalive
            self.renew(origin)

    def renew(self, origin: URL) -> None:
        """Use new connections for the next requests to an origin; requests under way end on the old ones."""
        entry = self._origins[origin]
        self._old_sessions.append(entry.session)
        entry.session = self._open_session(entry.keepalive)

    def may_repeat(self, origin: URL, method: str, progress: RequestProgress, fault: Exception) -> bool:
        """Return whether a request may be repeated, because its connection had been closed before it arrived."""
        # Theory: the connection carried a request before, and was closed without a byte of an answer. An idempotent
        # request is then repeated. Any other request, above all a payment, is repeated only if the close came sooner
        # than the origin ever answered. Such a close was already on its way: a server that had read the request would
        # have needed longer. A payment that arrived must never be sent a second time by the client itself.
        if not progress.is_reused or not _is_closed(fault):
            return False
        return method in _IDEMPOTENT or time.monotonic() - progress.start < self._origins[origin].quickest

    async def close(self) -> None:
        """Close every connection."""
        for session in [*self._old_sessions, *(one.session for one in self._origins.values())]:
            await session.close()

    def _open_session(self, keepalive: float) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=self._at_most,
                ssl=self._tls or True,
                local_addr=None if self._from_address is None else (self._from_address, 0),
                **({"keepalive_timeout": keepalive} if keepalive > 0 else {"force_close": True}),
            ),
            timeout=aiohttp.ClientTimeout(total=self._seconds),
            trace_configs=[_trace_reuse()],
            auto_decompress=False,
            # A proxy of the environment would see the credentials and could change answers. No redirect is followed
            # for the same reason.
            trust_env=False,
        )


def _is_closed(fault: Exception) -> bool:
    """Return whether a connection ended without a byte of an answer."""
    if isinstance(fault, aiohttp.ServerDisconnectedError):
        # Otherwise `message` is the part of an answer that came.
        return isinstance(fault.message, str)
    return isinstance(fault, aiohttp.ClientOSError) and fault.errno in _CLOSE_ERRORS


def _trace_reuse() -> aiohttp.TraceConfig:
    """Return traces that record for each request whether its connection had carried another one."""

    async def mark_reused(_: aiohttp.ClientSession, context: SimpleNamespace, __: object) -> None:
        context.trace_request_ctx.is_reused = True

    async def mark_new(_: aiohttp.ClientSession, context: SimpleNamespace, __: object) -> None:
        context.trace_request_ctx.is_reused = False

    traces = aiohttp.TraceConfig()
    traces.on_connection_reuseconn.append(mark_reused)
    traces.on_connection_create_end.append(mark_new)
    return traces
