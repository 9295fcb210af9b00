"""What is said of calls that got no HTTP answer."""

from __future__ import annotations

import asyncio
import errno
import socket
import struct

import aiohttp
import pytest

from conformance.http.client import Unreachable
from conformance.http.transport import HttpTransport
from conformance.http.unanswered import explain_failure

# The settings that stock Node.js sends to any client that connects to its server of HTTP/2.
SETTINGS = bytes.fromhex("00 00 00 04 00 00 00 00 00")


def test_who_speaks_before_he_is_asked_gives_no_http_answer() -> None:
    """On a slow machine it is heard out before a request is sent, and the client says only that it cannot send one."""
    reason = explain_failure(
        aiohttp.ClientConnectionResetError("Cannot write to closing transport"), "http://127.0.0.1:1/"
    )
    assert "there is no HTTP answer" in reason
    assert "https://" in reason


async def call_resetting_server(first: bytes, later: bytes | None) -> str:
    """Post to a server that says something and resets the connection; say what is said of it.

    Later connections receive a first message and wait for an answer, as stock HTTP/2 does, or are reset, too.
    """
    words = [first]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if words or later is None:
            writer.write(words.pop() if words else b"")
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            writer.write(later)
            await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with HttpTransport(seconds=5, requests_per_second=0, connections=1) as transport:
            with pytest.raises(Unreachable) as error:
                await transport.send("POST", f"http://127.0.0.1:{port}/", [], b"")
    return str(error.value)


@pytest.mark.parametrize("first", [b"", SETTINGS])
def test_words_that_were_lost_in_a_reset_are_asked_for_again(first: bytes) -> None:
    """Whether a client reads them before its connection ends depends on the machines; what is said of them does not."""
    assert asyncio.run(call_resetting_server(first, SETTINGS)) == "what came is HTTP/2, and the suite speaks HTTP/1.1"
    assert "220 mail" in asyncio.run(call_resetting_server(first and b"220 mail\r\n", b"220 mail\r\n"))


def test_who_says_nothing_was_reset() -> None:
    """And no more is made of it than that."""
    reason = asyncio.run(call_resetting_server(b"", None))
    assert reason.startswith("the connection was reset before an answer came")


def test_a_connection_that_is_lost_while_sending_has_a_reason() -> None:
    """The client's fault has neither number nor cause; a reader needs to know that the request was not whole."""
    reason = explain_failure(aiohttp.ClientOSError(None, "Can not write request body for http://127.0.0.1:1/"), "x")
    assert reason.startswith("the connection was lost while the request was sent")


def test_who_answers_others_is_not_asked_for_another_scheme() -> None:
    """A server that trips over one request closes its connection; what it answered before was no TLS."""
    for fault in (aiohttp.ServerDisconnectedError(), ConnectionResetError(errno.ECONNRESET, "reset")):
        first = explain_failure(fault, "http://127.0.0.1:1/")
        later = explain_failure(fault, "http://127.0.0.1:1/", has_answered=True)
        assert first.endswith("if it speaks TLS, its address begins with https://")
        assert later.endswith("others were answered: your server's own log says what became of this one")
