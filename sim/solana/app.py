"""The node's front: JSON-RPC over HTTP and WebSocket at `/`, control at `/control`."""

from __future__ import annotations

from functools import partial

from quart import Quart, Response, websocket

from sim.node_app import new_node_app
from sim.solana import control
from sim.solana.chain import Chain
from sim.solana.rpc import Rpc
from sim.solana.sockets import Connection


def build_app(chain: Chain) -> Quart:
    """Return the app over one chain."""
    app = new_node_app(Rpc(chain).call, partial(control.carry_out, chain), partial(control.describe, chain))

    @app.get("/health")
    async def health() -> Response:
        return Response("ok", 200)

    @app.websocket("/")
    async def subscribe() -> None:
        await Connection(chain, websocket.receive, websocket.send).serve()

    return app
