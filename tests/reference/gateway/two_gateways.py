"""Two workers of a gateway on two ports behind a real nginx, both in this process, so that a test moves their clock."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from hypercorn.asyncio import serve
from hypercorn.config import Config

from tests.reference.gateway.gateway_stack import Gateway, gateway
from tests.reference.web.nginx_front import balanced_by_nginx


@asynccontextmanager
async def two_gateways(folder: Path, **settings: Any) -> AsyncIterator[Gateway]:
    """Open two workers on one database, and yield what is reached through nginx, which takes them by turns.

    Raises:
        Missing: There is no nginx here and none could be downloaded.
    """
    async with AsyncExitStack() as exits:
        workers = [await exits.enter_async_context(gateway(folder, **settings)) for _ in range(2)]
        ports = [await exits.enter_async_context(_serve(worker)) for worker in workers]
        host, port = exits.enter_context(balanced_by_nginx(folder / "nginx", ports))
        http = await exits.enter_async_context(
            httpx.AsyncClient(base_url=f"http://{host}:{port}", trust_env=False, timeout=100)
        )
        yield Gateway(http, workers[0].settings, workers[0].clock_file)


@asynccontextmanager
async def _serve(worker: Gateway) -> AsyncIterator[int]:
    """Serve a worker's app on a free port."""
    transport = worker.http._transport
    assert isinstance(transport, httpx.ASGITransport)
    listener = socket.create_server(("127.0.0.1", 0))
    port = int(listener.getsockname()[1])
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]  # the server closes it
    end = asyncio.Event()
    task = asyncio.create_task(serve(transport.app, config, shutdown_trigger=end.wait))  # type: ignore[arg-type]
    yield port
    end.set()
    await task
