"""What every node that speaks JSON-RPC serves over HTTP: the RPC at `/`, control at `/control`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from quart import Quart, Response, request

from sim import json_rpc
from sim.faulty import AsgiApp

_JSON = {"Content-Type": "application/json", "Access-Control-Allow-Origin": "*"}
_LONGEST_BODY = 16 * 1024 * 1024


class RpcFirst:
    """Answers the calls of an app's RPC in front of it, at half the cost of its way through Quart."""

    def __init__(self, app: AsgiApp, call: json_rpc.Call) -> None:
        """Take the app, and what carries out a method of its RPC."""
        self._app = app
        self._call = call

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one ASGI event."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != "/":
            await self._app(scope, receive, send)
            return
        message = await receive()
        body = message.get("body", b"")
        if message["type"] != "http.request" or message.get("more_body", False) or len(body) > _LONGEST_BODY:
            await self._app(scope, _receive_after(message, receive), send)
            return
        answer = await json_rpc.answer(body, self._call)
        headers = [(name.lower().encode(), value.encode()) for name, value in _JSON.items()]
        headers.append((b"content-length", str(len(answer)).encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer, "more_body": False})


def _receive_after(first: Any, receive: Any) -> Any:
    messages = [first]

    async def again() -> Any:
        return messages.pop() if messages else await receive()

    return again


def new_node_app(
    call: json_rpc.Call,
    carry_out: Callable[[object], Awaitable[tuple[int, dict[str, Any]]]],
    describe: Callable[[], dict[str, Any]],
) -> Quart:
    """Return an app over one chain.

    Args:
        call: Carries out a method of the RPC.
        carry_out: Carries out a control call and returns status and body.
        describe: Tells what the control can do.
    """
    app = Quart(__name__, static_folder=None)

    @app.post("/")
    async def rpc() -> Response:
        return Response(await json_rpc.answer(bytes(await request.body), call), 200, _JSON)

    @app.before_request
    async def keep_control_at_home() -> Response | None:
        if request.path != "/control" or request.remote_addr in {"127.0.0.1", "::1"}:
            return None
        body = {"ok": False, "error": "control verbs are for callers on this machine only"}
        return Response(orjson.dumps(body), 403, _JSON)

    @app.post("/control")
    async def steer() -> Response:
        try:
            verb = orjson.loads(bytes(await request.body))
        except orjson.JSONDecodeError:
            verb = None
        status, body = await carry_out(verb)
        return Response(orjson.dumps(body), status, _JSON)

    @app.get("/control")
    async def tell() -> Response:
        return Response(orjson.dumps(describe()), 200, _JSON)

    return app
