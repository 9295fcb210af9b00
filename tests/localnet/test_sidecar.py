"""The control sidecar of real nodes as a server: its form, and HTTP/1.1 alone."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from localnet.control_verbs import Members, Verb, text
from localnet.sidecar import serve

HOST = b"Host: localhost\r\n"


class Node:
    """A node with one setting."""

    async def prepare(self) -> None:
        """Nothing is to be prepared."""

    def by_name(self) -> Mapping[str, Verb]:
        """Return its verb."""
        return {"say": self.say}

    async def say(self, members: Members) -> dict[str, Any]:
        """Say a word."""
        return {"said": text(members, "word")}


@asynccontextmanager
async def serve_sidecar() -> AsyncIterator[int]:
    """Yield the port of a sidecar's front."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with serve(listener.dup().detach(), Node()):
            yield listener.getsockname()[1]


async def send_bytes(port: int, raw: bytes) -> bytes:
    """Send bytes and return all that comes until the connection ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(raw)
        async with asyncio.timeout(60):
            return await reader.read()
    finally:
        writer.close()


async def test_it_tells_its_verbs_and_carries_them_out() -> None:
    """The form of specification 9.1."""
    async with serve_sidecar() as port, aiohttp.ClientSession(f"http://127.0.0.1:{port}") as http:
        verbs = await (await http.get("/control")).json()
        verb_answer = await (await http.post("/control", json={"verb": "say", "word": "yes"})).json()
        refusal = await http.post("/control", data=b"{")
        assert (refusal.status, (await refusal.json())["ok"]) == (400, False)

    assert verbs == {"verbs": {"say": "Say a word."}, "faults": []}
    assert verb_answer == {"ok": True, "said": "yes"}


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"GET /control HTTP/1.1\r\n" + HOST + b"Connection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n", b"200"),
        (b"GET /control HTTP/1.1\r\n" + HOST + b"Connection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n", b"200"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"400"),
        (
            b"POST /control HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"400",
        ),
    ],
    ids=["HTTP/2 by upgrade", "a WebSocket", "HTTP/2 at once", "two lengths"],
)
async def test_it_speaks_plain_http_alone(raw: bytes, status: bytes) -> None:
    """One answer, whatever else was asked for."""
    async with serve_sidecar() as port:
        answer = await send_bytes(port, raw)

    assert (answer.split(b" ")[1], answer.count(b"HTTP/1.")) == (status, 1), answer
