"""Serving a simulator's apps on loopback sockets until SIGTERM or Ctrl-C."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Any

import click
import orjson

from sim import http_server
from sim.faulty import AsgiApp

_BACKLOG = 512
# Python's own thresholds, which `sim.starting` lifts.
COLLECTING = (700, 10, 10)


def listening(host: str, port: int, fd: int | None) -> socket.socket:
    """Return a listening socket: the inherited one `fd`, else a new one on `port` (0 picks a free one)."""
    bound = socket.create_server((host, port), backlog=_BACKLOG) if fd is None else socket.socket(fileno=fd)
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


def address(bound: socket.socket, scheme: str = "http") -> str:
    """Return the address of a listening socket."""
    return "{}://{}:{}".format(scheme, *bound.getsockname())


async def serve_until_stopped(
    apps: Sequence[tuple[AsgiApp, socket.socket]], mining: Coroutine[Any, Any, None], ready: dict[str, Any]
) -> None:
    """Serve ASGI apps beside the chain's miner, print the ready line, and end cleanly on a signal.

    Raises:
        Exception: Whatever ended the miner by itself.
    """
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    miner, stopped = asyncio.create_task(mining), asyncio.create_task(stop.wait())
    async with AsyncExitStack() as exits:
        for app, bound in apps:
            await exits.enter_async_context(http_server.serving(app, bound))
        # What is there now stays until the end: the collector need never look at it.
        gc.freeze()
        gc.set_threshold(*COLLECTING)
        click.echo(orjson.dumps({"ready": True, **ready}).decode())
        try:
            await asyncio.wait([miner, stopped], return_when=asyncio.FIRST_COMPLETED)
            if miner.done():
                miner.result()
        finally:
            miner.cancel()
            stopped.cancel()
            await asyncio.gather(miner, stopped, return_exceptions=True)
