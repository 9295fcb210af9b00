"""Load for a server: prepared requests over keep-alive connections, on plain sockets that cost little."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

CONNECTIONS = 32
_LENGTH = b"\r\ncontent-length:"
_CHUNKED_HEADER = b"\r\ntransfer-encoding: chunked"


class LoadFault(Exception):
    """A server did not answer as it should; the text says how."""


def request(method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
    """Return the bytes of a request with keep-alive."""
    fields = {"Host": "127.0.0.1", "Content-Type": "application/json", "Content-Length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in {**fields, **(headers or {})}.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body


def answer_end(data: bytes | bytearray) -> int | None:
    """Return where the answer at the beginning of `data` ends; None while it is not there as a whole.

    Raises:
        LoadFault: Its head says neither how long it is nor that it comes in chunks.
    """
    end_of_head = data.find(b"\r\n\r\n")
    if end_of_head < 0:
        return None
    head = bytes(data[:end_of_head]).lower()
    place = head.find(_LENGTH)
    if place >= 0:
        text = head[place + len(_LENGTH) :].partition(b"\r\n")[0]
        end = end_of_head + 4 + int(text)
        return end if len(data) >= end else None
    if _CHUNKED_HEADER in head:
        last = data.find(b"0\r\n\r\n", end_of_head + 4)
        return None if last < 0 else last + 5
    raise LoadFault(f"an answer says not how long it is: {head[:200]!r}")


@dataclass
class _Connection(asyncio.Protocol):
    """One connection: sends the next request as soon as an answer is there."""

    requests: Iterator[bytes]
    status: bytes
    done: asyncio.Future[int]
    answered: int = 0
    _held: bytearray = field(default_factory=bytearray)
    _transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a TCP connection's is
        self._transport = transport
        self._next()

    def data_received(self, data: bytes) -> None:
        self._held += data
        try:
            end = answer_end(self._held)
        except (LoadFault, ValueError) as fault:
            self._fail(str(fault))
            return
        if end is None:
            return
        if self._held[9:12] != self.status:
            self._fail(f"{bytes(self._held[:400])!r}, expected status {self.status.decode()}")
            return
        del self._held[:end]
        self.answered += 1
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(f"the server closed a connection ({exc})")

    def _next(self) -> None:
        assert self._transport is not None  # noqa: S101 - set when the connection was made
        request = next(self.requests, None)
        if request is not None:
            self._transport.write(request)
        elif not self.done.done():
            self.done.set_result(self.answered)
            self._transport.close()

    def _fail(self, text: str) -> None:
        if not self.done.done():
            self.done.set_exception(LoadFault(text))
        if self._transport is not None:
            self._transport.abort()


async def send_all(port: int, requests: Iterator[bytes], status: int, *, connections: int = CONNECTIONS) -> int:
    """Send every request over several connections and return how many were answered.

    Raises:
        LoadFault: An answer had another status, or a connection broke.
    """
    loop = asyncio.get_running_loop()

    def make_connection() -> _Connection:
        return _Connection(requests, str(status).encode(), loop.create_future())

    connections_open = [
        (await loop.create_connection(make_connection, "127.0.0.1", port))[1] for _ in range(connections)
    ]
    return sum(await asyncio.gather(*(one.done for one in connections_open)))
