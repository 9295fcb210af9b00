"""Services that the suite plays: they answer health calls as a plan says, and note who called."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Protocol

from conformance.engine.check import Case
from conformance.surfaces.control_plane.listening import open_sockets, start_receiver
from conformance.webhook_receiver.raw_receiver import SILENCE, Arrival, Receiver, Reply

HEALTH = "/health"
OK_REPLY = Reply(200, (("Content-Type", "application/json"),), b'{"status":"ok"}')
ERROR_REPLY = Reply(500, (("Content-Type", "application/json"),), b'{"status":"error"}')
NOT_FOUND_REPLY = Reply(404, (("Content-Type", "application/json"),), b'{"detail":"Not Found"}')
EMPTY_REPLY = Reply(204)
REDIRECT_REPLY = Reply(302, (("Location", "/gone"),))
NO_REPLY = SILENCE
_TRICKLE_SECONDS = 0.5


class NamedService(Protocol):
    """What can be registered as a service."""

    @property
    def name(self) -> str:
        """Name that it is registered under."""

    @property
    def url(self) -> str:
        """Its address as the target reaches it, without a slash at its end."""

    @property
    def health(self) -> str:
        """Path below its address where its health is asked for."""


@dataclass(slots=True)
class PlayedService:
    """A service that listens.

    Attributes:
        name: Name that it is registered under.
        url: Its address as the target reaches it, without a slash at its end.
        receiver: What takes its calls.
        reply: What it answers to a health call.
        health: Path below its address where its health is asked for.
    """

    name: str
    url: str
    receiver: Receiver
    reply: Reply = OK_REPLY
    health: str = HEALTH
    _open: bool = field(default=True)

    def answer(self, arrival: Arrival) -> Reply:
        """Answer a health call as the plan says, anything else with 404."""
        return self.reply if self._is_health(arrival) else Reply(404)

    @property
    def calls(self) -> Sequence[Arrival]:
        """Every call that came."""
        return self.receiver.arrivals

    @property
    def was_called(self) -> bool:
        """Whether its health was asked for."""
        return any(map(self._is_health, self.calls))

    async def wait_for_call(self, seconds: float) -> bool:
        """Return whether its health was asked for within some seconds."""
        arrivals = await self.receiver.next(self._is_health, seconds=seconds)
        return bool(arrivals)

    def _is_health(self, arrival: Arrival) -> bool:
        return arrival.path.rstrip("/").endswith(self.health)

    async def stop(self) -> None:
        """Stop listening: from now on nobody is there."""
        if self._open:
            self._open = False
            await self.receiver.close()


@dataclass(slots=True)
class TricklingService:
    """A service whose health answer never ends: each of its pieces comes in time, the whole never does.

    Attributes:
        name: Name that it is registered under.
        url: Its address as the target reaches it, without a slash at its end.
        health: Path below its address where its health is asked for.
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
    """Start a service that answers every call with `head` and then with a piece twice a second, until `exits` closes.

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
            writer.transport.abort()
        finally:
            tasks.discard(task)

    server = await asyncio.start_server(answer, sock=sockets[0])
    for further in sockets[1:]:
        further.close()
    service = TricklingService(new_name(case, label), f"http://{host}", server, tasks)
    exits.push_async_callback(service.gone)
    case.client.names.secret(host, f"{label.upper()}_ADDRESS")
    return service


async def play_service(
    case: Case, exits: AsyncExitStack, label: str, reply: Reply = OK, *, health: str = HEALTH
) -> PlayedService:
    """Start a service under a name that no other has, until `exits` closes; it has its health at a path.

    Raises:
        Inconclusive: The suite cannot listen.
    """
    receiver, host = await start_receiver(case, "a service")
    service = PlayedService(new_name(case, label), f"http://{host}", receiver, reply, health)
    receiver.plan = service.answer
    exits.push_async_callback(service.gone)
    case.client.names.secret(host, f"{label.upper()}_ADDRESS")
    return service


def new_name(case: Case, label: str) -> str:
    """Return a name that no other service of this or another run has, named in the log."""
    name = f"{label}-{case.session.nonce}-{case.session.count()}"
    case.client.names.name(name, f"{label.upper()}_NAME")
    return name
