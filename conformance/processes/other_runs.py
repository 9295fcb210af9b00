"""Whether another run of the suite, on this machine and of this user, is under way against the same addresses.

Two runs on one stack disturb each other: both move its clock and its chains, exhaust its limits and read its counts.
Each run binds a name an address in Linux's abstract namespace of sockets, which leaves nothing behind and which the
system takes back when the process ends, however it ends. Elsewhere nothing is claimed and nobody is noticed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def claimed(addresses: Iterable[str]) -> Iterator[list[str]]:
    """Claim addresses for as long as the context lasts, and yield those that another run has claimed.

    Args:
        addresses: Of what a run judges and disturbs.
    """
    with ExitStack() as held:
        yield [one for one in sorted(set(addresses)) if not _claim(one.rstrip("/"), held)]


def _claim(address: str, held: ExitStack) -> bool:
    """Return whether an address is nobody else's; its name is kept until `held` is closed."""
    if sys.platform != "linux":
        return True
    name = hashlib.sha256(f"{os.getuid()} {address}".encode()).hexdigest()
    try:
        held.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)).bind(f"\0weldproof-run-{name}")
    except OSError as fault:
        return fault.errno != errno.EADDRINUSE
    return True
