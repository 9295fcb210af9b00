"""A real HTTP receiver on loopback that answers as a test says, and what its deliveries say."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

SIGNATURE = "X-Weldproof-Signature"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class ReceivedRequest:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def event_id(self) -> str:
        """The event's id."""
        return str(self.json()["id"])

    @property
    def time(self) -> int:
        """The signed time."""
        return int(self._match_signature()[1])

    def json(self) -> Any:
        """Return the body."""
        return orjson.loads(self.body)

    def is_signed_by(self, secret: str) -> bool:
        """Whether v1 is right for a secret."""
        match = self._match_signature()
        expected_digest = hmac.new(secret.encode(), match[1].encode() + b"." + self.body, hashlib.sha256).hexdigest()
        return expected_digest == match[2]

    def _match_signature(self) -> re.Match[str]:
        match = re.fullmatch(r"t=([0-9]+),v1=([0-9a-f]{64})(,v2=[0-9a-f]{96})?", self.headers[SIGNATURE])
        assert match is not None, self.headers[SIGNATURE]
        return match


async def ok(request: web.Request) -> web.StreamResponse:
    """Answer 200."""
    del request
    return web.Response(text="thanks")


def status(code: int, **headers: str) -> Answer:
    """Return what answers a status."""

    async def answer(request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(status=code, headers=headers)

    return answer


@dataclass
class Receiver:
    """A receiver that is open.

    Attributes:
        answer: What it answers.
        got: What it got, in order.
        hosts: Host names of TLS handshakes.
    """

    answer: Answer = ok
    got: list[ReceivedRequest] = field(default_factory=list)
    port: int = 0
    release: asyncio.Event = field(default_factory=asyncio.Event)
    _came: asyncio.Condition = field(default_factory=asyncio.Condition)
    _runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}/hook?a=%20b"

    async def open(self, tls: ssl.SSLContext | None = None) -> Receiver:
        """Listen on a free port of loopback."""
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._take)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        return self

    async def close(self) -> None:
        """Listen no more."""
        self.release.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _take(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.got.append(ReceivedRequest(request.method, request.path_qs, dict(request.headers), body))
        async with self._came:
            self._came.notify_all()
        return await self.answer(request)

    async def hang(self, request: web.Request) -> web.StreamResponse:
        """Answer when the test releases it."""
        await self.release.wait()
        return await ok(request)

    async def until(self, count: int, seconds: float = 120) -> list[ReceivedRequest]:
        """Wait until so many requests came."""
        async with asyncio.timeout(seconds), self._came:
            await self._came.wait_for(lambda: len(self.got) >= count)
        return self.got
