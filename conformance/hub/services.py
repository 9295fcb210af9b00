"""Services that the suite plays: they answer health calls as a plan says, and note who called."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from conformance.check import Case
from conformance.hub.listening import listening
from conformance.webhooks.receiver import SILENCE, Arrival, Receiver, Reply

HEALTH = "/health"
OK = Reply(200, (("Content-Type", "application/json"),), b'{"status":"ok"}')
FAILING = Reply(500, (("Content-Type", "application/json"),), b'{"status":"error"}')
HANGING = SILENCE


@dataclass(slots=True)
class Played:
    """A service that listens.

    Attributes:
        name: Name that it is registered under.
        url: Its address as the target reaches it, without a slash at its end.
        receiver: What takes its calls.
        reply: What it answers to a health call.
    """

    name: str
    url: str
    receiver: Receiver
    reply: Reply = OK
    _open: bool = field(default=True)

    def answer(self, arrival: Arrival) -> Reply:
        """Answer a health call as the plan says, anything else with 404."""
        return self.reply if arrival.path.rstrip("/").endswith(HEALTH) else Reply(404)

    @property
    def calls(self) -> Sequence[Arrival]:
        """Every call that came."""
        return self.receiver.arrivals

    async def called(self, seconds: float) -> bool:
        """Return whether its health was asked for within some seconds."""
        found = await self.receiver.next(lambda one: one.path.rstrip("/").endswith(HEALTH), seconds=seconds)
        return bool(found)

    async def gone(self) -> None:
        """Stop listening: from now on nobody is there."""
        if self._open:
            self._open = False
            await self.receiver.close()


async def played(case: Case, kept: AsyncExitStack, label: str, reply: Reply = OK) -> Played:
    """Start a service under a name that no other has, until `kept` closes.

    Raises:
        Inconclusive: The suite cannot listen.
    """
    receiver, host = await listening(case, "a service")
    service = Played(new_name(case, label), f"http://{host}", receiver, reply)
    receiver.plan = service.answer
    kept.push_async_callback(service.gone)
    case.client.names.secret(host, f"{label.upper()}_ADDRESS")
    return service


def new_name(case: Case, label: str) -> str:
    """Return a name that no other service of this or another run has, named in the log."""
    name = f"{label}-{case.session.nonce}-{case.session.count()}"
    case.client.names.name(name, f"{label.upper()}_NAME")
    return name
