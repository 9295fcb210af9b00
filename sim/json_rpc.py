"""JSON-RPC 2.0 over HTTP bodies, as Ethereum and Solana nodes speak it: single calls, batches, their error codes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import orjson

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602

Call: TypeAlias = Callable[[str, list[Any]], Awaitable[Any]]


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
        told: dict[str, Any] = {"code": self.code, "message": self.message}
        return told if self.data is None else {**told, "data": self.data}


async def answer(body: bytes, call: Call) -> bytes:
    """Return the response body for a request body.

    Args:
        body: One call or a batch.
        call: Carries a method out on its positional parameters; raises `RpcError`.
    """
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError:
        return orjson.dumps(_refused(None, RpcError(PARSE_ERROR, "Parse error")))
    if isinstance(request, list) and request:
        return orjson.dumps([await _one(part, call) for part in request])
    return orjson.dumps(await _one(request, call))


async def _one(request: Any, call: Call) -> dict[str, Any]:
    if not isinstance(request, dict) or not isinstance(request.get("method"), str):
        return _refused(None, RpcError(INVALID_REQUEST, "Invalid request"))
    number, params = request.get("id"), request.get("params") or []
    try:
        if not isinstance(params, list):
            raise RpcError(INVALID_PARAMS, "Invalid params: give an array")
        return {"jsonrpc": "2.0", "id": number, "result": await call(request["method"], params)}
    except RpcError as fault:
        return _refused(number, fault)


def _refused(number: Any, fault: RpcError) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": fault.as_json()}
