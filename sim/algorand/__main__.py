"""`python -m sim.algorand`: serve a simulated Algorand on loopback, algod and indexer."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import click
import orjson
import uvloop
from hypercorn.asyncio import serve
from hypercorn.config import Config

from sim.algorand.algod import build_algod
from sim.algorand.chain import Chain, Genesis, Miner
from sim.algorand.indexer import build_indexer
from sim.algorand.rest import b64
from sim.clock import BlockClock
from sim.faulty import Faulty

DEFAULT_TOKEN = "a" * 64


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Loopback address to bind.")
@click.option("--algod-port", default=4001, show_default=True, help="Port of algod; 0 picks a free one.")
@click.option("--indexer-port", default=8980, show_default=True, help="Port of the indexer; 0 picks a free one.")
@click.option("--algod-fd", type=int, help="A socket that listens already, for algod.")
@click.option("--indexer-fd", type=int, help="A socket that listens already, for the indexer.")
@click.option("--block-seconds", default=0.2, show_default=True, help="Time between blocks.")
@click.option("--asset", "assets", type=int, multiple=True, default=(31566704, 10458941), help="Ids of USDC assets.")
@click.option("--token-file", type=click.Path(path_type=Path), help="File with the API token; default: 64 times a.")
def main(
    host: str,
    algod_port: int,
    indexer_port: int,
    algod_fd: int | None,
    indexer_fd: int | None,
    block_seconds: float,
    assets: tuple[int, ...],
    token_file: Path | None,
) -> None:
    """Serve a simulated Algorand until SIGTERM or Ctrl-C."""
    token = DEFAULT_TOKEN if token_file is None else token_file.read_text("ascii").strip()
    algod = _socket(host, algod_port, algod_fd)
    indexer = _socket(host, indexer_port, indexer_fd)
    uvloop.run(_serve(Genesis(assets=assets), algod, indexer, block_seconds=block_seconds, token=token))


def _socket(host: str, port: int, fd: int | None) -> socket.socket:
    bound = socket.create_server((host, port), backlog=512) if fd is None else socket.socket(fileno=fd)
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


async def _serve(
    genesis: Genesis, algod: socket.socket, indexer: socket.socket, *, block_seconds: float, token: str
) -> None:
    chain = Chain(genesis, BlockClock())
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    mining = asyncio.create_task(Miner(chain, block_seconds).run())
    serving = [
        asyncio.create_task(serve(Faulty(app, chain.faults), _config(bound), shutdown_trigger=_waiter(stop)))
        for app, bound in ((build_algod(chain, token), algod), (build_indexer(chain, token), indexer))
    ]
    _announce(chain, algod, indexer, token_given=token != DEFAULT_TOKEN)
    try:
        done, _ = await asyncio.wait([*serving, mining], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        stop.set()
        mining.cancel()
        await asyncio.gather(*serving, mining, return_exceptions=True)


def _waiter(stop: asyncio.Event) -> Callable[[], Awaitable[None]]:
    async def wait() -> None:
        await stop.wait()

    return wait


def _config(bound: socket.socket) -> Config:
    config = Config()
    config.bind = [f"fd://{os.dup(bound.fileno())}"]
    config.keep_alive_max_requests = 1_000_000
    config.graceful_timeout = 0.2
    config.accesslog = None
    config.errorlog = logging.getLogger("sim.algorand")
    return config


def _announce(chain: Chain, algod: socket.socket, indexer: socket.socket, *, token_given: bool) -> None:
    """Print the ready line; a token that was given in a file is not repeated."""
    line = {
        "ready": True,
        "algod": "http://{}:{}".format(*algod.getsockname()),
        "indexer": "http://{}:{}".format(*indexer.getsockname()),
        "token": None if token_given else DEFAULT_TOKEN,
        "genesis_id": chain.genesis.id,
        "genesis_hash": b64(chain.genesis.hash),
        "assets": [str(asset) for asset in chain.genesis.assets],
    }
    click.echo(orjson.dumps(line).decode())


if __name__ == "__main__":
    main()
