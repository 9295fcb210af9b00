"""The server of the simulated nodes, byte by byte: what a client sends wrong, long, or is still sending at the end."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import pytest

from sim import http_server
from sim.faulty import AsgiApp
from sim.json_rpc import Call
from sim.node_app import RpcFirst, new_node_app

_CHAIN_ID = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
_SECONDS = 20.0


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the body that came, and its path as a header."""
    message = await receive()
    headers = [(b"content-type", b"text/plain"), (b"x-path", scope["raw_path"])]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": message["body"], "more_body": False})


@asynccontextmanager
async def serve_app(app: AsgiApp = echo) -> AsyncIterator[int]:
    """Yield the port at which an app is served."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with http_server.serve(app, listener):
            yield listener.getsockname()[1]


class Talk:
    """One connection, as bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    @asynccontextmanager
    async def at(cls, port: int) -> AsyncIterator[Talk]:
        """Yield a connection to a port."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            yield cls(reader, writer)
        finally:
            writer.close()

    def say(self, raw: bytes) -> None:
        """Send bytes."""
        self._writer.write(raw)

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of the next answer."""
        async with asyncio.timeout(_SECONDS):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in head[1:-2])
            body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        return int(head[0].split()[1]), headers, body

    async def ends(self) -> bytes:
        """Return what comes before the connection ends."""
        async with asyncio.timeout(_SECONDS):
            try:
                return await self._reader.read()
            except ConnectionResetError:
                return b""


def request(body: bytes = b"", path: str = "/", *headers: str) -> bytes:
    """Return a call's bytes."""
    lines = (f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers, "", "")
    return "\r\n".join(lines).encode() + body


async def test_calls_come_one_after_another_over_one_connection() -> None:
    async with serve_app() as port, Talk.at(port) as talk:
        answers = []
        for number in range(3):
            talk.say(request(b"%d" % number, f"/a%20b/{number}?x=1"))
            answers.append(await talk.answer())

    assert [(200, str(number).encode()) for number in range(3)] == [(status, body) for status, _, body in answers]
    assert [headers["x-path"] for _, headers, _ in answers] == ["/a%20b/0", "/a%20b/1", "/a%20b/2"]


async def test_calls_sent_at_once_are_answered_in_their_order() -> None:
    async with serve_app() as port, Talk.at(port) as talk:
        talk.say(request(b"first") + request(b"second"))

        assert [(await talk.answer())[2] for _ in range(2)] == [b"first", b"second"]


async def test_a_client_that_wants_its_connection_closed_has_it_closed() -> None:
    async with serve_app() as port, Talk.at(port) as talk:
        talk.say(request(b"last", "/", "Connection: close"))

        assert (await talk.answer())[2] == b"last"
        assert await talk.ends() == b""


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: minus\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nX-Long: " + b"a" * 100_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
    ids=[
        *("the start of TLS", "a length that is no number", "a header without a colon", "a header of 100,000 bytes"),
        *("two lengths", "HTTP/2"),
    ],
)
async def test_what_is_not_http_is_refused_and_its_connection_ends(raw: bytes) -> None:
    async with serve_app() as port:
        async with Talk.at(port) as talk:
            talk.say(raw)
            told = await talk.ends()
        async with Talk.at(port) as talk:
            talk.say(request(b"next"))

            assert (await talk.answer())[2] == b"next"
    assert told.startswith((b"HTTP/1.0 400 ", b"HTTP/1.1 400 ")), told[:40]


async def test_an_upgrade_to_http2_is_ignored() -> None:
    upgrade = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")
    async with serve_app() as port, Talk.at(port) as talk:
        talk.say(request(b"plain", "/", *upgrade))

        assert (await talk.answer())[::2] == (200, b"plain")


