"""Errors and JSON of algod and the indexer, and the HTTP side of the indexer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from quart import Quart, Response, request
from werkzeug.exceptions import HTTPException

from sim.algorand.views import short_json


class Refused(Exception):
    """An answer with the node's error body."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def reply(value: Any, status: int = 200) -> Response:
    """Return JSON."""
    return Response(orjson.dumps(short_json(value)), status, {"Content-Type": "application/json"})


def new_indexer_service(token: str) -> Quart:
    """Return an app that asks for the indexer's token and refuses as the indexer does."""
    app = Quart(__name__, static_folder=None)

    async def check_token() -> Response | None:
        if token and request.path != "/health" and request.headers.get("X-Indexer-API-Token") != token:
            return reply({"message": "Invalid API Token"}, 401)
        return None

    async def answer_refusal(fault: Refused) -> Response:
        return reply({"message": fault.message}, fault.status)

    async def not_served(fault: Exception) -> Response:
        return reply({"message": getattr(fault, "name", "")}, getattr(fault, "code", 500))

    app.before_request(check_token)
    app.register_error_handler(Refused, answer_refusal)
    app.register_error_handler(HTTPException, not_served)
    return app


def number(query: Mapping[str, str], name: str, default: int) -> int:
    """Return an integer of the query.

    Raises:
        Refused: It is not an integer.
    """
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 20):
        raise Refused(400, f"failed to parse {name}")
    return int(text)
