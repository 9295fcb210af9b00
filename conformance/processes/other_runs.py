"""Detection of other runs of the suite against the same target, by the same user on the same machine."""

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

# Theory: two runs on one stack disturb each other. Both move its clock and its chains, exhaust its limits and read
# its counts. Resources that move time or money under a payment of the other run (clock file, funder) are exclusive:
# the second run waits. For the rest, such as addresses, the second run only reports that it is not alone.
#
# A claim is a name in Linux's abstract namespace of sockets. It needs no file, and the system removes it when the
# process ends in any way, so a crashed run blocks no later one. Other systems have no such names: nothing is claimed
# there.
_LOOK_SECONDS: Final = 0.2


@contextmanager
def claim_addresses(addresses: Iterable[str]) -> Iterator[list[str]]:
    """Claim the addresses of a run while the context lasts, and yield those that another run has claimed."""
    with ExitStack() as held:
        yield [one for one in sorted(set(addresses)) if not _claim(one.rstrip("/"), held)]


@asynccontextmanager
async def wait_alone(
    shared: Mapping[str, str], seconds: float, waits: Callable[[list[str]], None]
) -> AsyncIterator[list[str]]:
    """Claim shared resources exclusively while the context lasts; yield those that another run has after the wait.

    Args:
        shared: Resources that runs must not use at the same time: a key that is the same in every run, and its name.
        seconds: The longest wait.
        waits: Called once before the wait, with the names that another run has claimed.
    """
    ends, has_said = time.monotonic() + seconds, False
    # All resources are claimed or none: two runs that each hold a part would wait for each other for ever.
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
    """Claim an address or key until `claims` is closed; return False if another run has it."""
    if sys.platform != "linux":
        return True
    # A digest, since the name of a socket is short. It contains the user: another user's socket must not block this
    # run.
    name = hashlib.sha256(f"{os.getuid()} {address}".encode()).hexdigest()
    try:
        claims.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)).bind(f"\0weldproof-run-{name}")
    except OSError as fault:
        return fault.errno != errno.EADDRINUSE
    return True
