"""The node's front: JSON-RPC over HTTP and WebSocket at `/`, control at `/control`."""

from __future__ import annotations

import orjson
from quart import Quart, Response, request, websocket

from sim import json_rpc
from sim.solana import control
from sim.solana.chain import Chain
from sim.solana.rpc import Rpc
from sim.solana.sockets import Connection

_JSON = {"Content-Type": "application/json", "Access-Control-Allow-Origin": "*"}


def build_app(chain: Chain) -> Quart:
    """Return the app over one chain."""
    app = Quart(__name__, static_folder=None)
    rpc = Rpc(chain)

    @app.post("/")
    async def call() -> Response:
        return Response(await json_rpc.answer(await _body(), rpc.call), 200, _JSON)

    @app.get("/health")
    async def health() -> Response:
        return Response("ok", 200)

    @app.websocket("/")
    async def subscribe() -> None:
        await Connection(chain, websocket.receive, websocket.send).run()

    @app.post("/control")
    async def steer() -> Response:
        try:
            wanted = orjson.loads(await _body())
        except orjson.JSONDecodeError:
            wanted = None
        status, body = await control.carry_out(chain, wanted)
        return Response(orjson.dumps(body), status, _JSON)

    @app.get("/control")
    async def describe() -> Response:
        return Response(orjson.dumps(control.describe(chain)), 200, _JSON)

    return app


async def _body() -> bytes:
    return bytes(await request.body)
