"""Ctrl-C and SIGTERM: the first ends the work within a bounded time, the second ends the process at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, NoReturn, TypeVar

from conformance.outcome import Exit
from conformance.processes.process_cleanup import ProcessWatch

T = TypeVar("T")
# Seconds between the signal and the kill of every started process: until then clean-up code may end them in order.
KILL_SECONDS: Final = 1.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = "\x1b[?25h"


class Interruption:
    """Whether a signal came while the command was at work, so that the rest must be short."""

    has_come = False
    watch: ProcessWatch | None = None


async def make_interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` so that the first SIGINT or SIGTERM cancels it and its `finally` blocks still run.

    A second signal ends this process at once with 130. In either case no started process and no folder is left.

    Raises:
        asyncio.CancelledError: A signal came and `work` did not turn it into a result.
    """
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    watch = ProcessWatch()
    Interruption.has_come = False

    def handle_signal() -> None:
        if Interruption.has_come:
            _end_at_once(watch)
        Interruption.has_come = True
        task.cancel()
        # A clean-up that waits for a hanging program would otherwise never end.
        loop.call_later(KILL_SECONDS, watch.kill)

    for number in _SIGNALS:
        loop.add_signal_handler(number, handle_signal)
    try:
        return await task
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
            if Interruption.has_come:
                signal.signal(number, lambda *_: _end_at_once(watch))
        if Interruption.has_come:
            # Threads may not have noticed the signal yet: processes that they still start end with this process.
            watch.kill()
            Interruption.watch = watch
        else:
            watch.close()


def run_interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` interruptibly in a new event loop; after a signal its threads are not awaited.

    Raises:
        asyncio.CancelledError: A signal came and `work` did not turn it into a result.
    """
    runner = asyncio.Runner(loop_factory=make_loop)
    try:
        return runner.run(make_interruptible(work))
    finally:
        if not Interruption.has_come:
            runner.close()


def make_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop, uvloop's if installed, since it needs less time."""
    if find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = import_module("uvloop").new_event_loop()
    return loop


def end_interrupted(code: int = Exit.INTERRUPTED) -> None:
    """End this process if a signal came, without waiting for threads that are still at work."""
    if Interruption.has_come:
        if Interruption.watch is not None:
            Interruption.watch.close()
        sys.stdout.flush()
        sys.stderr.flush()
        # Python would join its threads at a normal exit, and a thread may wait for an answer of a node.
        os._exit(code)


def _end_at_once(watch: ProcessWatch) -> NoReturn:
    watch.close()
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR.encode())
    os._exit(Exit.INTERRUPTED)
