"""Listening sockets that the target can reach, for services that the suite plays."""

from __future__ import annotations

import asyncio
import socket

from conformance.engine.check import Case
from conformance.outcome import Inconclusive
from conformance.webhook_receiver.raw_receiver import CannotListen, Receiver, bind_sockets


async def start_receiver(case: Case, role: str) -> tuple[Receiver, str]:
    """Return a listening receiver, and its host and port as the target reaches them.

    Args:
        case: The case whose profile names the hosts.
        role: The role that the suite plays there, for the reason if it fails.

    Raises:
        Inconclusive: The suite cannot listen.
    """
    sockets, host = await open_sockets(case, role)
    receiver = Receiver()
    await receiver.start(sockets)
    return receiver, host


async def open_sockets(case: Case, role: str) -> tuple[list[socket.socket], str]:
    """Return listening sockets at every address of the host, with host and port as the target reaches them.

    Raises:
        Inconclusive: The suite cannot listen.
    """
    bindings = case.profile.hub_bindings
    try:
        sockets = await asyncio.to_thread(bind_sockets, bindings.listen_host, 0)
    except CannotListen as fault:
        raise Inconclusive(f"cannot play {role}: {fault}; give [hub] listen_host and reach_host") from fault
    return sockets, f"{bindings.reach_host}:{sockets[0].getsockname()[1]}"
