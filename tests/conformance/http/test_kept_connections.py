"""Servers that close connections: what never reached one is sent again, what may have is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from conformance.http.client import Unreachable
from conformance.http.transport import HttpTransport

# What the server takes to answer; a close that was under way comes sooner.
WORK_SECONDS = 0.4


class Server:
    """Answers the first request on each connection, and does with the second what a test says."""

    def __init__(self, second: Callable[[Server, asyncio.StreamWriter], Awaitable[None]], keep_alive: str = "") -> None:
        self.second = second
        self.keep_alive = keep_alive
        self.heads: list[bytes] = []
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.connections += 1
        served_count = 0
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.heads.append(head.split(b" ", 1)[0])
                if served_count:
                    await self.second(self, writer)
                    return
                served_count += 1
                await self.answer(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    async def answer(self, writer: asyncio.StreamWriter) -> None:
        """Answer after some work."""
        await asyncio.sleep(WORK_SECONDS)
        keep_alive_line = f"Keep-Alive: {self.keep_alive}\r\n" if self.keep_alive else ""
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{keep_alive_line}\r\n{{}}".encode())
        await writer.drain()


async def close(_: Server, writer: asyncio.StreamWriter) -> None:
    """Close as a server does whose idle time was just over."""
    writer.close()


async def reset(_: Server, writer: asyncio.StreamWriter) -> None:
    """Close with a reset."""
    writer.transport.abort()


async def crash(_: Server, writer: asyncio.StreamWriter) -> None:
    """Work on the request and break off."""
    await asyncio.sleep(2 * WORK_SECONDS)
    writer.close()


async def half(_: Server, writer: asyncio.StreamWriter) -> None:
    """Begin to answer and break off."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
    await writer.drain()
    writer.close()


@asynccontextmanager
async def run_server(server: Server) -> AsyncIterator[tuple[HttpTransport, str]]:
    """Yield a transport and the address of the server."""
    server_socket = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = server_socket.sockets[0].getsockname()[1]
    async with server_socket, HttpTransport(seconds=20, requests_per_second=0, connections=4) as transport:
        yield transport, f"http://127.0.0.1:{port}/"


@pytest.mark.parametrize("how", [close, reset])
@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_a_request_that_met_a_closed_connection_goes_out_again(
    how: Callable[[Server, asyncio.StreamWriter], Awaitable[None]], method: str
) -> None:
    """Over a new connection, once, and the answer counts."""
    server = Server(how)
    async with run_server(server) as (transport, url):
        for _ in range(2):
            status, _, body = await transport.send(method, url, [], None)
            assert (status, body) == (200, b"{}")


@pytest.mark.parametrize("how", [crash, half])
async def test_a_request_that_may_have_been_worked_on_does_not(
    how: Callable[[Server, asyncio.StreamWriter], Awaitable[None]],
) -> None:
    """A payment that was accepted must not be presented a second time behind a check's back."""
    server = Server(how)
    async with run_server(server) as (transport, url):
        await transport.send("POST", url, [], None)
        with pytest.raises(Unreachable):
            await transport.send("POST", url, [], None)
    assert server.heads == [b"POST", b"POST"]


async def test_a_first_request_on_a_connection_does_not() -> None:
    """A server that closes at once is no idle one."""

    class Closing(Server):
        async def answer(self, writer: asyncio.StreamWriter) -> None:
            writer.close()

    server = Closing(close)
    async with run_server(server) as (transport, url):
        with pytest.raises(Unreachable):
            await transport.send("POST", url, [], None)
    assert server.heads == [b"POST"]


@pytest.mark.parametrize(
    ("keep_alive", "connections"), [("timeout=1", 2), ("timeout=1, max=100", 2), ("timeout=60", 1)]
)
async def test_what_a_server_says_of_keeping_is_kept(keep_alive: str, connections: int) -> None:
    """A second less than it says, and no connection is kept where that leaves nothing."""

    async def answer(server: Server, writer: asyncio.StreamWriter) -> None:
        await server.answer(writer)

    server = Server(answer, keep_alive)
    async with run_server(server) as (transport, url):
        for _ in range(2):
            await transport.send("POST", url, [], None)
    assert server.connections == connections
