"""The WebSocket side: subscriptions, and the calls that clients make over the same connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from sim import json_rpc
from sim.json_rpc import RpcError
from sim.solana.chain import Chain
from sim.solana.rpc import Rpc
from sim.solana.subscriptions import OPENERS, Subscription

Receive = Callable[[], Awaitable[str | bytes]]
Send = Callable[[str], Awaitable[None]]


class Connection:
    """One client's connection."""

    def __init__(self, chain: Chain, receive: Receive, send: Send) -> None:
        self._chain = chain
        self._receive = receive
        self._send = send
        self._rpc = Rpc(chain)
        self._open: dict[int, Subscription] = {}
        self._opening: dict[int, Subscription] = {}
        self._numbers = 0
        self._woken = asyncio.Event()

    async def serve(self) -> None:
        """Serve until the client goes."""
        sender = asyncio.create_task(self._tell())
        try:
            while True:
                message = await self._receive()
                body = message.encode() if isinstance(message, str) else message
                if answer := await json_rpc.answer(body, self._call):
                    await self._send(answer.decode())
                self._open |= self._opening  # only now: no notification may come before its subscription's number
                self._opening = {}
                self._woken.set()
        finally:
            sender.cancel()

    async def _call(self, method: str, params: list[Any]) -> Any:
        if method in OPENERS:
            return self._subscribe(method, params)
        if method.endswith("Unsubscribe"):
            return self._unsubscribe(params)
        return await self._rpc.call(method, params)

    def _subscribe(self, method: str, params: list[Any]) -> int:
        subscription = OPENERS[method](self._chain, params)
        self._numbers += 1
        self._opening[self._numbers] = subscription
        return self._numbers

    def _unsubscribe(self, params: list[Any]) -> bool:
        number = params[0] if params else None
        if not isinstance(number, int) or self._open.pop(number, None) is None:
            raise RpcError(json_rpc.INVALID_PARAMS, "Invalid subscription id.")
        return True

    async def _tell(self) -> None:
        """Send what is due whenever the chain changes or a subscription was opened."""
        while True:
            self._woken.clear()
            change = self._chain.changed  # taken before looking, so that no change is missed
            for number, subscription in list(self._open.items()):
                if not await self._tell_one(number, subscription):
                    self._open.pop(number, None)
            change_task = asyncio.ensure_future(change.wait())
            wake_task = asyncio.ensure_future(self._woken.wait())
            try:
                await asyncio.wait((change_task, wake_task), return_when=asyncio.FIRST_COMPLETED)
            finally:
                change_task.cancel()
                wake_task.cancel()

    async def _tell_one(self, number: int, subscription: Subscription) -> bool:
        """Send what is due of a subscription; return whether it goes on, which one that cannot be shown does not."""
        try:
            for result in subscription.due():
                await self._notify(number, subscription.notification, result)
        except RpcError:
            return False
        return not subscription.is_done

    async def _notify(self, number: int, method: str, result: Any) -> None:
        notification = {"jsonrpc": "2.0", "method": method, "params": {"result": result, "subscription": number}}
        await self._send(orjson.dumps(notification).decode())
