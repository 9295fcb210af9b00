"""Choice of the HTTP server, by `WP_SERVER` or `--server`.

Hypercorn is the default. uvicorn, which parses in C, costs a fraction of it. A server can be chosen if it passes
tests/reference/web/test_framing.py: it refuses broken framing in the surface's own form, and speaks no other protocol.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager

from hypercorn.asyncio import serve
from hypercorn.config import Config

from reference.web.http.asgi_envelope import AsgiApp
from reference.web.process.shutdown import SHUTDOWN
from reference.web.servers import hypercorn_http1
from reference.web.servers.framing import HEAD_LIMIT, HEAD_SECONDS
from reference.web.settings import HYPERCORN, UVICORN

CONNECTION_REQUESTS = 1_000_000
# Longer than shutdown.ANSWER_SECONDS, so that every call gets its 503 before the server cancels it (P-CV-22).
_GRACE_SECONDS = 3


async def serve_on_hypercorn(app: AsgiApp, fd: int, drain_seconds: float) -> None:
    """Serve on Hypercorn until SIGTERM or SIGINT."""
    config = Config()
    # A socket that listens already, so both servers start in the same way.
    config.bind = [f"fd://{fd}"]
    config.h11_max_incomplete_size = HEAD_LIMIT
    config.keep_alive_max_requests = CONNECTION_REQUESTS
    config.keep_alive_timeout = HEAD_SECONDS
    config.graceful_timeout = _GRACE_SECONDS
    config.accesslog = None
    config.errorlog = logging.getLogger("hypercorn.error")
    config.include_server_header = False
    # Before the first connection: Hypercorn has no setting for the class that serves one.
    hypercorn_http1.install_http1()
    stop = asyncio.Event()
    _handle_signals(stop.set, drain_seconds)

    async def wait_for_stop() -> None:
        await stop.wait()

    await serve(app, config, shutdown_trigger=wait_for_stop)  # type: ignore[arg-type]
    await hypercorn_http1.Connection.finish()


async def serve_on_uvicorn(app: AsgiApp, fd: int, drain_seconds: float) -> None:
    """Serve on uvicorn with httptools until SIGTERM or SIGINT."""
    # Only services on uvicorn need it.
    import uvicorn  # noqa: PLC0415

    from reference.web.servers.uvicorn_http1 import FastHttp1  # noqa: PLC0415

    class Server(uvicorn.Server):
        """A server without signal handlers: its own handlers would end the process before the app is closed."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            _handle_signals(self.stop, drain_seconds)
            yield

        def stop(self) -> None:
            self.should_exit = True

    config = uvicorn.Config(
        app,
        http=FastHttp1,
        ws="none",
        interface="asgi3",
        proxy_headers=False,  # X-Forwarded-For is judged by us (P-CV-19)
        server_header=False,
        access_log=False,
        log_config=None,
        timeout_keep_alive=HEAD_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    await Server(config).serve([socket.socket(fileno=fd)])


SERVERS: Mapping[str, Callable[[AsgiApp, int, float], Awaitable[None]]] = {
    HYPERCORN: serve_on_hypercorn,
    UVICORN: serve_on_uvicorn,
}
"""The functions that serve an app on a listening socket, by name."""


def _handle_signals(stop: Callable[[], None], drain_seconds: float) -> None:
    loop = asyncio.get_running_loop()

    def end() -> None:
        stop()
        SHUTDOWN.begin()

    def handle_signal() -> None:
        # A second signal does not wait.
        if SHUTDOWN.is_draining or not drain_seconds:
            end()
            return
        SHUTDOWN.drain()
        loop.call_later(drain_seconds, end)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, handle_signal)
