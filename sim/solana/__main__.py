"""`python -m sim.solana`: serve a simulated Solana on loopback, RPC and WebSocket."""

from __future__ import annotations

import sim.deferred_gc  # noqa: F401 - before all that is imported for it

# isort: split

import click
import uvloop

from sim.clock import BlockClock
from sim.faulty import Faulty
from sim.node_app import RpcFirst
from sim.serving import address, listen, serve_until_stopped
from sim.solana.app import build_app
from sim.solana.chain import Chain, Miner
from sim.solana.rpc import Rpc
from sim.solana.token_accounts import USDC_MINTS


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Loopback address to bind.")
@click.option("--port", default=8899, show_default=True, help="Port of the RPC; 0 picks a free one.")
@click.option("--ws-port", default=8900, show_default=True, help="Port of the WebSocket; 0 picks a free one.")
@click.option("--fd", type=int, help="A socket that listens already, for the RPC.")
@click.option("--ws-fd", type=int, help="A socket that listens already, for the WebSocket.")
@click.option("--slot-seconds", default=0.02, show_default=True, help="Time between slots.")
@click.option("--blockhash-seconds", default=60.0, show_default=True, help="How long a blockhash is good.")
@click.option("--mint", "mints", multiple=True, default=USDC_MINTS, help="Addresses of USDC mints, the first is main.")
def main(
    host: str,
    port: int,
    ws_port: int,
    fd: int | None,
    ws_fd: int | None,
    slot_seconds: float,
    blockhash_seconds: float,
    mints: tuple[str, ...],
) -> None:
    """Serve a simulated Solana until SIGTERM or Ctrl-C."""
    rpc, ws = listen(host, port, fd), listen(host, ws_port, ws_fd)
    chain = Chain(BlockClock(), mints, window=max(1, round(blockhash_seconds / slot_seconds)))
    app = Faulty(RpcFirst(build_app(chain), Rpc(chain).call), chain.faults)
    ready = {
        "rpc": address(rpc),
        "ws": address(ws, "ws"),
        "mints": [str(mint) for mint in chain.mints],
        "genesis_hash": str(chain.genesis_hash),
    }
    slot_maker = Miner(chain, slot_seconds).close_slots()
    uvloop.run(serve_until_stopped([(app, rpc), (app, ws)], slot_maker, ready))


if __name__ == "__main__":
    main()
