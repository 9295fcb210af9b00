"""What algod's and the indexer's HTTP sides share: the token, faults, errors, JSON and msgpack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgpack
import orjson
from quart import Quart, Response, request
from werkzeug.exceptions import HTTPException

from sim.algorand.chain import Chain
from sim.algorand.rest import short_json
from sim.faults import ANSWERS, Broken

NO_TOKEN = frozenset({"/health", "/ready", "/versions", "/genesis", "/control"})


class Refused(Exception):
    """An answer with the node's error body."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def reply(value: Any, status: int = 200) -> Response:
    """Return JSON, or msgpack where the query asks for it."""
    if request.args.get("format") == "msgpack":
        return Response(msgpack.packb(value, use_bin_type=True), status, {"Content-Type": "application/msgpack"})
    return Response(orjson.dumps(short_json(value)), status, {"Content-Type": "application/json"})


def new_service(*, header: str, token: str) -> Quart:
    """Return an app that knows the token and the node's way to refuse."""
    app = Quart(__name__, static_folder=None)

    async def check_token() -> Response | None:
        if token and request.path not in NO_TOKEN and request.headers.get(header) != token:
            return reply({"message": "Invalid API Token"}, 401)
        return None

    async def refused(fault: Refused) -> Response:
        return reply({"message": fault.message}, fault.status)

    async def not_served(fault: Exception) -> Response:
        return reply({"message": getattr(fault, "name", "")}, getattr(fault, "code", 500))

    app.before_request(check_token)
    app.register_error_handler(Refused, refused)
    app.register_error_handler(HTTPException, not_served)
    return app


class Faulty:
    """Shows armed faults instead of the app's answers; the control address is exempt."""

    def __init__(self, app: Quart, chain: Chain) -> None:
        self._app = app
        self._chain = chain

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one ASGI event."""
        if scope["type"] == "http" and scope["path"] != "/control":
            armed = self._chain.faults.take_answer()
            if armed is not None:
                try:
                    await ANSWERS[armed.name](send, armed.rng)
                except Broken:
                    raise ConnectionAbortedError("a fault cut this answer") from None
                return
        await self._app(scope, receive, send)


def number(query: Mapping[str, str], name: str, default: int) -> int:
    """Return an integer of the query.

    Raises:
        Refused: It is none.
    """
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 20):
        raise Refused(400, f"failed to parse {name}")
    return int(text)
