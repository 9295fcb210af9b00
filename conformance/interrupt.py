"""Ctrl-C and SIGTERM end the work in hand, not the clean-up after it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` so that the first SIGINT or SIGTERM cancels it; what it does in `finally` still runs.

    Later ones do nothing: they would break off the clean-up, and leave behind what it ends.

    Raises:
        asyncio.CancelledError: A signal came and `work` did not turn it into a result.
    """
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    signals: list[int] = []

    def taken(number: int) -> None:
        signals.append(number)
        if len(signals) == 1:
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, taken, number)
    try:
        return await task
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
