"""JSON-RPC to a node: results, the node's own refusals, and everything else as "chain unavailable"."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from reference.lanes.lane import ChainUnavailable
from reference.lanes.node import Node


@dataclass(eq=False)  # not frozen: Python sets __traceback__ on an exception that passes through `async with`
class NodeRefused(Exception):
    """The node understood a call and refused it.

    Attributes:
        code: JSON-RPC or the node's own code.
        message: Its text.
    """

    code: int
    message: str


class JsonRpc:
    """One node that speaks JSON-RPC."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._numbers = itertools.count(1)

    async def call(self, method: str, *params: Any) -> Any:
        """Return a method's result.

        Raises:
            NodeRefused: The node answered with an error object.
            ChainUnavailable: It answered something else, or not at all.
        """
        number = next(self._numbers)
        answer = await self._node.post({"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)})
        if answer.get("jsonrpc") != "2.0" or answer.get("id") != number:
            raise ChainUnavailable("the node's answer belongs to another call")
        if "error" in answer:
            raise _refused(answer["error"])
        if "result" not in answer:
            raise ChainUnavailable("the node's answer has no result")
        return answer["result"]

    async def ask(self, method: str, *params: Any) -> Any:
        """Return the result of a method that the node has no reason to refuse.

        Raises:
            ChainUnavailable: It did, or could not be asked.
        """
        try:
            return await self.call(method, *params)
        except NodeRefused as refusal:
            raise ChainUnavailable(f"the node refused {method}: {refusal.message[:200]}") from refusal


def rpc(session: aiohttp.ClientSession, url: str, token: str) -> JsonRpc:
    """Return the JSON-RPC of a node, which may ask for a bearer token."""
    return JsonRpc(Node(session, url, {"Authorization": f"Bearer {token}"} if token else {}))


def _refused(error: Any) -> Exception:
    if not isinstance(error, Mapping) or not isinstance(error.get("message"), str):
        return ChainUnavailable("the node's error has no message")
    code = error.get("code")
    return NodeRefused(code if isinstance(code, int) else 0, error["message"])


def member(value: Any, name: str, kind: type) -> Any:
    """Return a member of an answer.

    Raises:
        ChainUnavailable: It is missing or of another kind.
    """
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, kind) or isinstance(found, bool):
        raise ChainUnavailable(f"member {name} is missing or of another kind")
    return found
