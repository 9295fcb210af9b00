"""Serving an app: Hypercorn on uvloop, on a port or on a socket handed down (fd)."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import structlog
from hypercorn.asyncio import serve
from hypercorn.config import Config

from reference.web.envelope import AsgiApp

HEAD_LIMIT = 65536
CONNECTION_REQUESTS = 1_000_000


def configure_logs(level: str) -> None:
    """Log structured lines to standard error; nothing a caller sent is ever a member of one."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
    )


def run(build: Callable[[], AbstractAsyncContextManager[AsgiApp]], *, host: str, port: int, fd: int | None) -> None:
    """Serve the app that `build` opens until SIGTERM or SIGINT.

    Args:
        build: Opens the app and closes what it holds.
        host: Address to bind when there is no `fd`.
        port: Port to bind when there is no `fd`.
        fd: Number of a socket that already listens, or None.
    """
    import uvloop  # noqa: PLC0415 - only a server needs it

    uvloop.run(_serve(build, host=host, port=port, fd=fd))


async def _serve(
    build: Callable[[], AbstractAsyncContextManager[AsgiApp]], *, host: str, port: int, fd: int | None
) -> None:
    config = Config()
    config.bind = [f"{host}:{port}" if fd is None else f"fd://{_nodelay(fd)}"]
    config.h11_max_incomplete_size = HEAD_LIMIT
    config.keep_alive_max_requests = CONNECTION_REQUESTS
    config.keep_alive_timeout = 30
    config.graceful_timeout = 3
    config.accesslog = None
    config.errorlog = logging.getLogger("hypercorn.error")
    config.include_server_header = False
    async with build() as app:
        # What is there now stays until the end: the collector need not look at it again and again.
        gc.collect()
        gc.freeze()
        await serve(app, config, shutdown_trigger=_shutdown())  # type: ignore[arg-type]


def _shutdown() -> Callable[[], Awaitable[None]]:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)

    async def wait() -> None:
        await stop.wait()

    return wait


def _nodelay(fd: int) -> int:
    """Set TCP_NODELAY on a handed-down socket, which accepted connections inherit; Hypercorn does not for fd binds."""
    handed = socket.socket(fileno=os.dup(fd))
    handed.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    handed.close()
    return fd
