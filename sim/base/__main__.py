"""`python -m sim.base`: serve a simulated Base on loopback."""

from __future__ import annotations

import sim.deferred_gc  # noqa: F401 - before all that is imported for it

# isort: split

import click
import uvloop

from sim.base.app import build_app
from sim.base.chain import Chain, Miner
from sim.base.rpc import Rpc
from sim.base.token import NETWORK_TOKENS
from sim.clock import BlockClock
from sim.faulty import Faulty
from sim.node_app import RpcFirst
from sim.serving import address, listen, serve_until_stopped


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Loopback address to bind.")
@click.option("--port", default=8545, show_default=True, help="Port of the RPC; 0 picks a free one.")
@click.option("--fd", type=int, help="A socket that listens already.")
@click.option("--block-seconds", default=0.2, show_default=True, help="Time between blocks.")
@click.option("--chain-id", default="8453", show_default=True, type=click.Choice([str(one) for one in NETWORK_TOKENS]))
def main(host: str, port: int, fd: int | None, block_seconds: float, chain_id: str) -> None:
    """Serve a simulated Base until SIGTERM or Ctrl-C."""
    listener = listen(host, port, fd)
    chain = Chain(int(chain_id), BlockClock())
    ready = {"rpc": address(listener), "chain_id": chain.id, "usdc": chain.token.address}
    apps = [(Faulty(RpcFirst(build_app(chain), Rpc(chain).call), chain.faults), listener)]
    uvloop.run(serve_until_stopped(apps, Miner(chain, block_seconds).seal_blocks(), ready))


if __name__ == "__main__":
    main()
