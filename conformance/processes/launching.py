"""Launching of the operator's programs, such as a control plane or an addon, with a separate folder and port."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from conformance.http.client import Names
from conformance.outcome import Inconclusive
from conformance.processes.children import Child, end_child
from conformance.processes.process_cleanup import mark_environment, temporary_folder
from conformance.text.files import read_end

READY_SECONDS: Final = 100.0
_END_SECONDS = 10.0
_POLL_SECONDS = 0.05
_ANSWER_SECONDS = 5.0
_TRIES = 3
_QUOTED_LETTERS = 400
# Settings of the suite. A program under test must not inherit them: it gets only what its profile gives it.
_SUITE_PREFIXES = ("S2CP_", "S2_HUB_", "WP_", "WELDPROOF_")


@dataclass(frozen=True, slots=True)
class Program:
    """A program and how it is started.

    Attributes:
        words: Its command, word by word, with placeholders `{port}` and `{data_dir}`.
        environment: Its variables in addition to the usual ones, with the same placeholders.
        port: Its default port, which it uses if its command and environment set none.
        title: Its description for a reader.
    """

    words: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    port: int
    title: str

    @property
    def takes_port(self) -> bool:
        """Whether the command or the environment sets its port."""
        return any("{port}" in text for text in (*self.words, *self.environment.values()))

    @property
    def without_port_settings(self) -> Program:
        """The same program without the settings of its port.

        Raises:
            Inconclusive: Its command sets the port.
        """
        if any("{port}" in word for word in self.words):
            raise Inconclusive(f"the command of {self.title} itself sets a port, so its default cannot be seen")
        environment = {name: value for name, value in self.environment.items() if "{port}" not in value}
        return Program(self.words, environment, self.port, self.title)

    def with_environment(self, **variables: str) -> Program:
        """Return the same program with further variables, which replace those of the same name."""
        return Program(self.words, {**self.environment, **variables}, self.port, self.title)


@dataclass(slots=True)
class RunningProgram:
    """A started program.

    Attributes:
        url: Its address, without a slash at its end.
        folder: Its data directory.
    """

    url: str
    folder: Path
    _process: Child
    _words: Path
    _names: Names

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.returncode is None

    @property
    def fate(self) -> str:
        """Its state, in words."""
        return "does not answer" if self.alive else f"ended with {self._process.returncode}"

    @property
    def pid(self) -> int:
        """Its process id, which is also the id of its process group."""
        return self._process.pid

    @property
    def output_end(self) -> str:
        """The end of what it printed, without secrets, on one line."""
        text = " ".join(read_end(self._words).split())
        return self._names.redact(text)[-_QUOTED_LETTERS:] or "it printed nothing"

    async def stop(self) -> None:
        """End it, and every process that it started."""
        await end_child(self._process, _END_SECONDS)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def answers(self, seconds: float) -> bool:
        """Return whether it gives an HTTP answer within some seconds, and has not ended."""
        ends = time.monotonic() + seconds
        while self.alive and time.monotonic() < ends:
            # A socket that takes connections is not enough: it may exist before the program is ready.
            if await answers_http(self.url):
                return self.alive
            await asyncio.sleep(_POLL_SECONDS)
        return False


@asynccontextmanager
async def run_program(
    program: Program, names: Names, *, folder: Path | None = None, at: str | None = None
) -> AsyncIterator[RunningProgram]:
    """Start a program and end it on leaving.

    Args:
        program: The program.
        names: The redaction table for quotations of its output.
        folder: Its data directory; None for an empty one, which is removed afterwards.
        at: Its address, if it does not get a free port of this machine.

    Raises:
        Inconclusive: It cannot be started, or does not answer.
    """
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = stack.enter_context(temporary_folder())
        words = stack.enter_context(temporary_folder()) / "said"
        program_run = await _start_program(program, names, folder, words, at)
        try:
            yield program_run
        finally:
            await program_run.stop()


async def _start_program(program: Program, names: Names, folder: Path, words: Path, at: str | None) -> RunningProgram:
    if not program.takes_port and at is None and await _takes_connections("127.0.0.1", program.port):
        raise Inconclusive(f"another program listens at port {program.port}, where {program.title} is taken to listen")
    for attempt in range(_TRIES):
        with contextlib.ExitStack() as stack:
            if at is None and program.takes_port:
                # A program that cannot listen while the suite keeps its port gets an unkept one at the next attempt.
                port = stack.enter_context(_keep_port()) if attempt == 0 else find_free_port()
            else:
                port = program.port if at is None else _port_of(at)
            url = at or f"http://127.0.0.1:{port}"
            program_run = RunningProgram(url.rstrip("/"), folder, _spawn(program, port, folder, words), words, names)
            try:
                if await program_run.answers(READY_SECONDS):
                    return program_run
            except BaseException:
                await program_run.stop()
                raise
        # Another process may have taken the port that was free a moment ago.
        again = not program_run.alive and program.takes_port and at is None and attempt + 1 < _TRIES
        how = program_run.fate
        await program_run.stop()
        if not again:
            raise Inconclusive(f"{program.title} {how} at {url}: {program_run.output_end}")
    raise AssertionError("every attempt returns or raises")


def _spawn(program: Program, port: int, folder: Path, words: Path) -> Child:
    command = [_fill_placeholders(word, port, folder) for word in program.words]
    environment = make_environment(
        {name: _fill_placeholders(value, port, folder) for name, value in program.environment.items()}
    )
    # A file, not a pipe: a program that prints much would stop when nothing reads its pipe. Secrets are in its
    # environment and never in its arguments, which every user of a machine can read.
    with words.open("wb") as log:
        try:
            return Child(command, environment, log)
        except OSError as fault:
            raise Inconclusive(f"{program.title} cannot be started: {command[0]}: {fault.strerror}") from fault


def make_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return a program's environment: the given variables, the usual ones, and the mark of this command."""
    return {**copy_operator_environment(), **mark_environment(), **variables}


def copy_operator_environment() -> dict[str, str]:
    """Return the usual environment without the suite's settings and without the mark: such a process lives on."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_SUITE_PREFIXES)}


def _fill_placeholders(text: str, port: int, folder: Path) -> str:
    return text.replace("{port}", str(port)).replace("{data_dir}", str(folder))


def _port_of(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)


def find_free_port() -> int:
    """Return a free port of this machine."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def _keep_port() -> Iterator[int]:
    """Keep a free port for a program that is about to listen there."""
    with socket.socket() as held:
        # A bound port is given to no process that asks for any free port, so an answer there is the program's. Linux
        # lets a server with SO_REUSEADDR listen at a port that another socket only holds; other systems do not.
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        port = int(held.getsockname()[1])
        if sys.platform != "linux":
            held.close()
        yield port


async def _takes_connections(host: str, port: int) -> bool:
    try:
        async with asyncio.timeout(1.0):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True


async def answers_http(url: str) -> bool:
    """Return whether any HTTP answer comes from an address."""
    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", _port_of(url)
    if parts.scheme == "https":
        return await _takes_connections(host, port)
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            await writer.drain()
            beginning = await reader.read(5)
            writer.close()
    except (OSError, TimeoutError):
        return False
    return beginning == b"HTTP/"


def find_program(name: str, beside: Sequence[str]) -> str | None:
    """Return the path of a console command, searched in the folders `beside` and then on the path."""
    return shutil.which(name, path=os.pathsep.join((*beside, os.environ.get("PATH", ""))))
