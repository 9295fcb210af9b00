"""`python -m localnet.sidecar`: control addresses in front of real nodes, in the form of specification 9.1.

Each front is one node: its kind, the descriptor of a socket that listens already, and the node's address. The sidecar
prepares the nodes (token, minter, bank), prints one ready line, and serves until SIGTERM or Ctrl-C.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import click
import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from localnet import control_verbs
from localnet.block_clocks import keep_current
from localnet.control_verbs import MayTrail, Verbs
from localnet.lanes.registry import LANES
from localnet.rpc import NodeFault
from localnet.sidecar_node import SidecarTarget

EXIT_FAULT = 4
_KINDS = {lane.kind: lane for lane in LANES.values()}
_NODE_SECONDS = 30.0
_KEEP_ALIVE_SECONDS = 60.0  # longer than clients keep their connections: none of them calls into one that closes
_END = 0.2
_LONGEST_BODY = 16 * 1024 * 1024
_HOME = {"127.0.0.1", "::1"}


def new_control_app(node: Verbs) -> web.Application:
    """Return an app that answers `/control` for one node, to callers on this machine only."""

    @web.middleware
    async def keep_at_home(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.remote in _HOME:
            return await handler(request)
        return _json(403, {"ok": False, "error": "control verbs are for callers on this machine only"})

    async def tell(_: web.Request) -> web.Response:
        return _json(200, control_verbs.describe(node))

    async def steer(request: web.Request) -> web.Response:
        try:
            verb = orjson.loads(await request.read())
        except orjson.JSONDecodeError:
            verb = None
        return _json(*await control_verbs.carry_out(node, verb))

    app = web.Application(client_max_size=_LONGEST_BODY, middlewares=[keep_at_home])
    app.router.add_get("/control", tell)
    app.router.add_post("/control", steer)
    return app


def _json(status: int, body: Any) -> web.Response:
    return web.Response(body=orjson.dumps(body), status=status, content_type="application/json")


@click.command()
@click.option(
    "--front",
    "fronts",
    type=(click.Choice(list(_KINDS)), int, str, str),
    multiple=True,
    required=True,
    help="KIND FD URL SECRET-FILE, once a node; an empty last word for none.",
)
def main(fronts: tuple[tuple[str, int, str, str], ...]) -> None:
    """Answer control verbs for real nodes until SIGTERM or Ctrl-C."""
    targets = [SidecarTarget(kind, fd, url, Path(secret) if secret else None) for kind, fd, url, secret in fronts]
    try:
        asyncio.run(_serve(targets))
    except NodeFault as fault:
        click.echo(f"control sidecar: {fault}", err=True)
        sys.exit(EXIT_FAULT)


async def _serve(fronts: Sequence[SidecarTarget]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    timeout = aiohttp.ClientTimeout(total=_NODE_SECONDS)
    async with aiohttp.ClientSession(trust_env=False, timeout=timeout) as session:
        nodes = [_verbs(front, session) for front in fronts]
        await asyncio.gather(*(node.prepare() for node in nodes))

        async with AsyncExitStack() as exits:
            for front, node in zip(fronts, nodes, strict=True):
                await exits.enter_async_context(serve(front.fd, node))
            click.echo(orjson.dumps({"ready": True}).decode())
            async with asyncio.TaskGroup() as tasks:
                keepers = [tasks.create_task(keep_current(node)) for node in nodes if isinstance(node, MayTrail)]
                await stop.wait()
                for keeper in keepers:
                    keeper.cancel()


@asynccontextmanager
async def serve(fd: int, node: Verbs) -> AsyncIterator[None]:
    """Answer control verbs for one node on a socket that listens, by its number, until the block is left."""
    runner = web.AppRunner(
        new_control_app(node), access_log=None, keepalive_timeout=_KEEP_ALIVE_SECONDS, shutdown_timeout=_END
    )
    await runner.setup()
    try:
        await web.SockSite(runner, socket.socket(fileno=fd), backlog=128).start()
        yield
    finally:
        await runner.cleanup()


def _verbs(front: SidecarTarget, session: aiohttp.ClientSession) -> Verbs:
    lane = _KINDS[front.kind]
    if lane.has_secret and front.secret is None:
        raise click.UsageError(f"--front {front.kind} needs a file with its secret")
    return lane.verbs(session, front)


if __name__ == "__main__":
    main()
