"""Serving a simulator's apps on loopback sockets until SIGTERM or Ctrl-C."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import click
import orjson
from hypercorn.asyncio import serve
from hypercorn.config import Config

_BACKLOG = 512


def listening(host: str, port: int, fd: int | None) -> socket.socket:
    """Return a listening socket: the inherited one `fd`, else a new one on `port` (0 picks a free one)."""
    bound = socket.create_server((host, port), backlog=_BACKLOG) if fd is None else socket.socket(fileno=fd)
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


def address(bound: socket.socket, scheme: str = "http") -> str:
    """Return the address of a listening socket."""
    return "{}://{}:{}".format(scheme, *bound.getsockname())


async def serve_until_stopped(
    apps: Sequence[tuple[Any, socket.socket]],
    mining: Coroutine[Any, Any, None],
    ready: dict[str, Any],
    *,
    logger: str,
) -> None:
    """Serve ASGI apps beside the chain's miner, print the ready line, and end cleanly on a signal.

    Raises:
        Exception: Whatever ended the miner or a server by itself.
    """
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    miner = asyncio.create_task(mining)
    serving = [
        asyncio.create_task(serve(app, _config(bound, logger), shutdown_trigger=_waiter(stop))) for app, bound in apps
    ]
    click.echo(orjson.dumps({"ready": True, **ready}).decode())
    try:
        done, _ = await asyncio.wait([*serving, miner], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        stop.set()
        miner.cancel()
        await asyncio.gather(*serving, miner, return_exceptions=True)


def _waiter(stop: asyncio.Event) -> Callable[[], Awaitable[None]]:
    async def wait() -> None:
        await stop.wait()

    return wait


def _config(bound: socket.socket, logger: str) -> Config:
    config = Config()
    config.bind = [f"fd://{os.dup(bound.fileno())}"]
    config.keep_alive_max_requests = 1_000_000
    config.keep_alive_timeout = 60  # longer than clients keep theirs: none of them calls into one that closes
    config.graceful_timeout = 0.2
    config.accesslog = None
    config.errorlog = logging.getLogger(logger)
    return config
