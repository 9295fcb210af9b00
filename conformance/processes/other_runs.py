"""Whether another run of the suite, on this machine and of this user, is under way against the same target.

Two runs on one stack disturb each other: both move its clock and its chains, exhaust its limits and read its counts.
What moves time or money under a payment of the other run is used by one run at a time: the second waits (`wait_alone`).
For the rest, such as the addresses of the surfaces, the second says that it is not alone (`claim_addresses`).

Each run binds a name for each of these in Linux's abstract namespace of sockets, which leaves nothing behind and which
the system takes back when the process ends, however it ends. Elsewhere nothing is claimed and no other run is noticed.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Final

_LOOK_SECONDS: Final = 0.2


@contextmanager
def claim_addresses(addresses: Iterable[str]) -> Iterator[list[str]]:
    """Claim addresses for as long as the context lasts, and yield those that another run has claimed.

    Args:
        addresses: Of what a run judges and disturbs.
    """
    with ExitStack() as held:
        yield [one for one in sorted(set(addresses)) if not _claim(one.rstrip("/"), held)]


@asynccontextmanager
async def wait_alone(
    shared: Mapping[str, str], seconds: float, waits: Callable[[list[str]], None]
) -> AsyncIterator[list[str]]:
    """Have things to oneself for as long as the context lasts, and yield what another run still has after the wait.

    All of them are claimed at once or none is, so that two runs never wait for each other.

    Args:
        shared: What runs must not use at the same time, by a key that is the same in every run, to words for it.
        seconds: How long to wait at most.
        waits: Called once before the wait, with what another run has.
    """
    ends, has_said = time.monotonic() + seconds, False
    while True:
        with ExitStack() as held:
            busy_names = [words for key, words in sorted(shared.items()) if not _claim(key, held)]
            if not busy_names or time.monotonic() >= ends:
                yield busy_names
                return
        if not has_said:
            waits(busy_names)
            has_said = True
        await asyncio.sleep(_LOOK_SECONDS)


def _claim(address: str, claims: ExitStack) -> bool:
    """Return whether no other run has claimed an address or key; its name is kept until `claims` is closed."""
    if sys.platform != "linux":
        return True
    name = hashlib.sha256(f"{os.getuid()} {address}".encode()).hexdigest()
    try:
        claims.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)).bind(f"\0weldproof-run-{name}")
    except OSError as fault:
        return fault.errno != errno.EADDRINUSE
    return True
