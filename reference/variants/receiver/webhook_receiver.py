"""The webhook receiver: it verifies deliveries and counts one effect for each event."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from aiohttp import web

from reference.protocol import webhook_signature
from reference.protocol.service_word import ServiceWord

# P-WH-13: a delivery whose time is more than 300 s away is stale, either way.
TOLERANCE_SECONDS = 300
_VALUE = re.compile(r"t=([0-9]{1,12}),v1=([0-9a-f]{64})(?:,.*)?")


def is_signed(secret: str, value: str | None, body: bytes) -> bool:
    """Return whether a header's value is a recent signature over exactly these bytes."""
    match = _VALUE.fullmatch(value or "")
    if match is None or abs(time.time() - int(match[1])) > TOLERANCE_SECONDS:
        return False
    return compare_macs(webhook_signature.v1(secret, body, t=int(match[1])), match[2])


compare_macs: Callable[[str, str], bool] = hmac.compare_digest


def key_of(event: dict[str, Any], body: bytes) -> str:
    """Return the key by which a repeated event is recognised."""
    # The id and not the body: the same event may come with other bytes from another implementation.
    del body
    return str(event["id"])


class Memory:
    """The events that had their effect."""

    def __init__(self) -> None:
        self._known: dict[str, float] = {}

    def is_new(self, key: str) -> bool:
        """Note an event, and return whether it was not noted before."""
        if key in self._known:
            return False
        self._known[key] = time.monotonic()
        return True


class Receiver:
    """The application: it performs one effect for each event, which is to count it."""

    def __init__(self, secret: str, word: ServiceWord) -> None:
        self._secret, self._header = secret, webhook_signature.header_name(word)
        self._memory = Memory()
        self._effects: Counter[str] = Counter()

    def app(self) -> web.Application:
        """Return the application that serves it."""
        app = web.Application()
        app.router.add_post("/hook", self._take)
        app.router.add_get("/effects/{id}", self._effect_count)
        return app

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        # The signature is checked over the raw bytes before they are parsed.
        if not is_signed(self._secret, request.headers.get(self._header), body):
            return web.Response(status=401)
        event = json.loads(body)
        if self._memory.is_new(key_of(event, body)):
            self._effects[str(event["id"])] += 1
        return web.Response(status=204)

    async def _effect_count(self, request: web.Request) -> web.Response:
        return web.Response(text=f"{self._effects[request.match_info['id']]}\n")


async def serve() -> None:
    """Serve until the process is ended."""
    receiver = Receiver(os.environ["WP_RECEIVER_SECRET"], ServiceWord())
    runner = web.AppRunner(receiver.app())
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    base = f"http://{host}:{port}"
    sys.stdout.write(json.dumps({"url": f"{base}/hook", "effects": f"{base}/effects/{{id}}"}) + "\n")
    sys.stdout.flush()
    await asyncio.Event().wait()
