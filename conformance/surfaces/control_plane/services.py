"""Services that the suite plays: they answer health calls with a given reply, and record the calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Protocol

from conformance.engine.check import Case
from conformance.surfaces.control_plane.played_service_sockets import open_sockets, start_receiver
from conformance.webhook_receiver.raw_receiver import SILENCE, Arrival, Receiver, Reply

HEALTH = "/health"
OK_REPLY = Reply(200, (("Content-Type", "application/json"),), b'{"status":"ok"}')
ERROR_REPLY = Reply(500, (("Content-Type", "application/json"),), b'{"status":"error"}')
NOT_FOUND_REPLY = Reply(404, (("Content-Type", "application/json"),), b'{"detail":"Not Found"}')
EMPTY_REPLY = Reply(204)
REDIRECT_REPLY = Reply(302, (("Location", "/gone"),))
NO_REPLY = SILENCE
# Shorter than any usual timeout of a read. Only a limit on the whole call ends such an answer.
_TRICKLE_SECONDS = 0.5


class NamedService(Protocol):
    """A service that can be registered."""

    @property
    def name(self) -> str:
        """Name under which it is registered."""

    @property
    def url(self) -> str:
        """Its address as the target reaches it, without a slash at its end."""

    @property
    def health(self) -> str:
        """Path of its health below its address."""


@dataclass(slots=True)
class PlayedService:
    """A service that listens.

    Attributes:
        name: Name under which it is registered.
        url: Its address as the target reaches it, without a slash at its end.
        receiver: The receiver of its calls.
        reply: Its reply to a health call.
        health: Path of its health below its address.
    """

    name: str
    url: str
    receiver: Receiver
    reply: Reply = OK_REPLY
    health: str = HEALTH
    _open: bool = field(default=True)

    def answer(self, arrival: Arrival) -> Reply:
        """Answer a health call with the reply, any other call with 404."""
        # A control plane may append the path to an address with a path, so only the end of the
        # path counts.
        return self.reply if self._is_health(arrival) else Reply(404)

    @property
    def calls(self) -> Sequence[Arrival]:
        """Every recorded call."""
        return self.receiver.arrivals

    @property
    def was_called(self) -> bool:
        """Whether its health was called."""
        return any(map(self._is_health, self.calls))

    async def wait_for_call(self, seconds: float) -> bool:
        """Return whether its health is called within some seconds."""
        arrivals = await self.receiver.next(self._is_health, seconds=seconds)
        return bool(arrivals)

    def _is_health(self, arrival: Arrival) -> bool:
        return arrival.path.rstrip("/").endswith(self.health)

    async def stop(self) -> None:
        """Stop listening: later calls find no service."""
        if self._open:
            self._open = False
            await self.receiver.close()


@dataclass(slots=True)
class TricklingService:
    """A service whose health answer never ends: each piece arrives in time, the whole answer never does.

    Attributes:
        name: Name under which it is registered.
        url: Its address as the target reaches it, without a slash at its end.
        health: Path of its health below its address.
    """

    name: str
    url: str
    _server: asyncio.Server
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    health: str = HEALTH

    async def stop(self) -> None:
        """Stop listening, and end every answer."""
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def play_trickling_service(
    case: Case, exits: AsyncExitStack, label: str, *, head: bytes, piece: bytes
) -> TricklingService:
    """Start a service that answers every call with `head` and then a piece twice a second, until `exits` closes.

    Raises:
        Inconclusive: The suite cannot listen.
    """
    sockets, host = await open_sockets(case, "a service")
    tasks: set[asyncio.Task[None]] = set()

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a connection's task
        tasks.add(task)
        try:
            writer.write(head)
            while True:
                await writer.drain()
                await asyncio.sleep(_TRICKLE_SECONDS)
                writer.write(piece)
        except (OSError, asyncio.CancelledError):
            # A clean close would wait for a peer that may not read.
            writer.transport.abort()
        finally:
            tasks.discard(task)

    server = await asyncio.start_server(answer, sock=sockets[0])
    # One server listens at one address. The other sockets of the host must not accept connections
    # that no task answers.
    for further in sockets[1:]:
        further.close()
    service = TricklingService(new_name(case, label), f"http://{host}", server, tasks)
    exits.push_async_callback(service.stop)
    case.client.names.secret(host, f"{label.upper()}_ADDRESS")
    return service


async def play_service(
    case: Case, exits: AsyncExitStack, label: str, reply: Reply = OK_REPLY, *, health: str = HEALTH
) -> PlayedService:
    """Start a service under a unique name, with its health at a path, until `exits` closes.

    Raises:
        Inconclusive: The suite cannot listen.
    """
    receiver, host = await start_receiver(case, "a service")
    service = PlayedService(new_name(case, label), f"http://{host}", receiver, reply, health)
    receiver.plan = service.answer
    exits.push_async_callback(service.stop)
    case.client.names.secret(host, f"{label.upper()}_ADDRESS")
    return service


def new_name(case: Case, label: str) -> str:
    """Return a name that is unique among all runs, named in the log."""
    name = f"{label}-{case.session.nonce}-{case.session.count()}"
    case.client.names.name(name, f"{label.upper()}_NAME")
    return name
