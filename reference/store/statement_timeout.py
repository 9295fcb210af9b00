"""Time limits of statements: a payer gets an answer even if the database is locked or does not respond.

A statement that was given up may still have been carried out, as after a crash. The caller finds out by reading.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from reference.store.database import DatabaseUnavailable

# Below the ten seconds in which every call has an answer. A call runs its statements one after another and ends with
# the first that fails, so this limit bounds them all.
STATEMENT_SECONDS: Final = 8.0
# At a start no client waits for an answer, and workers that start together create the tables one after another.
PREPARING_SECONDS: Final = 60.0

_Result = TypeVar("_Result")


async def limit_time(work: Coroutine[Any, Any, _Result], seconds: float) -> _Result:
    """Return what `work` returns, or give it up after a time.

    Raises:
        DatabaseUnavailable: It took too long.
    """
    task = asyncio.ensure_future(work)
    try:
        # `asyncio.timeout` would wait until the cancelled work ends, and a driver may wait for its server before it
        # does. This returns after the given time in any case.
        done_tasks, _ = await asyncio.wait({task}, timeout=seconds)
    finally:
        abandon(task)
    if not done_tasks:
        raise build_timeout(seconds)
    return task.result()


def abandon(task: asyncio.Task[Any]) -> None:
    """Cancel a task that is not done, without waiting until it ends."""
    if not task.done():
        task.add_done_callback(_retrieve_fault)
        task.cancel()


def build_timeout(seconds: float) -> DatabaseUnavailable:
    """Return the fault of a database that took too long."""
    return DatabaseUnavailable(f"no answer within {seconds:g} s")


def _retrieve_fault(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()  # no caller waits for it any more