async def test_a_chunk_of_no_length_is_refused() -> None:
    async with serve_app() as port, Talk.at(port) as talk:
        talk.say(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        await asyncio.sleep(0)
        talk.say(b"zz\r\n\r\n")
        told = await talk.ends()

    assert b" 400 " in told.partition(b"\r\n")[0], told[:80]


async def test_a_client_that_leaves_in_the_middle_of_its_body_holds_nobody_up(caplog: pytest.LogCaptureFixture) -> None:
    async with serve_app() as port:
        async with Talk.at(port) as talk:
            talk.say(request(b"whole").replace(b"Content-Length: 5", b"Content-Length: 500"))
        async with Talk.at(port) as talk:
            talk.say(request(b"next"))

            assert (await talk.answer())[2] == b"next"
    assert [one for one in caplog.records if one.levelno >= logging.ERROR] == []


async def test_a_body_of_the_greatest_length_is_taken() -> None:
    body = bytes(http_server.LONGEST_BODY)
    async with serve_app() as port, Talk.at(port) as talk:
        talk.say(request(body))
        status, _, told = await talk.answer()

    assert (200, len(body)) == (status, len(told))


async def test_a_body_that_says_it_is_too_long_is_not_waited_for() -> None:
    async with serve_app() as port, Talk.at(port) as talk:
        talk.say(
            request(b"begins").replace(b"Content-Length: 6", b"Content-Length: %d" % (http_server.LONGEST_BODY + 1))
        )

        assert (await talk.answer())[0] == 413
        assert await talk.ends() == b""


async def test_a_body_that_becomes_too_long_is_refused() -> None:
    piece = bytes(1024 * 1024)
    chunk = b"%x\r\n%b\r\n" % (len(piece), piece)
    async with serve_app() as port, Talk.at(port) as talk:
        talk.say(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        talk.say(chunk * (http_server.LONGEST_BODY // len(piece) + 1))

        assert (await talk.answer())[0] == 413


async def test_a_client_that_asks_before_it_sends_is_let() -> None:
    async with serve_app() as port, Talk.at(port) as talk:
        whole = request(b"body", "/", "Expect: 100-continue")
        talk.say(whole[:-4])
        assert (await talk.answer())[0] == 100
        talk.say(whole[-4:])

        assert (await talk.answer())[::2] == (200, b"body")


async def test_an_app_that_fails_takes_its_connection_with_it() -> None:
    async def fails(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive, send
        raise ConnectionAbortedError

    async with serve_app(fails) as port, Talk.at(port) as talk:
        talk.say(request())

        assert await talk.ends() == b""


async def test_an_answer_in_pieces_that_breaks_off_is_no_whole_answer() -> None:
    async def breaks_off(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"100")]})
        await send({"type": "http.response.body", "body": b"begins", "more_body": True})
        raise ConnectionAbortedError

    async with serve_app(breaks_off) as port, Talk.at(port) as talk:
        talk.say(request())
        told = await talk.ends()

    assert told.endswith(b"\r\n\r\nbegins")


def _node() -> AsgiApp:
    async def chain_id(_method: str, _params: object) -> str:
        return "0x2105"

    async def carry_out(_members: object) -> tuple[int, dict[str, Any]]:
        return 200, {"ok": True}

    call: Call = chain_id
    return RpcFirst(new_node_app(call, carry_out, dict), call)


async def test_a_websocket_is_refused_where_only_calls_are_answered() -> None:
    handshake = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13")
    key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
    async with serve_app(_node()) as port:
        async with Talk.at(port) as talk:
            talk.say(request(b"", "/", *handshake, key).replace(b"POST", b"GET"))
            assert (await talk.answer())[0] == 403
        async with Talk.at(port) as talk:
            talk.say(request(_CHAIN_ID))
            assert b"0x2105" in (await talk.answer())[2]


async def test_a_handshake_without_its_key_is_a_bad_request(caplog: pytest.LogCaptureFixture) -> None:
    async def accepts(scope: Any, receive: Any, send: Any) -> None:
        del scope
        await receive()
        await send({"type": "websocket.accept"})

    async with serve_app(accepts) as port, Talk.at(port) as talk:
        talk.say(request(b"", "/", "Upgrade: websocket", "Connection: Upgrade").replace(b"POST", b"GET"))

        assert (await talk.answer())[0] == 400
    assert [one for one in caplog.records if one.levelno >= logging.ERROR] == []


async def test_serving_ends_with_calls_and_sockets_open(caplog: pytest.LogCaptureFixture) -> None:
    begin_event = asyncio.Event()
    cut_off = asyncio.Event()

    async def hangs(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            await receive()
            return
        begin_event.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cut_off.set()
            raise

    async with AsyncExitStack() as clients, asyncio.timeout(_SECONDS):
        session = await clients.enter_async_context(aiohttp.ClientSession())
        async with serve_app(hangs) as port:
            idle, busy_talk = [await clients.enter_async_context(Talk.at(port)) for _ in range(2)]
            idle.say(b"POST / HT")
            busy_talk.say(request(b"", "/hangs"))
            conversation = await session.ws_connect(f"http://127.0.0.1:{port}/")
            await begin_event.wait()
        await cut_off.wait()
        assert (await conversation.receive()).type in {aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED}
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    assert [one for one in caplog.records if one.levelno >= logging.ERROR] == []
