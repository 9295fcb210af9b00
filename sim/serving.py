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
# Python's own thresholds, which `sim.deferred_gc` lifts.
GC_THRESHOLDS = (700, 10, 10)


def listen(host: str, port: int, fd: int | None) -> socket.socket:
    """Return a listening socket: the inherited one `fd`, else a new one on `port` (0 picks a free one)."""
    listener = socket.create_server((host, port), backlog=_BACKLOG) if fd is None else socket.socket(fileno=fd)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def address(listener: socket.socket, scheme: str = "http") -> str:
    """Return the address of a listening socket."""
    return "{}://{}:{}".format(scheme, *listener.getsockname())


async def serve_until_stopped(
    apps: Sequence[tuple[AsgiApp, socket.socket]], block_maker: Coroutine[Any, Any, None], ready: dict[str, Any]
) -> None:
    """Serve ASGI apps beside the chain's miner, print the ready line, and end cleanly on a signal.

    Raises:
        Exception: Whatever ended the miner by itself.
    """
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    miner, stop_signal = asyncio.create_task(block_maker), asyncio.create_task(stop.wait())
    async with AsyncExitStack() as exits:
        for app, listener in apps:
            await exits.enter_async_context(http_server.serve(app, listener))
        # What is there now stays until the end: the collector need never look at it.
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        click.echo(orjson.dumps({"ready": True, **ready}).decode())
        try:
            await asyncio.wait([miner, stop_signal], return_when=asyncio.FIRST_COMPLETED)
            if miner.done():
                miner.result()
        finally:
            miner.cancel()
            stop_signal.cancel()
            await asyncio.gather(miner, stop_signal, return_exceptions=True)
