"""Detects that a target was restarted, or that another server now listens at its address.

A server on this machine is identified by the processes that hold its listening socket. They change with a restart, and
with the reload of a development server that hands its socket on. Nothing is sent to the server for this. Any other
server counts as restarted if it gives no answer, and answers later.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from conformance.http.client import Unreachable
from conformance.http.transport import HttpTransport

POLL_SECONDS: Final = 0.5
_ANSWER_SECONDS: Final = 5.0
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_PORTS: Final = {"http": 80, "https": 443}
# The state TCP_LISTEN in /proc/net/tcp.
_LISTEN_STATE: Final = "0A"
_PROC: Final = Path("/proc")

# Process number and start time of each process that holds a socket.
Holders = frozenset[tuple[int, str]]
# By address: the identity of the server there, which is the holders of its socket, or else whether it answers.
ServerStates = Mapping[str, Holders | bool]


def find_holders(port: int, proc: Path = _PROC) -> Holders:
    """Return the processes that hold the socket that listens at a port of this machine; empty if none is visible."""
    inodes = {inode for table in ("tcp", "tcp6") for inode in _find_listening_inodes(proc / "net" / table, port)}
    sockets = {f"socket:[{inode}]" for inode in inodes}
    return frozenset(_find_holders(proc, sockets)) if sockets else frozenset()


def _find_listening_inodes(table: Path, port: int) -> Iterable[str]:
    with contextlib.suppress(OSError):
        for line in table.read_text("ascii").splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTEN_STATE and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]


def _find_holders(proc: Path, sockets: set[str]) -> Iterable[tuple[int, str]]:
    for process in proc.glob("[0-9]*"):
        # The files of other users' processes, and of processes that end meanwhile, cannot be read.
        with contextlib.suppress(OSError):
            if any(str(one.readlink()) in sockets for one in (process / "fd").iterdir()):
                # After the name, which may hold spaces, the 20th field is the start time.
                start_time = (process / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
                yield int(process.name), start_time


async def read_server_states(urls: Iterable[str]) -> ServerStates:
    """Return the present identity of the servers at some addresses."""
    return {url: await _read_state(url) for url in urls}


async def wait_until_restarted(states: ServerStates, *, poll: float = POLL_SECONDS) -> str:
    """Wait until one of some servers was restarted and answers, and return its address.

    Args:
        states: The identities of the servers before.
        poll: Seconds between two readings.
    """
    while True:
        await asyncio.sleep(poll)
        for url, earlier_state in states.items():
            present_state = await _read_state(url)
            if present_state != earlier_state:
                await _wait_until_ready(url, present_state, poll)
                return url


async def _wait_until_ready(url: str, state: Holders | bool, poll: float) -> None:
    """Wait until a server has the same identity in two readings, and answers."""
    while True:
        await asyncio.sleep(poll)
        earlier_state, state = state, await _read_state(url)
        # A development server may replace its process several times while it reloads.
        if state == earlier_state and await _is_answering(url):
            return


async def _read_state(url: str) -> Holders | bool:
    parts = urlsplit(url)
    if parts.hostname in _LOOPBACK:
        process_set = await asyncio.to_thread(find_holders, parts.port or _PORTS[parts.scheme])
        if process_set:
            return process_set
    return await _is_answering(url)


async def _is_answering(url: str) -> bool:
    async with HttpTransport(seconds=_ANSWER_SECONDS, requests_per_second=0, connections=1) as transport:
        try:
            await transport.send("GET", url.rstrip("/") + "/", (), None)
        except Unreachable as fault:
            # A server whose certificate is refused is running as well.
            return "certificate" in str(fault)
    return True
