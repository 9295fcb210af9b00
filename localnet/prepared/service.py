"""Prepared services as a stack uses them: the process that forks, and each process that it was asked for."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

from localnet.prepared import fork_client
from localnet.prepared.requests import Request

# Letters that the address of a Unix socket may have on every system.
_PATH_BYTES = 100
_END_SECONDS = 5.0


class PreparedProcess:
    """A process that was forked, with the members of `asyncio.subprocess.Process` that a stack uses."""

    def __init__(self, pid: int, door: socket.socket, stdout: asyncio.StreamReader) -> None:
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None
        self._door = door
        self._watching = asyncio.create_task(self._watch())

    async def wait(self) -> int:
        """Wait for its end and return its exit status, a signal as its negative number."""
        return await asyncio.shield(self._watching)

    async def _watch(self) -> int:
        with self._door:
            try:
                message = await asyncio.get_running_loop().sock_recv(self._door, 64)
            except OSError:
                message = b""
        # Without a message the process that forks has ended, and killed this one.
        self.returncode = int(message or -signal.SIGKILL)
        return self.returncode


class Prepared:
    """Where processes are forked from."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def command(self, module: str) -> list[str]:
        """Return the command of a program that has `python -m MODULE` forked, and stands in for it."""
        return [sys.executable, "-I", "-S", fork_client.__file__, str(self._path), module]

    async def start(
        self,
        words: Sequence[str],
        *,
        environment: Mapping[str, str] | None,
        stderr: IO[Any],
        sockets: Sequence[socket.socket],
    ) -> PreparedProcess | None:
        """Have `python -m WORDS…` forked in a separate session, or return None if it must be started without a fork.

        Args:
            words: Module and arguments.
            environment: Its whole environment; this process's when None.
            stderr: Takes its standard error.
            sockets: Sockets it inherits, under the same numbers.
        """
        variables = os.environ if environment is None else environment
        places = (0, 1, 2, *(one.fileno() for one in sockets))
        request = Request(tuple(words), variables, Path.cwd(), places)
        reading, write_fd = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            child = await self._request_fork(request, [nothing, write_fd, stderr.fileno(), *places[3:]])
        finally:
            os.close(nothing)
            os.close(write_fd)
        output = os.fdopen(reading, "rb")
        if child is None:
            output.close()
            return None
        return PreparedProcess(*child, await _reader(output))

    async def _request_fork(self, request: Request, fds: Sequence[int]) -> tuple[int, socket.socket] | None:
        door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with contextlib.ExitStack() as held:
            held.enter_context(door)
            try:
                door.connect(str(self._path))
                socket.send_fds(door, [request.message()], fds)
                door.setblocking(False)
                reply = await asyncio.get_running_loop().sock_recv(door, 64)
            except OSError:
                return None
            if not reply.isdigit():
                return None
            held.pop_all()
        return int(reply), door


async def _reader(pipe: IO[bytes]) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


@asynccontextmanager
async def start_fork_server(folder: Path) -> AsyncIterator[Prepared | None]:
    """Start the process that forks, and end it, with all that it forked, on leaving.

    Yields None where processes cannot be forked like that: then every service is started without a fork.

    Args:
        folder: Holds its socket and its log.
    """
    path = folder / "prepared"
    if not _possible() or len(os.fsencode(path)) > _PATH_BYTES:
        yield None
        return
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(str(path))
        path.chmod(0o600)
        listening.listen(128)
        process = await _start_process(listening, folder / "logs" / "prepared.log")
    try:
        yield Prepared(path)
    finally:
        path.unlink(missing_ok=True)
        await _end_process(process)


def _possible() -> bool:
    """Return whether the system forks safely and has process descriptors, which report the end of a process."""
    if sys.platform != "linux":
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


async def _start_process(listener: socket.socket, log: Path) -> asyncio.subprocess.Process:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as said:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "localnet.prepared", str(listener.fileno())),
            stdin=asyncio.subprocess.PIPE,  # it ends when this does, and so with its starter, however that ends
            stdout=asyncio.subprocess.DEVNULL,
            stderr=said,
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )


async def _end_process(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None  # noqa: S101 - always piped above
    process.stdin.close()
    try:
        async with asyncio.timeout(_END_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
