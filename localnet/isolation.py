"""Starting a process where it can reach no network: in a network namespace of its own, by unshare of util-linux.

The process answers on listening sockets that it inherits, because those stay in the namespace they were made in; what
it opens itself finds no interface but a loopback that is down.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

_WORDS = ("--map-root-user", "--net", "--")
_SECONDS = 60.0


async def words_before() -> tuple[str, ...]:
    """Return the words that go before a program to start it apart; none where this machine does not allow it."""
    program = shutil.which("unshare")
    if program is None:
        return ()
    words = (program, *_WORDS)
    nothing = asyncio.subprocess.DEVNULL
    try:
        trial = await asyncio.create_subprocess_exec(*words, "true", stdin=nothing, stdout=nothing, stderr=nothing)
        async with asyncio.timeout(_SECONDS):
            allowed = await trial.wait() == 0
    except (OSError, TimeoutError):
        return ()
    return words if allowed else ()


def is_apart(pid: int) -> bool:
    """Return whether a process is in another network namespace than this one."""
    own, its = Path("/proc/self/ns/net"), Path(f"/proc/{pid}/ns/net")
    try:
        return own.readlink() != its.readlink()
    except OSError:
        return False
