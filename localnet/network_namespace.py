"""Starting a process where it can reach no network: in a network namespace of its own, by unshare of util-linux.

The process answers on listening sockets that it inherits, because those stay in the namespace they were made in; what
it opens itself finds no interface but a loopback that is down.
"""

from __future__ import annotations

from pathlib import Path

from programs import unshare


async def command_prefix() -> tuple[str, ...]:
    """Return the words that go before a program to start it apart; none where this machine does not allow it."""
    return await unshare.command_prefix("--net")


def is_apart(pid: int) -> bool:
    """Return whether a process is in another network namespace than this one."""
    own, its = Path("/proc/self/ns/net"), Path(f"/proc/{pid}/ns/net")
    try:
        return own.readlink() != its.readlink()
    except OSError:
        return False
