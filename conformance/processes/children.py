"""Child processes without pipes, and the end of a child process."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO

_POLL_SECONDS = 0.01


class Child:
    """A child process in a separate session, without input, whose output goes to files.

    Args:
        command: The program and its arguments.
        environment: All of its environment.
        output: The file for its output.
        errors: The file for its standard error; None for the same file.

    Raises:
        OSError: It cannot be started.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], output: IO[bytes], errors: IO[bytes] | None = None
    ) -> None:
        # Not the event loop's own way, which forks: that copies the page tables of a process with hundreds of
        # megabytes, and stops the loop meanwhile. `subprocess` uses vfork, which shares them until the child's
        # program begins.
        self._process = subprocess.Popen(  # noqa: S603 - an operator's program
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output if errors is None else errors,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Its process id, which is also the id of its process group."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit code, the negative signal that ended it, or None while it runs."""
        return self._process.poll()

    def send_signal(self, signal: int) -> None:
        """Send it a signal; nothing if it has ended."""
        self._process.send_signal(signal)

    def kill(self) -> None:
        """Send it SIGKILL; nothing if it has ended."""
        self._process.kill()

    async def wait(self) -> int:
        """Wait until it has ended, and return its exit code."""
        while (code := self._process.poll()) is None:  # noqa: ASYNC110 - no event is set when it ends
            await asyncio.sleep(_POLL_SECONDS)
        return code


async def end_child(process: Child | asyncio.subprocess.Process, seconds: float) -> None:
    """Ask a child process to end, and kill it if it has not ended after some seconds."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
