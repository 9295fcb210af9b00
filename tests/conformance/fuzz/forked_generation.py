"""The generating process as a fork of a parent with its imports done, for tests of what is drawn and judged."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from tests import prepared


class Forked:
    """What `generator_process` uses of an `asyncio.subprocess.Process`."""

    def __init__(
        self,
        process: prepared.Prepared,
        stdin: asyncio.StreamWriter,
        stdout: asyncio.StreamReader,
        stderr: asyncio.StreamReader,
    ) -> None:
        """Take the process and its streams."""
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self._process = process

    @property
    def returncode(self) -> int | None:
        """How it ended, None while it runs."""
        return self._process.poll()

    def kill(self) -> None:
        """End it."""
        self._process.kill()

    async def wait(self) -> int:
        """Wait for its end."""
        self.stdin.close()
        return await asyncio.to_thread(self._process.wait)


async def create_subprocess_exec(
    _: str, __: str, module: str, *, env: Mapping[str, str], limit: int, **___: Any
) -> Any:
    """Stand in for asyncio's: start what `python -m MODULE` runs, with pipes for its three streams."""
    loop = asyncio.get_running_loop()
    (stdin_read, stdin_write), (stdout_read, stdout_write), (stderr_read, complaint) = os.pipe(), os.pipe(), os.pipe()
    with (
        os.fdopen(stdin_read, "rb") as stdin,
        os.fdopen(stdout_write, "wb") as stdout,
        os.fdopen(complaint, "wb") as stderr,
    ):
        process = await asyncio.to_thread(prepared.start, module, env=env, stdin=stdin, stdout=stdout, stderr=stderr)
    assert isinstance(process, prepared.Prepared)
    readers = []
    for read in (stdout_read, stderr_read):
        readers.append(reader := asyncio.StreamReader(limit=limit))
        await loop.connect_read_pipe(lambda one=reader: asyncio.StreamReaderProtocol(one), os.fdopen(read, "rb"))  # type: ignore[misc]
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(stdin_write, "wb"))
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    return Forked(process, writer, *readers)
