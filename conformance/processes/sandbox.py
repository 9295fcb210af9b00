"""Sandbox of a program: separate network and mount namespaces, made by `unshare` of util-linux."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from conformance.http.client import Names
from conformance.outcome import NodeCannotShow
from conformance.processes.children import end_child
from conformance.processes.launching import READY_SECONDS, Program, answers_http, make_environment
from conformance.processes.process_cleanup import temporary_folder
from conformance.processes.sandbox_init import relay
from conformance.text.files import read_end
from programs import unshare

# Theory: in the sandbox every port is free, whatever listens on this machine. A call to any address is recorded and
# reaches no machine. `/app` is a folder of the suite. Unix sockets, which a network namespace does not separate,
# carry the permitted calls: those of the suite to the program's ports, and those of the program to services of the
# suite.
#
_END_SECONDS = 15.0
_POLL_SECONDS = 0.1
_QUOTED_LETTERS = 400
# A program usually starts within half a second. On a machine where it takes longer than this, everything takes longer.
_STARTS_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Destination:
    """A destination that was called from inside.

    Attributes:
        protocol: `tcp` or `udp`.
        address: IP address.
        port: Port.
        name: The name of a DNS query; empty for other calls.
    """

    protocol: str
    address: str
    port: int
    name: str

    @property
    def loopback(self) -> bool:
        """Whether it is on the machine itself."""
        return self.address.startswith("127.") or self.address == "::1"

    @property
    def description(self) -> str:
        """The destination in words."""
        return f"DNS for {self.name}" if self.name else f"{self.protocol} {self.address} port {self.port}"


@dataclass(slots=True)
class EnclosedProgram:
    """A program in a sandbox.

    Attributes:
        urls: The addresses of its ports, from outside.
        app: The folder that is `/app` inside.
        calls: Every destination that was called, in the order of the first call.
        is_over: Whether the program has ended.
        start_time: When the sandbox was begun, by the monotonic clock.
        start_event: Set when the program starts, or will never start.
        slowness: The factor by which this machine is slower than usual; 1 if it is not overloaded.
    """

    urls: Mapping[int, str]
    app: Path
    words: Path
    names: Names
    calls: list[Destination] = field(default_factory=list)
    is_over: bool = False
    start_time: float = field(default_factory=time.monotonic)
    start_event: asyncio.Event = field(default_factory=asyncio.Event)
    slowness: float = 1.0

    def record_start(self) -> None:
        """Record that the program starts now, and how slow the machine is by the time until then."""
        self.slowness = max(1.0, (time.monotonic() - self.start_time) / _STARTS_SECONDS)
        self.start_event.set()

    @property
    def output_end(self) -> str:
        """The end of what the program printed, without secrets."""
        text = " ".join(read_end(self.words).split()) if self.words.exists() else ""
        return self.names.redact(text)[-_QUOTED_LETTERS:] or "it printed nothing"

    async def answers(self, port: int, seconds: float = READY_SECONDS) -> bool:
        """Return whether a port inside answers within some seconds, which are longer on a slow machine."""
        await self.start_event.wait()
        ends = time.monotonic() + seconds * self.slowness
        while not self.is_over:
            # One more attempt after the deadline: a slow machine may have spent all of the time on the attempt
            # before.
            last = time.monotonic() >= ends
            if await answers_http(self.urls[port]):
                return True
            if last:
                break
            await asyncio.sleep(_POLL_SECONDS)
        return False


async def command_prefix() -> tuple[str, ...]:
    """Return the words before a command that put it into a sandbox; empty if this machine does not allow it."""
    return await unshare.command_prefix("--net", "--mount")


@asynccontextmanager
async def run_enclosed(
    program: Program, names: Names, *, ports: Collection[int], services: Collection[int] = ()
) -> AsyncIterator[EnclosedProgram]:
    """Start a program in a sandbox and end it on leaving.

    Args:
        program: The program; `{port}` is not filled in.
        names: The redaction table for quotations of its output.
        ports: Ports inside that can be reached from outside.
        services: Ports of this machine that can be reached from inside, at 127.0.0.1 and the same port.

    Raises:
        NodeCannotShow: This machine does not allow a sandbox.
    """
    before = await command_prefix()
    if not before:
        raise NodeCannotShow("needs a separate network namespace, which this machine does not allow (unshare)")
    async with contextlib.AsyncExitStack() as stack:
        folder = stack.enter_context(temporary_folder("wp-"))
        (folder / "app").mkdir()
        enclosure = EnclosedProgram(
            await _open_inward_ports(stack, folder, ports), folder / "app", folder / "words", names
        )
        await _open_outward_sockets(stack, folder, services)
        settings = {
            "command": list(program.words),
            "environment": make_environment(program.environment),
            "inward": {port: str(folder / f"in-{port}") for port in ports},
            "outward": {port: str(folder / f"out-{port}") for port in services},
            "words": str(enclosure.words),
            "app": str(enclosure.app),
        }
        process = await asyncio.create_subprocess_exec(
            *(*before, sys.executable, "-m", "conformance.processes.sandbox_init"),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        assert process.stdin is not None  # noqa: S101 - always piped above
        read_task = asyncio.create_task(_read(process, enclosure))
        try:
            # The environment contains secrets, which arguments would show to every user: it goes through a pipe.
            process.stdin.write(json.dumps(settings).encode() + b"\n")
            await process.stdin.drain()
            yield enclosure
        finally:
            process.stdin.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await process.wait()
            await end_child(process, _END_SECONDS)
            await read_task


async def _open_inward_ports(stack: contextlib.AsyncExitStack, folder: Path, ports: Collection[int]) -> dict[int, str]:
    """Listen at a free port outside for each port inside, and relay calls into the sandbox."""
    urls: dict[int, str] = {}
    for port in ports:
        path = str(folder / f"in-{port}")
        server = await asyncio.start_server(_make_carrier(partial(asyncio.open_unix_connection, path)), "127.0.0.1", 0)
        stack.push_async_callback(_close_server, server)
        urls[port] = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    return urls


async def _open_outward_sockets(stack: contextlib.AsyncExitStack, folder: Path, ports: Collection[int]) -> None:
    """Listen at a Unix socket for each service of the suite, and relay calls of the program to it."""
    for port in ports:
        carrier = _make_carrier(partial(asyncio.open_connection, "127.0.0.1", port))
        stack.push_async_callback(_close_server, await asyncio.start_unix_server(carrier, str(folder / f"out-{port}")))


def _make_carrier(opens: Callable[[], Any]) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]:
    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await relay(reader, writer, opens())

    return carry


async def _close_server(server: asyncio.Server) -> None:
    server.close()


async def _read(process: asyncio.subprocess.Process, enclosure: EnclosedProgram) -> None:
    assert process.stdout is not None  # noqa: S101 - always piped above
    async for line in process.stdout:
        message = json.loads(line)
        if "called" in message:
            enclosure.calls.append(Destination(*message["called"]))
        if "started" in message:
            enclosure.record_start()
        if "ended" in message:
            enclosure.is_over = True
    enclosure.is_over = True
    enclosure.start_event.set()
