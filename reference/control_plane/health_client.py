"""Asking one address for its health: the only outbound calls of the control plane (7.3, C-05)."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

import h11

from reference.protocol.destination_address import BadDestination, Unresolved
from reference.protocol.service_record import place_of
from reference.web.destination_dns import AddressCheck

MOST_BYTES = 65536
_PIECE = 8192


@dataclass(frozen=True, slots=True)
class HealthResult:
    """The answer of a health address.

    Attributes:
        status: Its status code, None without an answer.
        latency_ms: Its duration, None without an answer.
        error: Why the service is not healthy: `timeout`, `unreachable`, `address_refused`, `bad_answer` or
            `unexpected_status`; None if it is healthy.
    """

    status: int | None
    latency_ms: int | None
    error: str | None


class HealthClient:
    """Sends one GET on a new connection, follows no redirect, uses no proxy, and reads at most 64 KiB.

    A name is looked up for each question, and the connection is made to an address that was judged: a name that changes
    between a check and its use changes nothing.
    """

    def __init__(self, agent: str, check: AddressCheck, *, seconds: float) -> None:
        """Take the parameters of a question.

        Args:
            agent: `User-Agent`.
            check: Judges the addresses of a host.
            seconds: Seconds for an answer, with the lookup of the name.
        """
        self._agent = agent
        self._check = check
        self._seconds = seconds

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        # Made when needed: reading the system's authorities is slow, and most control planes ask over HTTP alone.
        return ssl.create_default_context()

    async def __call__(self, address: str) -> HealthResult:
        """Return what an address answers."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._seconds):
                status = await self._ask_status(address)
        except TimeoutError:
            return HealthResult(None, None, "timeout")
        except (Unresolved, OSError, UnicodeError):  # connection refused, unknown name, or invalid certificate
            return HealthResult(None, None, "unreachable")
        except BadDestination:
            return HealthResult(None, None, "address_refused")
        except (h11.RemoteProtocolError, _BadAnswer):
            return HealthResult(None, None, "bad_answer")
        took = round((time.monotonic() - began) * 1000)
        return HealthResult(status, took, None if status == 200 else "unexpected_status")

    async def _ask_status(self, address: str) -> int:
        parts = urlsplit(address)
        target = parts.path + ("?" + parts.query if parts.query else "")
        headers = [("Host", parts.netloc), ("User-Agent", self._agent), ("Accept", "*/*"), ("Connection", "close")]
        # A plain HTTP/1.1 client: no redirect, no proxy and no cookie can lead elsewhere.
        http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_BYTES)
        parts_sent = (
            http.send(h11.Request(method="GET", target=target, headers=headers)),
            http.send(h11.EndOfMessage()),
        )
        async with self._connect(address) as (reader, writer):
            writer.write(b"".join(part for part in parts_sent if part is not None))
            await writer.drain()
            return await _read_status(http, reader)

    @asynccontextmanager
    async def _connect(self, address: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        place = place_of(address)
        tls = self._tls if place.scheme == "https" else None
        addresses = await self._check.check_target(place)
        for addresses_left, ip in enumerate(addresses, start=1 - len(addresses)):
            try:
                reader, writer = await asyncio.open_connection(
                    str(ip), place.port, ssl=tls, server_hostname=place.host if tls else None, limit=_PIECE
                )
                break
            except OSError:
                # Only the failure of the last address is the failure of the name.
                if addresses_left == 0:
                    raise
        try:
            yield reader, writer
        finally:
            # Not closed in order: a service that does not answer the close would hold the connection.
            writer.transport.abort()


class _BadAnswer(Exception):
    """The answer is malformed."""


async def _read_status(http: h11.Connection, reader: asyncio.StreamReader) -> int:
    """Return the status of an answer that is complete, or of which 64 KiB were read."""
    status, bytes_left = 0, MOST_BYTES
    while True:
        event = http.next_event()
        if isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.EndOfMessage):
            return status
        # 200 is healthy whatever follows: a body is read up to 64 KiB and then left (decision 0027).
        elif event is h11.NEED_DATA:
            if bytes_left == 0 and status:
                return status
            piece = await reader.read(min(bytes_left, _PIECE)) if bytes_left else b""
            bytes_left -= len(piece)
            http.receive_data(piece)
        elif not isinstance(event, h11.InformationalResponse | h11.Data):
            raise _BadAnswer
