"""A program in an enclosure: network and file namespaces of its own, made by `unshare` of util-linux.

There every port is free, whatever listens on this machine; a call to any address is seen and reaches nobody; and `/app`
is a folder of the suite's. Unix sockets, which no network namespace holds back, carry what may pass: calls of the suite
to the program's ports, and calls of the program to services that the suite plays.
"""

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

_END_SECONDS = 15.0
_POLL_SECONDS = 0.1
_QUOTED_LETTERS = 400
# A program is started within half a second; where that takes longer than this, so does everything it does.
_STARTS_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Destination:
    """A place that was called from inside.

    Attributes:
        protocol: `tcp` or `udp`.
        address: IP address.
        port: Port.
        name: The name that was asked for, of a DNS query.
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
        """The place in words."""
        return f"DNS for {self.name}" if self.name else f"{self.protocol} {self.address} port {self.port}"


@dataclass(slots=True)
class EnclosedProgram:
    """A program that runs in an enclosure.

    Attributes:
        urls: Where its ports are reached from outside.
        app: The folder that is `/app` inside.
        calls: Every place that was called, in the order of the first call.
        is_over: Whether the program is over.
        start_time: When the enclosure was begun, by the monotonic clock.
        start_event: Set once the program starts, or will not.
        slowness: How many times longer than usual things take on this machine: 1 on one that is not overloaded.
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
        """Note that the program starts now, and how slow the machine is by how long it took until then."""
        self.slowness = max(1.0, (time.monotonic() - self.start_time) / _STARTS_SECONDS)
        self.start_event.set()

    @property
    def output_end(self) -> str:
        """The end of what the program printed, without secrets."""
        text = " ".join(read_end(self.words).split()) if self.words.exists() else ""
        return self.names.redact(text)[-_QUOTED_LETTERS:] or "it said nothing"

    async def answers(self, port: int, seconds: float = READY_SECONDS) -> bool:
        """Return whether something answers at a port inside, within some seconds or at a last look after them.

        The seconds begin when the program does, and are longer on a machine that took long to start it.
        """
        await self.start_event.wait()
        ends = time.monotonic() + seconds * self.slowness
        while not self.is_over:
            last = time.monotonic() >= ends
            if await answers_http(self.urls[port]):
                return True
            if last:
                break
            await asyncio.sleep(_POLL_SECONDS)
        return False


async def command_prefix() -> tuple[str, ...]:
    """Return the words that go before a program to enclose it; none where this machine does not allow it."""
    return await unshare.command_prefix("--net", "--mount")


@asynccontextmanager
async def run_enclosed(
    program: Program, names: Names, *, ports: Collection[int], services: Collection[int] = ()
) -> AsyncIterator[EnclosedProgram]:
    """Start a program in an enclosure and end it on leaving.

    Args:
        program: How it is started; `{port}` is not filled in.
        names: Keeps secrets out of what it is quoted with.
        ports: Ports inside that are reached from outside.
        services: Ports of this machine that are reached from inside, at 127.0.0.1 and the same port.

    Raises:
        NodeCannotShow: This machine allows none.
    """
    before = await command_prefix()
    if not before:
        raise NodeCannotShow("needs a network namespace of its own, which this machine does not allow (unshare)")
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
            # The environment holds secrets: it goes in by a pipe.
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
    """Listen at a free port outside for each port inside, and carry calls in."""
    urls: dict[int, str] = {}
    for port in ports:
        path = str(folder / f"in-{port}")
        server = await asyncio.start_server(_make_carrier(partial(asyncio.open_unix_connection, path)), "127.0.0.1", 0)
        stack.push_async_callback(_close_server, server)
        urls[port] = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    return urls


async def _open_outward_sockets(stack: contextlib.AsyncExitStack, folder: Path, ports: Collection[int]) -> None:
    """Listen at a Unix socket for each service of the suite's, and carry calls out to it."""
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
