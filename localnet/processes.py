"""Child processes of a stack: own process group each, readiness, a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from localnet.prepared.service import Prepared, PreparedProcess

READY_SECONDS = 200.0
# A service that answers what it does not finish, and gives back what it holds, takes up to five seconds (P-CV-22).
END_SECONDS = 6.0
# The groups of the children that were started and not yet ended.
_groups: set[int] = set()


class ChildFault(Exception):
    """A child process did not become ready or ended by itself; the text says which and shows its last words."""


def listening_socket(host: str, port: int) -> socket.socket:
    """Bind and listen; port 0 picks a free one. The socket is passed to a child by its file descriptor.

    Raises:
        ChildFault: The port is taken.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as fault:
        listener.close()
        raise ChildFault(f"port {port} on {host} is taken ({fault.strerror}); choose another --port-base") from fault
    listener.listen(512)
    listener.set_inheritable(True)
    return listener


class Child:
    """One child process, started by module name; its standard error goes to a log file."""

    def __init__(self, name: str, process: asyncio.subprocess.Process | PreparedProcess, log: Path) -> None:
        self.name = name
        self.log = log
        self._process = process

    @classmethod
    async def start(
        cls,
        name: str,
        module: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str] | None = None,
        sockets: Sequence[socket.socket] = (),
        fork_server: Prepared | None = None,
    ) -> Child:
        """Start `python -m MODULE…` in a process group of its own.

        Args:
            name: What people call it.
            module: Module name and its arguments.
            log: File that takes its standard error.
            environment: Its whole environment; the parent's when None.
            sockets: Listening sockets it inherits.
            fork_server: Where it is forked from, if it can be.
        """
        if fork_server is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("ab") as said:
                process = await fork_server.start(module, environment=environment, stderr=said, sockets=sockets)
            if process is not None:
                _groups.add(process.pid)
                return cls(name, process, log)
        words = [sys.executable, "-m", *module]
        return await cls.start_program(name, words, log=log, environment=environment, sockets=sockets)

    @classmethod
    async def start_program(
        cls,
        name: str,
        words: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str] | None = None,
        sockets: Sequence[socket.socket] = (),
        follows: bool = False,
    ) -> Child:
        """Start a program in a process group of its own.

        Args:
            name: What people call it.
            words: The program and its arguments.
            log: File that takes its standard error.
            environment: Its whole environment; the parent's when None.
            sockets: Listening sockets it inherits.
            follows: Whether it ends when its standard input does, and so with its starter, however that ends.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as said:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.PIPE if follows else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=said,
                env=None if environment is None else dict(environment),
                pass_fds=[one.fileno() for one in sockets],
                start_new_session=True,
            )
        _groups.add(process.pid)
        return cls(name, process, log)

    async def ready_line(self) -> Mapping[str, object]:
        """Return the JSON object that the child prints when it is ready.

        Raises:
            ChildFault: It printed none in time.
        """
        assert self._process.stdout is not None  # noqa: S101 - always piped above
        try:
            async with asyncio.timeout(READY_SECONDS):
                line = await self._process.stdout.readline()
            ready = orjson.loads(line)
        except (TimeoutError, orjson.JSONDecodeError) as fault:
            raise ChildFault(f"{self.name} did not become ready: {self.last_words()}") from fault
        if not isinstance(ready, dict):
            raise ChildFault(f"{self.name} printed {line!r} instead of its ready line")
        return ready

    async def wait_for_end(self) -> int:
        """Wait for the child's end and return its exit status."""
        return await self._process.wait()

    @property
    def is_running(self) -> bool:
        """Whether the child still runs."""
        return self._process.returncode is None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def stop(self) -> None:
        """End the child's whole group: SIGTERM, then SIGKILL to what is left."""
        if self.is_running:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(END_SECONDS):
                    await self._process.wait()
        self._signal(signal.SIGKILL)
        if self.is_running:
            await self._process.wait()
        _groups.discard(self.pid)

    def last_words(self) -> str:
        """Return the end of what the child wrote to its log, for people."""
        with contextlib.suppress(OSError):
            lines = self.log.read_text("utf-8", "replace").strip().splitlines()
            return " / ".join(lines[-5:]) or "it said nothing"
        return "it said nothing"

    def _signal(self, number: signal.Signals) -> None:
        _signal(self._process.pid, number)


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def kill_all() -> None:
    """Kill every child that still runs, with its group, so that ending them does not wait for one."""
    for group in _groups:
        _signal(group, signal.SIGKILL)


async def first_end(children: Sequence[Child]) -> Child:
    """Wait until a child ends by itself and return it."""
    waits = {asyncio.create_task(child.wait_for_end()): child for child in children}
    try:
        ended_tasks, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waits:
            task.cancel()
    return waits[ended_tasks.pop()]


async def all_of(starts: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Carry out starts side by side, and only when each has come to its end raise what one of them raised."""
    for outcome in await asyncio.gather(*starts, return_exceptions=True):
        if outcome is not None:
            raise outcome
