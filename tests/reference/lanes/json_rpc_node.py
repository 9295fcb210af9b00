"""A JSON-RPC node that returns a prepared answer for each method, and records the calls."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer


class Refusal:
    """The node's own error instead of a result."""

    def __init__(self, message: Any, code: Any = -32000) -> None:
        self.error = {"code": code, "message": message}


class Whole:
    """A whole answer as it is: JSON, or bytes."""

    def __init__(self, body: Any, status: int = 200) -> None:
        self.body = body
        self.status = status


def reversed_order(report: list[Any]) -> list[Any]:
    """Answers to a batch, which come in whatever order."""
    return report[::-1]


class RpcNode:
    """A scripted node."""

    def __init__(self) -> None:
        self.results: dict[str, Any] = {}
        self.asked: list[tuple[str, list[Any]]] = []
        self.requests = 0
        self.takes_batches = True
        self.refusal_of_batches = -32600
        self.arranged: Callable[[list[Any]], Any] = reversed_order
        self.url = ""

    def of(self, method: str) -> list[list[Any]]:
        """Return the parameters of each call of a method."""
        return [params for asked, params in self.asked if asked == method]

    async def answer(self, request: web.Request) -> web.Response:
        document = json.loads(await request.read())
        self.requests += 1
        if not isinstance(document, list):
            return _encode(self._answer_call(document))
        if not self.takes_batches:
            error = {"code": self.refusal_of_batches, "message": "no batches"}
            return _encode({"jsonrpc": "2.0", "id": None, "error": error})
        report = [self._answer_call(call) for call in document]
        return _encode(next((one for one in report if isinstance(one, Whole)), self.arranged(report)))

    def _answer_call(self, call: dict[str, Any]) -> Any:
        self.asked.append((call["method"], call["params"]))
        report = self.results.get(call["method"], Refusal("the method does not exist", -32601))
        report = report(*call["params"]) if callable(report) else report
        if isinstance(report, Whole):
            return report
        outcome = {"error": report.error} if isinstance(report, Refusal) else {"result": report}
        return {"jsonrpc": "2.0", "id": call["id"], **outcome}


def _encode(report: Any) -> web.Response:
    if not isinstance(report, Whole):
        return web.json_response(report)
    raw = report.body if isinstance(report.body, bytes) else json.dumps(report.body).encode()
    headers = {"Content-Type": "application/json", "Location": "/elsewhere"}
    return web.Response(status=report.status, body=raw, headers=headers)


@asynccontextmanager
async def serve_node(node: RpcNode) -> AsyncIterator[RpcNode]:
    """Serve a node on loopback."""
    app = web.Application()
    app.router.add_post("/{path:.*}", node.answer)
    server = TestServer(app)
    await server.start_server()
    node.url = str(server.make_url("")).rstrip("/")
    yield node
    await server.close()


UNSOUND: dict[str, Any] = {
    "no JSON": Whole(b"<html>"),
    "nothing": Whole(b""),
    "not UTF-8": Whole(b"\xff\xfe"),
    "an array": Whole([]),
    "null": Whole(None),
    "a number": Whole(7),
    "an empty object": Whole({}),
    "too deep": Whole(b"[" * 100_000),
    "an answer to another call": Whole({"jsonrpc": "2.0", "id": 10**9, "result": None}),
    "an answer to no call": Whole({"jsonrpc": "2.0", "id": None, "result": None}),
    "another protocol": Whole({"jsonrpc": "1.0", "id": 1, "result": None}),
    "a proxy's error": Whole({"message": "upstream"}, 502),
    "a redirect": Whole({}, 302),
    "the node's refusal": Refusal("header not found"),
    "a refusal without words": Refusal(None),
    "a refusal with a number for words": Refusal(7),
    "a refusal with a text for a code": Refusal("busy", "x"),
}
SHAPES: dict[str, Any] = {
    "true": True,
    "zero": 0,
    "a fraction": 1.5,
    "a text": "x",
    "an empty text": "",
    "0x alone": "0x",
    "no hex": "0xzz",
    "a long number": "0x" + "f" * 10_000,
    "a list": [],
    "a list of null": [None],
    "a list of lists": [[]],
    "an object": {},
    "an object of another kind": {"value": 7, "hash": [], "topics": {}},
}
