"""JSON-RPC client of nodes: results, the node's refusals, and everything else as "chain unavailable"."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

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


# JSON-RPC's own error for a malformed request: the node takes no batches. Any other error may be temporary.
_INVALID_REQUEST = -32600
# A method and its parameters.
Call: TypeAlias = tuple[Any, ...]


class JsonRpc:
    """One node that speaks JSON-RPC."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._numbers = itertools.count(1)
        self._takes_batches = True

    async def call(self, method: str, *params: Any) -> Any:
        """Return a method's result.

        Raises:
            NodeRefused: The node answered with an error object.
            ChainUnavailable: It answered something else, or not at all.
        """
        number = next(self._numbers)
        outcome = _read_outcome(await self._node.post(_build_request(number, method, params)), number)
        if isinstance(outcome, NodeRefused):
            raise outcome
        return outcome

    async def batch(self, *calls: Call) -> list[Any]:
        """Return the outcomes of several calls in one request, in their order: results, or the node's refusals.

        A node that takes no batches gets one request for each call.

        Raises:
            ChainUnavailable: It answered something else to one of them, or not at all.
        """
        if not self._takes_batches:
            return [await self.attempt(*call) for call in calls]
        requests = [(next(self._numbers), method, params) for method, *params in calls]
        answers = await self._node.post([_build_request(*request) for request in requests])
        # One error object for the whole batch. Only INVALID_REQUEST says that batches are not supported; others are
        # asked once more, singly.
        if isinstance(answers, dict) and isinstance(answers.get("error"), dict):
            self._takes_batches = answers["error"].get("code") != _INVALID_REQUEST
            return [await self.attempt(*call) for call in calls]
        if not isinstance(answers, list) or len(answers) != len(requests):
            raise ChainUnavailable("the node's answer belongs to another call")
        # The answers of a batch may come in any order (JSON-RPC 2.0, 6), so they are matched by id.
        by_number = {
            request.get("id"): request
            for request in answers
            if isinstance(request, dict) and isinstance(request.get("id"), int)
        }
        return [_read_outcome(by_number.get(number), number) for number, _, _ in requests]

    async def attempt(self, method: str, *params: Any) -> Any:
        """Return a method's result, or the node's refusal.

        Raises:
            ChainUnavailable: It answered something else, or not at all.
        """
        try:
            return await self.call(method, *params)
        except NodeRefused as refusal:
            return refusal

    async def ask_all(self, *calls: Call) -> list[Any]:
        """Return the results of several calls that the node has no reason to refuse.

        Raises:
            ChainUnavailable: It did, or could not be asked.
        """
        return [require_result(told, call[0]) for told, call in zip(await self.batch(*calls), calls, strict=True)]

    async def ask(self, method: str, *params: Any) -> Any:
        """Return the result of a method that the node has no reason to refuse.

        Raises:
            ChainUnavailable: It did, or could not be asked.
        """
        return require_result(await self.attempt(method, *params), method)


def open_rpc(session: aiohttp.ClientSession, url: str, token: str) -> JsonRpc:
    """Return the JSON-RPC of a node, which may ask for a bearer token."""
    return JsonRpc(Node(session, url, {"Authorization": f"Bearer {token}"} if token else {}))


def require_result(result: Any, method: str) -> Any:
    """Return the result of a call of a batch.

    Raises:
        ChainUnavailable: The node refused it.
    """
    if isinstance(result, NodeRefused):
        raise ChainUnavailable(f"the node refused {method}: {result.message[:200]}") from result
    return result


def _build_request(number: int, method: str, params: Sequence[Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)}


def _read_outcome(answer: Any, number: int) -> Any:
    """Return the result that an answer holds, or the node's refusal.

    Raises:
        ChainUnavailable: It is malformed, or answers another call.
    """
    if not isinstance(answer, dict):
        raise ChainUnavailable("the node's answer is not an object")
    # An answer with another id belongs to another call: a proxy that mixes them up must not decide a payment.
    if answer.get("jsonrpc") != "2.0" or answer.get("id") != number:
        raise ChainUnavailable("the node's answer belongs to another call")
    if "error" in answer:
        return _read_refusal(answer["error"])
    if "result" not in answer:
        # A missing result is not a result of null: that would read as "no such transaction".
        raise ChainUnavailable("the node's answer has no result")
    return answer["result"]


def _read_refusal(error: Any) -> NodeRefused:
    if not isinstance(error, Mapping) or not isinstance(error.get("message"), str):
        raise ChainUnavailable("the node's error has no message")
    code = error.get("code")
    return NodeRefused(code if isinstance(code, int) else 0, error["message"])


def read_member(value: Any, name: str, kind: type) -> Any:
    """Return a member of an answer.

    Raises:
        ChainUnavailable: It is missing or of another kind.
    """
    member_value = value.get(name) if isinstance(value, dict) else None
    # In Python a bool is an int, in JSON it is not.
    if not isinstance(member_value, kind) or isinstance(member_value, bool):
        raise ChainUnavailable(f"member {name} is missing or of another kind")
    return member_value
