"""Raw transport: sends requests byte for byte as given, for requests that no HTTP client would send."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

import h11
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.http.client import LONGEST_BODY, PATIENCE, Unreachable, describe_long_answer, describe_silent_address
from conformance.http.unanswered import explain_close, explain_failure, explain_foreign_bytes, explain_no_connection

_PORTS = {"http": 80, "https": 443}
_FRAMING = frozenset({"content-length", "transfer-encoding"})
# An odd value of these headers leaves no doubt where the request ends, so the writing side stays open. Some servers
# drop their answer for a client that has closed its side, which would hide the answer of a server that breaks down.
_COMPLETE_HEADERS = frozenset({"upgrade", "host"})
_PIECE = 65_536


class RawTransport:
    """HTTP/1.1 with one connection for each request, without normalisation.

    Method, target and header fields are written as given (Latin-1, surrogates as the bytes that they escape). Host,
    `Connection: close` and, with a body, Content-Length are added unless a field of that name is given. A given
    Transfer-Encoding prevents Content-Length.

    Attributes:
        address: The address that every request goes to, without a slash at its end.
    """

    def __init__(
        self,
        address: str,
        *,
        seconds: float,
        requests_per_second: float = 0.0,
        tls: ssl.SSLContext | None = None,
        has_whole_requests: bool = False,
    ) -> None:
        """Take the surface's address, without a slash at its end, the time an answer may take, and the pace.

        `tls` replaces the usual certificate verification. With `has_whole_requests` the writing side stays open: no
        server waits for more of a complete request, and a proxy such as nginx drops a call whose client closed it.
        """
        self._interval = 1 / requests_per_second if requests_per_second > 0 else 0.0
        self._next = 0.0
        parts = urlsplit(address)
        self.address = address
        self._host = parts.hostname or "localhost"
        self._port = parts.port or _PORTS[parts.scheme]
        self._tls = (tls or True) if parts.scheme == "https" else None
        self._seconds = seconds
        self._has_whole_requests = has_whole_requests
        self._answered = False
        self._silent = 0

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Send one request (`Transport` of the client); the part of `url` after the address is its target."""
        if self._silent >= PATIENCE and not self._answered:
            raise describe_silent_address(self.address)
        await self._wait_for_turn()
        message = b"".join(self._write_lines(method, url.removeprefix(self.address), headers, body)) + (body or b"")
        try:
            given_names = {name.strip().lower() for name, _ in headers}
            is_whole = self._has_whole_requests or (
                bool(given_names & _COMPLETE_HEADERS) and not given_names & _FRAMING
            )
            async with asyncio.timeout(self._seconds):
                answer = await self._exchange(method, message, ends=not is_whole)
        except TimeoutError as fault:
            self._silent += 1
            raise Unreachable(f"no answer within {self._seconds:g} s") from fault
        except EOFError as fault:
            raise Unreachable(explain_close(self.address, has_answered=self._answered)) from fault
        except h11.RemoteProtocolError as fault:
            # h11 reports a close before any answer in these words.
            is_closed = "ConnectionClosed" in str(fault)
            raise Unreachable(
                explain_close(self.address, has_answered=self._answered)
                if is_closed
                else explain_foreign_bytes(str(fault), self.address)
            ) from fault
        except ConnectionResetError as fault:
            raise Unreachable(explain_failure(fault, self.address, has_answered=self._answered)) from fault
        except OSError as fault:
            raise Unreachable(explain_no_connection(fault, f"{self._host}:{self._port}")) from fault
        self._answered = True
        return answer

    async def _wait_for_turn(self) -> None:
        now = time.monotonic()
        self._next = max(now, self._next) + self._interval
        await asyncio.sleep(self._next - self._interval - now)

    def _write_lines(
        self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> Iterator[bytes]:
        given_names = {name.strip().lower() for name, _ in headers}
        yield _bytes(f"{method} {target} HTTP/1.1\r\n") if " HTTP/" not in target else _bytes(f"{method} {target}\r\n")
        if "host" not in given_names:
            yield f"Host: {self._host}:{self._port}\r\n".encode()
        if "connection" not in given_names:
            yield b"Connection: close\r\n"
        if body is not None and not given_names & _FRAMING:
            yield f"Content-Length: {len(body)}\r\n".encode()
        for name, value in headers:
            yield _bytes(f"{name}: {value}\r\n")
        yield b"\r\n"

    async def _exchange(self, method: str, message: bytes, *, ends: bool) -> tuple[int, CIMultiDictProxy[str], bytes]:
        reader, writer = await asyncio.open_connection(self._host, self._port, ssl=self._tls)
        try:
            # A server may answer and close before it read everything.
            with contextlib.suppress(ConnectionError):
                writer.write(message)
                await writer.drain()
                # The server would otherwise wait for a body that was promised and not sent.
                if ends and writer.can_write_eof():
                    writer.write_eof()
            return await _read_response(reader, "HEAD" if method == "HEAD" else "GET")
        finally:
            # Not `close`, which would wait for a server that never reads what is still to be sent.
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def _read_response(reader: asyncio.StreamReader, method: str) -> tuple[int, CIMultiDictProxy[str], bytes]:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method=method, target="/", headers=[("Host", "raw")]))
    connection.send(h11.EndOfMessage())
    status, headers, body = 0, CIMultiDict[str](), bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(_PIECE))
        elif isinstance(event, h11.Response):
            status = event.status_code
            headers.extend(
                (name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers.raw_items()
            )
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > LONGEST_BODY:
                raise describe_long_answer()
        elif isinstance(event, h11.EndOfMessage):
            return status, CIMultiDictProxy(headers), bytes(body)
        elif isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
            raise EOFError("the connection was closed without an answer")


def _bytes(text: str) -> bytes:
    return text.encode("latin-1", "surrogateescape") if text.isascii() else text.encode("utf-8", "surrogateescape")
