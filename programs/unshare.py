"""Starting a process in namespaces of its own, by unshare of util-linux."""

from __future__ import annotations

import asyncio
import shutil

_SECONDS = 60.0


async def command_prefix(*namespaces: str) -> tuple[str, ...]:
    """Return the words that go before a program to start it apart; none where this machine does not allow it.

    Args:
        namespaces: Options of unshare, such as `--net`.
    """
    program = shutil.which("unshare")
    if program is None:
        return ()
    words = (program, "--map-root-user", *namespaces, "--")
    nothing = asyncio.subprocess.DEVNULL
    try:
        trial = await asyncio.create_subprocess_exec(*words, "true", stdin=nothing, stdout=nothing, stderr=nothing)
        async with asyncio.timeout(_SECONDS):
            is_allowed = await trial.wait() == 0
    except (OSError, TimeoutError):
        return ()
    return words if is_allowed else ()
