"""JSON-RPC to a real node."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import suppress
from typing import Any

import aiohttp

_ASK_AGAIN_SECONDS = 0.05


class NodeFault(Exception):
    """The node could not be asked, or answered with an error; the text is its own."""


class Rpc:
    """One JSON-RPC address."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.url = url
        self._session = session
        self._ids = itertools.count(1)

    async def ask(self, method: str, *params: Any) -> Any:
        """Return the result of a call.

        Raises:
            NodeFault: The node does not answer so.
        """
        body = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": list(params)}
        try:
            async with self._session.post(self.url, json=body) as response:
                answer = await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError) as fault:
            raise NodeFault(f"{method}: {type(fault).__name__}: {fault}") from fault
        if not isinstance(answer, dict) or "result" not in answer:
            error = answer.get("error") if isinstance(answer, dict) else None
            reason = error.get("message") if isinstance(error, dict) else answer
            raise NodeFault(f"{method}: {str(reason)[:300]}")
        return answer["result"]

    async def answers(self, method: str, *, within: float) -> Any:
        """Ask until the node answers, and return that answer: this shows that a node is ready.

        Raises:
            NodeFault: It did not answer `within` seconds.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while True:
                    with suppress(NodeFault):
                        return await self.ask(method)
                    await asyncio.sleep(_ASK_AGAIN_SECONDS)
        raise NodeFault(f"{self.url} did not answer {method} within {within:g} s")
