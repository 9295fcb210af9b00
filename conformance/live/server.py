"""The page's server: one page and one stream of events, for this machine only."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from typing import Final

import orjson
from aiohttp import web

from conformance.live.page_messages import MessageFeed

# Only this address is bound, so no other machine can read what a target answered.
_HOST: Final = "127.0.0.1"
_NAMES: Final = frozenset({"127.0.0.1", "localhost"})
# Seconds. An idle stream sends a comment, because only a failed write reveals that the page was closed.
_BREATH_SECONDS: Final = 15.0
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serve_page(feed: MessageFeed, port: int) -> AsyncIterator[str]:
    """Serve the page at a port of this machine (0: any free one), and yield its address.

    Raises:
        OSError: The port cannot be bound.
    """
    app = web.Application(middlewares=[_refuse_other_names])
    app.router.add_get("/", _page)

    async def events(request: web.Request) -> web.StreamResponse:
        return await _stream_events(request, feed)

    app.router.add_get("/events", events)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    try:
        site = web.TCPSite(runner, _HOST, port)
        await site.start()
        yield f"http://{_HOST}:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


@web.middleware
async def _refuse_other_names(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse requests under another host name."""
    # DNS rebinding: a page of another site resolves its own name to this machine, and could then read the run's
    # results.
    if request.host.partition(":")[0] not in _NAMES:
        raise web.HTTPForbidden(text="this page answers only under 127.0.0.1 and localhost\n")
    return await handler(request)


async def _page(_: web.Request) -> web.StreamResponse:
    text, policy = _load_page()
    headers = {"Content-Security-Policy": policy, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return web.Response(text=text, content_type="text/html", headers=headers)


@cache
def _load_page() -> tuple[str, str]:
    """Return the page, and the policy that allows only its own style and script."""
    text = files(__package__).joinpath("page.html").read_text("utf-8")
    style, script = (
        _hash_text(re.findall(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)[0]) for name in ("style", "script")
    )
    return text, f"default-src 'none'; style-src '{style}'; script-src '{script}'; connect-src 'self'; base-uri 'none'"


def _hash_text(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


async def _stream_events(request: web.Request, feed: MessageFeed) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    await response.prepare(request)
    messages = feed.follow()
    next_message = asyncio.ensure_future(anext(messages))
    # A page that was closed is not an error.
    with contextlib.suppress(ConnectionError):
        try:
            while True:
                finished_tasks, _ = await asyncio.wait([next_message], timeout=_BREATH_SECONDS)
                if finished_tasks:
                    await response.write(b"data: " + orjson.dumps(next_message.result()) + b"\n\n")
                    next_message = asyncio.ensure_future(anext(messages))
                else:
                    await response.write(b": nothing new\n\n")
        finally:
            next_message.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await next_message
            await messages.aclose()
    return response
