"""`python -m sim.algorand`: serve a simulated Algorand on loopback, algod and indexer."""

from __future__ import annotations

import sim.deferred_gc  # noqa: F401 - before all that is imported for it

# isort: split

from pathlib import Path

import click
import uvloop

from sim.algorand.algod import build_algod
from sim.algorand.chain import Chain, Genesis, Miner
from sim.algorand.indexer import build_indexer
from sim.algorand.mode import Mode
from sim.algorand.views import b64
from sim.clock import BlockClock
from sim.faulty import Faulty
from sim.serving import address, listen, serve_until_stopped

DEFAULT_TOKEN = "a" * 64
GENESIS_ID = Genesis().id


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Loopback address to bind.")
@click.option("--algod-port", default=4001, show_default=True, help="Port of algod; 0 picks a free one.")
@click.option("--indexer-port", default=8980, show_default=True, help="Port of the indexer; 0 picks a free one.")
@click.option("--algod-fd", type=int, help="A socket that listens already, for algod.")
@click.option("--indexer-fd", type=int, help="A socket that listens already, for the indexer.")
@click.option("--block-seconds", default=0.2, show_default=True, help="Time between blocks.")
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in Mode]),
    default=Mode.STEADY.value,
    show_default=True,
    help="steady: blocks at intervals, and their times follow the clock. dev: algod's DevMode. rounds: ordinary "
    "consensus, a payment lands after two rounds.",
)
@click.option("--idle-seconds", type=click.IntRange(0), default=0, help="How old the first block is already.")
@click.option("--asset", "assets", type=int, multiple=True, default=(31566704, 10458941), help="Ids of USDC assets.")
@click.option("--genesis-id", default=GENESIS_ID, show_default=True, help="Genesis id, which its genesis hash follows.")
@click.option("--token-file", type=click.Path(path_type=Path), help="File with the API token; default: 64 times a.")
def main(
    host: str,
    algod_port: int,
    indexer_port: int,
    algod_fd: int | None,
    indexer_fd: int | None,
    block_seconds: float,
    mode: str,
    idle_seconds: int,
    assets: tuple[int, ...],
    genesis_id: str,
    token_file: Path | None,
) -> None:
    """Serve a simulated Algorand until SIGTERM or Ctrl-C."""
    token = DEFAULT_TOKEN if token_file is None else token_file.read_text("ascii").strip()
    algod, indexer = listen(host, algod_port, algod_fd), listen(host, indexer_port, indexer_fd)
    chain = Chain(Genesis(genesis_id, assets), BlockClock(), mode=Mode(mode), idle_seconds=idle_seconds)
    apps = [
        (Faulty(build_algod(chain, token), chain.faults), algod),
        (Faulty(build_indexer(chain, token), chain.faults), indexer),
    ]
    ready = {
        "algod": address(algod),
        "indexer": address(indexer),
        "token": None if token_file else DEFAULT_TOKEN,  # a token that was given in a file is not repeated
        "genesis_id": chain.genesis.id,
        "genesis_hash": b64(chain.genesis.hash),
        "assets": [str(asset) for asset in chain.genesis.assets],
    }
    uvloop.run(serve_until_stopped(apps, Miner(chain, block_seconds).seal_blocks(), ready))


if __name__ == "__main__":
    main()
