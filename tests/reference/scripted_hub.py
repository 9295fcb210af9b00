"""A hub that does what a test tells it, on a real socket; it may go away and come back at the same address."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

LONG_SECONDS = 120.0


async def until(is_reached: Callable[[], object]) -> None:
    """Wait long for something that is due."""
    deadline = time.monotonic() + LONG_SECONDS
    while not is_reached():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.01)


@dataclass
class ScriptedHub:
    """One hub.

    Attributes:
        documents: What it answers to a GET, by path; bytes are sent as they are.
        status: Status of every GET of a document.
        registered: Status of a registration.
        tag: Entity tag of every document; a call that names it gets 304.
        calls: Each call, as method and path.
        seen: The calls themselves.
        records: Every record that was posted.
    """

    documents: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    registered: int = 201
    tag: str = ""
    calls: list[str] = field(default_factory=list)
    seen: list[web.Request] = field(default_factory=list)
    records: list[Any] = field(default_factory=list)
    _runner: web.AppRunner | None = None
    _port: int = 0
    _kept: socket.socket = field(default_factory=socket.socket)

    def __post_init__(self) -> None:
        # Bound and not listening: connections are refused, and the system assigns the port to no other process.
        self._kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._kept.bind(("127.0.0.1", 0))
        self._port = self._kept.getsockname()[1]

    @property
    def url(self) -> str:
        """Where it is, or will be."""
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Be there."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()

    async def stop(self) -> None:
        """Be away."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def count(self, call: str) -> int:
        """Return how often a call came."""
        return self.calls.count(call)

    async def _answer(self, request: web.Request) -> web.Response:
        self.calls.append(f"{request.method} {request.path}")
        self.seen.append(request)
        if request.method == "POST":
            self.records.append(await request.json())
            return web.json_response({}, status=self.registered)
        headers = {"ETag": self.tag} if self.tag else {}
        if self.tag and request.headers.get("If-None-Match") == self.tag:
            return web.Response(status=304, headers=headers)
        document = self.documents.get(request.path)
        if document is None:
            return web.json_response({"detail": "Not Found"}, status=404)
        if self.status in {301, 302, 307, 308}:
            return web.Response(status=self.status, headers={"Location": "/elsewhere"})
        if isinstance(document, bytes):
            return web.Response(body=document, status=self.status, headers=headers)
        return web.json_response(document, status=self.status, headers=headers)
