"""A DevMode node whose clock fell behind: zero payments let blocks pass until its newest block is of the present time.

A node in DevMode makes a block only for a transaction. The time of a block is at most 25 s after that of the block
before, as on every Algorand network. So the clock of an idle node falls behind, and a payment may bear a time that is
too old for its challenge. Each payment of nothing brings the clock of such a node 25 s further. On ordinary rounds
blocks come by themselves, and nothing is sent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import aiohttp

from localnet.node_control import ControlFault, control
from localnet.rpc import NodeFault

# A node is current when its newest block is this recent, so that the next block is of the present time.
CURRENT_SECONDS: Final = 20
# By how much the time of a block may exceed that of the block before (consensus parameter MaxTimestampIncrement).
STEP_SECONDS: Final = 25
# A node that was idle for a week; a longer time is faster to end by a new network.
_MOST_BLOCKS: Final = 7 * 86_400 // STEP_SECONDS


async def catch_up(
    newest_time: Callable[[], Awaitable[int]],
    pass_block: Callable[[], Awaitable[object]],
    clock: Callable[[], float] = time.time,
) -> int:
    """Let blocks pass until a node's newest block is recent, and return how many were made.

    Args:
        newest_time: Returns the time of the newest block in unix seconds.
        pass_block: Has one more block made.
        clock: Returns the present time in unix seconds.

    Raises:
        NodeFault: The node could not be asked, or its clock does not get there.
    """
    blocks, behind = 0, clock() - await newest_time()
    while behind > CURRENT_SECONDS:
        count = math.ceil((behind - CURRENT_SECONDS) / STEP_SECONDS)
        if count > _MOST_BLOCKS:
            raise NodeFault(
                f"the clock of algod is {behind / 86_400:.0f} days behind, which would take {count} blocks of nothing "
                "to make up: start a new network"
            )
        for _ in range(count):
            await pass_block()
        blocks += count
        before, behind = behind, clock() - await newest_time()
        if behind >= before:
            raise NodeFault(f"{count} blocks of algod did not bring its clock nearer: it is {behind:.0f} s behind")
    return blocks


class SimulatedDevMode:
    """A simulated Algorand in DevMode, kept current by payments of 0 from its bank."""

    def __init__(self, session: aiohttp.ClientSession, url: str, token: str, control_url: str, receiver: str) -> None:
        """Take a node.

        Args:
            session: Asks it.
            url: Its algod.
            token: The API token of that.
            control_url: Address of its control verbs.
            receiver: Address that receives the payments of 0.
        """
        self._session = session
        self._url = url
        self._headers = {"X-Algo-API-Token": token}
        self._control_url = control_url
        self._receiver = receiver

    async def keep_current(self) -> None:
        """Let blocks pass while the newest one is too old.

        Raises:
            NodeFault: The node could not be asked, or its clock does not get there.
        """
        await catch_up(self._newest_time, self._pass_block)

    async def _newest_time(self) -> int:
        try:
            status = await self._read("/v2/status")
            block = await self._read(f"/v2/blocks/{status['last-round']}?header-only=true")
            return int(block["block"].get("ts", 0))
        except (aiohttp.ClientError, TimeoutError, LookupError, TypeError, ValueError) as fault:
            raise NodeFault(f"the simulated Algorand did not give the time of its newest block: {fault!r}") from fault

    async def _read(self, path: str) -> Any:
        async with self._session.get(self._url + path, headers=self._headers) as answer:
            return await answer.json()

    async def _pass_block(self) -> None:
        try:
            await control(self._session, self._control_url, "fund", address=self._receiver, amount="0")
        except ControlFault as fault:
            raise NodeFault(str(fault)) from fault
