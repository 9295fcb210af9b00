"""Ctrl-C and SIGTERM: the first ends the work in hand within a bounded time, the second ends everything at once."""

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
# What was started is asked to end as its users leave it, and killed this long after the signal.
KILL_SECONDS: Final = 1.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = "\x1b[?25h"


class Interruption:
    """Whether a signal came while the command was at work; what is left of it then must not take long."""

    has_come = False
    watch: ProcessWatch | None = None


async def make_interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` so that the first SIGINT or SIGTERM cancels it; what it does in `finally` still runs.

    Whatever it started, and whatever that started in turn, is killed a second later, so that no clean-up waits for
    long. A second signal kills it and ends this process with 130 at once. However the process ends, nothing that it
    started is left, and no temporary folder.

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
            # Not everything that was at work has noticed by now: what it still starts ends with this process.
            watch.kill()
            Interruption.watch = watch
        else:
            watch.close()


def run_interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in an event loop of its own, interruptible; after a signal nobody waits for its threads.

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
    """Return a new event loop: uvloop's where it is installed, which spends less time for the same."""
    if find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = import_module("uvloop").new_event_loop()
    return loop


def end_interrupted(code: int = Exit.INTERRUPTED) -> None:
    """End this process where a signal came, without waiting for threads that are still at work."""
    if Interruption.has_come:
        if Interruption.watch is not None:
            Interruption.watch.close()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _end_at_once(watch: ProcessWatch) -> NoReturn:
    watch.close()
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR.encode())
    os._exit(Exit.INTERRUPTED)
