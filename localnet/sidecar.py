"""`python -m localnet.sidecar`: control addresses in front of real nodes, in the form of profile 9.1.

Each front is one node: its kind, the descriptor of a socket that listens already, and the node's address. The sidecar
prepares the nodes (token, minter, bank), prints one ready line, and serves until SIGTERM or Ctrl-C.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp
import click
import orjson
from hypercorn.asyncio import serve
from hypercorn.config import Config
from quart import Quart, Response, request

from localnet import verbs
from localnet.algod import AlgodVerbs
from localnet.anvil import AnvilVerbs
from localnet.front import KINDS, Front
from localnet.rpc import NodeFault, Rpc
from localnet.solana_bank import SolanaVerbs, read_bank
from localnet.verbs import Verbs

EXIT_FAULT = 4
_NODE_SECONDS = 30.0
_HOME = {"127.0.0.1", "::1"}


def new_control_app(node: Verbs) -> Quart:
    """Return an app that answers `/control` for one node, to callers on this machine only."""
    app = Quart(__name__, static_folder=None)

    @app.before_request
    async def keep_at_home() -> Response | None:
        if request.remote_addr in _HOME:
            return None
        return _json(403, {"ok": False, "error": "control verbs are for callers on this machine only"})

    @app.get("/control")
    async def tell() -> Response:
        return _json(200, verbs.describe(node))

    @app.post("/control")
    async def steer() -> Response:
        try:
            wanted = orjson.loads(bytes(await request.body))
        except orjson.JSONDecodeError:
            wanted = None
        return _json(*await verbs.carry_out(node, wanted))

    return app


def _json(status: int, body: Any) -> Response:
    return Response(orjson.dumps(body), status, {"Content-Type": "application/json"})


@click.command()
@click.option(
    "--front",
    "fronts",
    type=(click.Choice(KINDS), int, str, str),
    multiple=True,
    required=True,
    help="KIND FD URL SECRET-FILE, once a node; an empty last word for none.",
)
def main(fronts: tuple[tuple[str, int, str, str], ...]) -> None:
    """Answer control verbs for real nodes until SIGTERM or Ctrl-C."""
    told = [Front(kind, fd, url, Path(secret) if secret else None) for kind, fd, url, secret in fronts]
    try:
        asyncio.run(_serve(told))
    except NodeFault as fault:
        click.echo(f"control sidecar: {fault}", err=True)
        sys.exit(EXIT_FAULT)


async def _serve(fronts: Sequence[Front]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    timeout = aiohttp.ClientTimeout(total=_NODE_SECONDS)
    async with aiohttp.ClientSession(trust_env=False, timeout=timeout) as session:
        nodes = [_verbs(front, session) for front in fronts]
        await asyncio.gather(*(node.prepare() for node in nodes))

        async def wait() -> None:
            await stop.wait()

        serving = [
            asyncio.create_task(serve(new_control_app(node), _config(front.fd), shutdown_trigger=wait))
            for front, node in zip(fronts, nodes, strict=True)
        ]
        click.echo(orjson.dumps({"ready": True}).decode())
        try:
            await asyncio.gather(*serving)
        finally:
            stop.set()


def _verbs(front: Front, session: aiohttp.ClientSession) -> Verbs:
    if front.kind == "anvil":
        return AnvilVerbs(Rpc(session, front.url))
    if front.kind == "solana" and front.secret is not None:
        return SolanaVerbs(Rpc(session, front.url), read_bank(front.secret))
    if front.kind == "algod" and front.secret is not None:
        return AlgodVerbs(session, front.url, front.secret)
    raise click.UsageError(f"--front {front.kind} needs a file with its secret")


def _config(fd: int) -> Config:
    config = Config()
    config.bind = [f"fd://{fd}"]
    config.keep_alive_max_requests = 1_000_000
    config.keep_alive_timeout = 60  # longer than clients keep theirs: none of them calls into one that closes
    config.graceful_timeout = 0.2
    config.accesslog = None
    config.errorlog = logging.getLogger("localnet.sidecar")
    return config


if __name__ == "__main__":
    main()
