"""Running what is independent inside a check side by side, to the end, whatever becomes of one part."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

from conformance.http.client import JsonFault, Unreachable
from conformance.outcome import Inconclusive

T = TypeVar("T")


async def run_concurrently(parts: Iterable[Awaitable[T]], *, at_once: int = 16) -> list[T]:
    """Run all parts, at most `at_once` at a time, wait for every one, and return their results in order.

    A part that breaks off does not stop the others: what a check sends must not depend on which of its parts was
    faster, and nothing may run on when the check is over.

    Raises:
        BaseException: The first part's that broke off; a fault of the suite goes before what the target or a chain
            would not do.
    """
    room = asyncio.Semaphore(at_once)

    async def wait_for_room(part: Awaitable[T]) -> T:
        async with room:
            return await part

    awaitables = list(parts)
    try:
        results = await asyncio.gather(*map(wait_for_room, awaitables), return_exceptions=True)
    finally:
        for part in awaitables:  # one that an interrupt ended before it began would be warned about
            if asyncio.iscoroutine(part):
                part.close()
    faults = [result for result in results if isinstance(result, BaseException)]
    if faults:
        raise min(faults, key=lambda fault: isinstance(fault, Inconclusive | Unreachable | JsonFault))
    return [result for result in results if not isinstance(result, BaseException)]
