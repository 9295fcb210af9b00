"""Starting the operator's programs: a control plane or an addon, in a folder of its own, at a port of its own.

Secrets go into a program's environment and never among its arguments, which every user of a machine can read. What it
says is kept in a file and shown only, without secrets, where it does not come up.
"""

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
# What the suite was told belongs to the suite: a program under test gets what it is given.
_SUITE_PREFIXES = ("S2CP_", "S2_HUB_", "WP_", "WELDPROOF_")


@dataclass(frozen=True, slots=True)
class Program:
    """How a program is started.

    Attributes:
        words: Its command, word by word, with placeholders `{port}` and `{data_dir}`.
        environment: Its environment beside the usual one, with the same placeholders.
        port: The port that it listens at where nothing of its command tells it one.
        title: What it is, for a reader.
    """

    words: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    port: int
    title: str

    @property
    def takes_port(self) -> bool:
        """Whether the command or the environment tells it a port."""
        return any("{port}" in text for text in (*self.words, *self.environment.values()))

    @property
    def without_port_settings(self) -> Program:
        """The same program without the settings that tell it a port.

        Raises:
            Inconclusive: Its command tells it one.
        """
        if any("{port}" in word for word in self.words):
            raise Inconclusive(f"the command of {self.title} itself tells a port, so that its default does not show")
        environment = {name: value for name, value in self.environment.items() if "{port}" not in value}
        return Program(self.words, environment, self.port, self.title)

    def with_environment(self, **variables: str) -> Program:
        """Return the same program with further environment, which goes before what it has."""
        return Program(self.words, {**self.environment, **variables}, self.port, self.title)


@dataclass(slots=True)
class RunningProgram:
    """A program that was started.

    Attributes:
        url: Where it listens, without a slash at its end.
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
        """What became of it, in words."""
        return "does not answer" if self.alive else f"ended with {self._process.returncode}"

    @property
    def pid(self) -> int:
        """Its process id, which is its group's too."""
        return self._process.pid

    @property
    def output_end(self) -> str:
        """The end of what it printed, without secrets, on one line."""
        text = " ".join(read_end(self._words).split())
        return self._names.redact(text)[-_QUOTED_LETTERS:] or "it said nothing"

    async def stop(self) -> None:
        """End it, and whatever it started."""
        await end_child(self._process, _END_SECONDS)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def answers(self, seconds: float) -> bool:
        """Return whether it gives an HTTP answer within some seconds; no, once it has ended.

        That something takes connections says little: a socket may be there before the program is ready.
        """
        ends = time.monotonic() + seconds
        while self.alive and time.monotonic() < ends:
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
        program: How it is started.
        names: Keeps secrets out of what it is quoted with.
        folder: Its data directory; None: an empty one, removed afterwards.
        at: Its address, where it is not at a port of this machine that is chosen for it.

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
                # One that cannot listen beside whoever keeps its port for it gets one that nobody keeps.
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
        # Somebody else may have taken the port that was free a moment ago.
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
    with words.open("wb") as log:
        try:
            return Child(command, environment, log)
        except OSError as fault:
            raise Inconclusive(f"{program.title} cannot be started: {command[0]}: {fault.strerror}") from fault


def make_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return a program's environment: what it is given, and the usual one without settings of the suite's own.

    The mark is among it, by which the program is ended with the command that started it.
    """
    return {**copy_operator_environment(), **mark_environment(), **variables}


def copy_operator_environment() -> dict[str, str]:
    """Return the usual environment without settings of the suite's own, and without the mark: what gets it lives on."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_SUITE_PREFIXES)}


def _fill_placeholders(text: str, port: int, folder: Path) -> str:
    return text.replace("{port}", str(port)).replace("{data_dir}", str(folder))


def _port_of(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)


def find_free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def _keep_port() -> Iterator[int]:
    """Keep a free port for a program that is about to listen there, so that nobody else is given it meanwhile.

    Who asks for any free port is not given one that is bound, and an answer at it is the program's own then. Linux lets
    a server that reuses addresses, as servers do, listen beside a socket that only holds the port.
    """
    with socket.socket() as held:
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
    """Return whether an HTTP answer comes from an address, whatever it says."""
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
    """Return the path of a console command, on the path or in the folders `beside` it."""
    return shutil.which(name, path=os.pathsep.join((*beside, os.environ.get("PATH", ""))))
