"""Concurrent parts inside one check: every part runs to its end, even if another one fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TypeVar

from conformance.http.client import JsonFault, Unreachable
from conformance.outcome import Inconclusive

T = TypeVar("T")
S = TypeVar("S")


@asynccontextmanager
async def enter_together(
    first: AbstractAsyncContextManager[T], second: AbstractAsyncContextManager[S]
) -> AsyncIterator[tuple[T, S]]:
    """Enter two contexts at the same time, and leave both with this one, also if one of them cannot be entered."""
    async with AsyncExitStack() as contexts:
        enter = contexts.enter_async_context
        entered, also_entered = await asyncio.gather(enter(first), enter(second), return_exceptions=True)
        if isinstance(entered, BaseException):
            raise entered
        if isinstance(also_entered, BaseException):
            raise also_entered
        yield entered, also_entered


async def run_concurrently(parts: Iterable[Awaitable[T]], *, at_once: int = 16) -> list[T]:
    """Run all parts, at most `at_once` at a time, wait for every one, and return their results in order.

    Raises:
        BaseException: What the first failing part raised. A fault of the suite has priority over a refusal by the
            target or a chain.
    """
    room = asyncio.Semaphore(at_once)

    async def wait_for_room(part: Awaitable[T]) -> T:
        async with room:
            return await part

    awaitables = list(parts)
    try:
        # No task group: it would cancel the other parts. What a check sends must not depend on which part was faster,
        # and no part may continue after the check's end.
        results = await asyncio.gather(*map(wait_for_room, awaitables), return_exceptions=True)
    finally:
        # An interrupt may end the group before a part began. Python warns about a coroutine that is never awaited.
        for part in awaitables:
            if asyncio.iscoroutine(part):
                part.close()
    faults = [result for result in results if isinstance(result, BaseException)]
    if faults:
        # A fault of the suite explains more than an unreachable target, which may only be its consequence.
        raise min(faults, key=lambda fault: isinstance(fault, Inconclusive | Unreachable | JsonFault))
    return [result for result in results if not isinstance(result, BaseException)]
