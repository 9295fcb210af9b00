"""Ctrl-C and SIGTERM end the work in hand, not the clean-up after it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` so that SIGINT and SIGTERM cancel it once; what it does in `finally` still runs.

    Raises:
        asyncio.CancelledError: A signal came and `work` did not turn it into a result.
    """
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        return await task
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
