"""Apps of the bench on a real server: the rail with its chain in memory, and a hello that shows the server's share."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from pathlib import Path

from reference.web.http.asgi_envelope import AsgiApp, Receive, Scope, Send
from reference.web.http.single_task_connection import send_whole
from reference.web.servers import serving
from reference.web.settings import HYPERCORN, UVICORN
from tools.bench.reference import material
from tools.bench.reference.asgi_calls import bare, call
from tools.bench.reference.memory_rail import PATH, memory_rail

Ready = Callable[[], None]
Opener = Callable[[], AbstractAsyncContextManager[AsgiApp]]


def rail(folder: Path, proofs: int, ready: Ready) -> Opener:
    """Return what opens the rail in memory.

    Args:
        folder: Its data. Two files for the caller are also written there: `body`, the body of the paid call, and
            `proofs`, with one value of `X-PAYMENT` on each line, each good for one call.
        proofs: How many proofs.
        ready: Called when all of this is written.
    """

    @asynccontextmanager
    async def open_rail() -> AsyncIterator[AsgiApp]:
        async with memory_rail(folder, material.receipt()) as rail:
            (folder / "body").write_bytes(rail.body)
            (folder / "proofs").write_bytes(b"\n".join(await rail.proofs(proofs)))
            ready()
            yield rail.app

    return open_rail


def hello(ready: Ready) -> Opener:
    """Return what opens the app that only says hello."""

    @asynccontextmanager
    async def open_bare() -> AsyncIterator[AsgiApp]:
        ready()
        yield bare

    return open_bare


def serve_prepared(folder: Path, ready: Ready) -> Opener:
    """Return what opens an app that sends the bytes of one of our challenges again and again, with nothing to decide.

    What it costs is the server's share of a challenge, and no change of ours can get below it.
    """

    @asynccontextmanager
    async def open_prepared() -> AsyncIterator[AsgiApp]:
        async with memory_rail(folder, material.receipt()) as rail:
            (folder / "body").write_bytes(rail.body)
            answer = await call(rail.app, "POST", PATH, rail.body)

        async def again(scope: Scope, receive: Receive, send: Send) -> None:
            del scope, receive
            await send_whole(send, answer.status, list(answer.headers.items()), answer.body)

        ready()
        yield again

    return open_prepared


def on_granian(opener: Opener, fd: int) -> None:
    """Serve on granian, which is no choice of a service (docs/servers.md); it is the caller's to install."""
    import uvloop  # noqa: PLC0415 - only a server needs it

    uvloop.run(_granian(opener, fd))


async def _granian(opener: Opener, fd: int) -> None:
    embed_module, constants = import_module("granian.server.embed"), import_module("granian.constants")
    with socket.socket(fileno=fd) as listener:  # it binds a port by itself, which has to be free
        address, port = listener.getsockname()
    async with opener() as app:
        server = embed_module.Server(
            app,
            address=address,
            port=port,
            interface=constants.Interfaces.ASGINL,
            http=constants.HTTPModes.http1,
            websockets=False,
            backlog=512,
            log_enabled=False,
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, server.stop)
        await server.serve()


def _ours(server: str) -> Callable[[Opener, int], None]:
    """Return what serves as the services do."""
    return lambda opener, fd: serving.run_server(opener, fd, server)


SERVERS: dict[str, Callable[[Opener, int], None]] = {
    HYPERCORN: _ours(HYPERCORN),
    UVICORN: _ours(UVICORN),
    "granian": on_granian,
}
