"""Apps of the bench on a real server: the rail with its chain in memory, and a hello that shows the server's share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from pathlib import Path

from reference.web import serving
from reference.web.envelope import AsgiApp, Receive, Scope, Send
from reference.web.single_task_connection import send_whole
from tools.bench.reference import material
from tools.bench.reference.calling import bare, call
from tools.bench.reference.memory_rail import PATH, memory_rail

Ready = Callable[[], None]
Opener = Callable[[], AbstractAsyncContextManager[AsgiApp]]


def rail(folder: Path, proofs: int, ready: Ready) -> Opener:
    """Return what opens the rail in memory.

    Args:
        folder: Its data. Two files for whoever calls it are written there as well: `body`, the body of the paid call,
            and `proofs`, a value of `X-PAYMENT` a line, each good for one call.
        proofs: How many proofs.
        ready: Called when all of this is there.
    """

    @asynccontextmanager
    async def opened() -> AsyncIterator[AsgiApp]:
        async with memory_rail(folder, material.receipt()) as running:
            (folder / "body").write_bytes(running.body)
            (folder / "proofs").write_bytes(b"\n".join(await running.proofs(proofs)))
            ready()
            yield running.app

    return opened


def hello(ready: Ready) -> Opener:
    """Return what opens the app that only says hello."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[AsgiApp]:
        ready()
        yield bare

    return opened


def prepared(folder: Path, ready: Ready) -> Opener:
    """Return what opens an app that sends the bytes of one of our challenges again and again, with nothing to decide.

    What it costs is the server's share of a challenge, and no change of ours can get below it.
    """

    @asynccontextmanager
    async def opened() -> AsyncIterator[AsgiApp]:
        async with memory_rail(folder, material.receipt()) as running:
            (folder / "body").write_bytes(running.body)
            answer = await call(running.app, "POST", PATH, running.body)

        async def again(scope: Scope, receive: Receive, send: Send) -> None:
            del scope, receive
            await send_whole(send, answer.status, list(answer.headers.items()), answer.body)

        ready()
        yield again

    return opened


def on_hypercorn(opener: Opener, fd: int) -> None:
    """Serve on Hypercorn, as the services do."""
    serving.run(opener, fd)


def on_uvicorn(opener: Opener, fd: int) -> None:
    """Serve on uvicorn with uvloop and httptools, the fast deployment; both are the caller's to install."""
    import uvloop  # noqa: PLC0415 - only a server needs it

    uvloop.run(_uvicorn(opener, fd))


async def _uvicorn(opener: Opener, fd: int) -> None:
    uvicorn = import_module("uvicorn")  # the product does not depend on it
    async with opener() as app:
        config = uvicorn.Config(
            app,
            fd=fd,
            http="httptools",
            lifespan="off",
            ws="none",
            log_level="warning",
            access_log=False,
            h11_max_incomplete_event_size=serving.HEAD_LIMIT,
        )
        await uvicorn.Server(config).serve()


SERVERS: dict[str, Callable[[Opener, int], None]] = {"hypercorn": on_hypercorn, "uvicorn": on_uvicorn}
