"""What a broken or hostile target sends: no answer of it holds the suite up for long, or takes its memory."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from conformance.http import raw
from conformance.http import transport as pooled
from conformance.http.client import Transport, Unreachable
from conformance.http.raw import RawTransport
from conformance.http.transport import HttpTransport
from tests.reserved_port import reserved_port

ServeConnection = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
_LIMIT = 300_000
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@asynccontextmanager
async def _serve_connections(serve: ServeConnection) -> AsyncIterator[str]:
    """Serve each connection in one way, until the caller is done with it."""

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await serve(reader, writer)
        writer.transport.abort()

    server = await asyncio.start_server(connection, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@asynccontextmanager
async def _transport(kind: str, address: str, seconds: float) -> AsyncIterator[Transport]:
    if kind == "raw":
        yield RawTransport(address, seconds=seconds)
        return
    async with HttpTransport(seconds=seconds, requests_per_second=0, connections=2) as transport:
        yield transport


@pytest.mark.parametrize("kind", ["http", "raw"])
async def test_field_names_keep_the_letters_that_they_came_in(kind: str) -> None:
    """A reader finds in the report what his server sent, and a field is found by its name in any case."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_HEAD + b"X-Request-Id: 7\r\nretry-after: 1\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()

    async with _serve_connections(serve) as address, _transport(kind, address, 5.0) as transport:
        _, headers, _ = await transport.send("GET", address, [], None)
    assert list(headers) == ["Content-Type", "X-Request-Id", "retry-after", "Content-Length"]
    assert headers["x-REQUEST-id"] == "7"


@pytest.mark.parametrize("kind", ["http", "raw"])
@pytest.mark.parametrize("fields", [b"", b"Content-Length: 99999999999999\r\n", b"Transfer-Encoding: chunked\r\n"])
async def test_a_body_without_an_end_is_no_answer(kind: str, fields: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading stops at the limit, whatever length the head announced, and the connection is closed."""
    for module in (pooled, raw):
        monkeypatch.setattr(module, "LONGEST_BODY", _LIMIT)
    piece = b"x" * 0xFFFF
    chunk = b"ffff\r\n" + piece + b"\r\n" if b"chunked" in fields else piece
    left_event = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_HEAD + fields + b"\r\n")
        try:
            while True:
                writer.write(chunk)
                await writer.drain()
        except OSError:
            left_event.set()

    async with _serve_connections(serve) as address, _transport(kind, address, 300) as transport:
        with pytest.raises(Unreachable, match="longer than"):
            await transport.send("GET", address + "/", [], None)
        await asyncio.wait_for(left_event.wait(), 300)


@pytest.mark.parametrize("kind", ["http", "raw"])
async def test_a_server_that_reads_nothing_is_given_up(kind: str) -> None:
    """A request that does not fit into the buffers between ends with the time it may take."""
    stopped_event = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:  # noqa: ARG001
        await stopped_event.wait()

    async with _serve_connections(serve) as address, _transport(kind, address, 0.5) as transport:
        with pytest.raises(Unreachable, match=r"no answer within 0\.5 s"):
            await asyncio.wait_for(transport.send("POST", address + "/", [], bytes(64 * 1024 * 1024)), 300)
        stopped_event.set()


@pytest.mark.parametrize("kind", ["http", "raw"])
@pytest.mark.parametrize("drop", [b" ", b"HTTP/1.1 100 Continue\r\n\r\n"])
async def test_an_answer_that_never_gets_anywhere_is_given_up(kind: str, drop: bytes) -> None:
    """A byte now and then, or interim answers for ever, do not put the end off."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if drop == b" ":
            writer.write(_HEAD + b"Content-Length: 1000000\r\n\r\n")
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(0.01)

    async with _serve_connections(serve) as address, _transport(kind, address, 0.5) as transport:
        whole = " whole" if kind == "http" and drop == b" " else ""
        with pytest.raises(Unreachable, match=rf"no{whole} answer within 0\.5 s"):
            await asyncio.wait_for(transport.send("GET", address + "/", [], None), 300)


async def test_who_could_not_be_called_is_told_in_plain_words() -> None:
    """A port without a listener, a host that does not exist, and HTTP where TLS was asked for."""
    async with HttpTransport(seconds=300, requests_per_second=0, connections=2) as transport:
        with reserved_port() as port:
            with pytest.raises(Unreachable) as error:
                await transport.send("GET", f"http://127.0.0.1:{port}/", [], None)
            assert str(error.value) == f"cannot connect to 127.0.0.1:{port}: Connection refused"
        with pytest.raises(Unreachable, match=r"^there is no host no-such-host\.invalid: "):
            await transport.send("GET", "http://no-such-host.invalid/", [], None)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await writer.drain()

        async with _serve_connections(serve) as address:
            with pytest.raises(Unreachable, match=r"^cannot connect to 127\.0\.0\.1:\d+: \[SSL"):
                await transport.send("GET", address.replace("http", "https") + "/", [], None)


@pytest.mark.parametrize(
    ("first", "ninth"),
    [("slow", "let 8 requests time out"), ("begun", "let 8 requests time out"), ("quick", "no answer within")],
)
async def test_an_address_that_never_answers_is_asked_no_more(first: str, ninth: str) -> None:
    """Eight requests wait in vain, and the ninth is not sent; one that gave a whole answer before is asked again."""
    stopped_event = asyncio.Event()
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readuntil(b"\r\n\r\n"))
        if b"begun" in requests[-1]:
            writer.write(_HEAD + b"Content-Length: 1000\r\n\r\n")
            await writer.drain()
        if b"quick" in requests[-1]:
            writer.write(_HEAD + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}")
            await writer.drain()
            return
        await stopped_event.wait()

    async with _serve_connections(serve) as address, _transport("http", address, 0.5) as transport:
        if first == "quick":
            await transport.send("GET", f"{address}/quick", [], None)
        for path in ("slow" if first == "quick" else first, *(7 * ["slow"])):
            with pytest.raises(Unreachable, match="answer within"):
                await transport.send("GET", f"{address}/{path}", [], None)
        with pytest.raises(Unreachable, match=ninth):
            await transport.send("GET", f"{address}/last", [], None)
        stopped_event.set()
    assert any(b"last" in one for one in requests) is (first == "quick")
