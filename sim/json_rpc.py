"""JSON-RPC 2.0 over HTTP bodies, as Ethereum and Solana nodes speak it: single calls, batches, their error codes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import orjson

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602

Call: TypeAlias = Callable[[str, list[Any]], Awaitable[Any]]
Positional: TypeAlias = Callable[[list[Any]], Any]


class RpcError(Exception):
    """A call that the node answers with an error object.

    Attributes:
        code: JSON-RPC or the node's own code.
        message: Its text.
        data: Member `data`, left out when None.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def as_json(self) -> dict[str, Any]:
        """Return the error object."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        return error if self.data is None else {**error, "data": self.data}


async def answer(body: bytes, call: Call) -> bytes:
    """Return the response body for a request body; it is empty when the request wants no answer.

    Args:
        body: One call or a batch.
        call: Carries a method out on its positional parameters; raises `RpcError`.
    """
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError:
        return orjson.dumps(_error_reply(None, RpcError(PARSE_ERROR, "Parse error")))
    if not isinstance(request, list) or not request:
        reply = await _answer_call(request, call)
        return b"" if reply is None else orjson.dumps(reply)
    answers = [reply for reply in [await _answer_call(part, call) for part in request] if reply is not None]
    return orjson.dumps(answers) if answers else b""


async def _answer_call(request: Any, call: Call) -> dict[str, Any] | None:
    """Return the answer of one call; None to a notification, which is a call without the member `id`."""
    if not isinstance(request, dict):
        return _error_reply(None, RpcError(INVALID_REQUEST, "Invalid request"))
    number, params = request.get("id"), request.get("params")
    if isinstance(number, bool | dict | list):
        return _error_reply(None, RpcError(INVALID_REQUEST, "Invalid request: an id is a text or a number"))
    if not isinstance(request.get("method"), str):
        return _error_reply(number, RpcError(INVALID_REQUEST, "Invalid request"))
    try:
        if not isinstance(params, list | None):
            raise RpcError(INVALID_PARAMS, "Invalid params: give an array")
        reply = {"jsonrpc": "2.0", "id": number, "result": await call(request["method"], params or [])}
    except RpcError as fault:
        reply = _error_reply(number, fault)
    return reply if "id" in request else None


def _error_reply(number: Any, fault: RpcError) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": fault.as_json()}
