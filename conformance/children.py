"""Ending what the suite started as a child process."""

from __future__ import annotations

import asyncio
import contextlib
import signal


async def ended(process: asyncio.subprocess.Process, seconds: float) -> None:
    """Ask a child process to end, and kill it when it has not ended after some seconds."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), seconds)
    except TimeoutError:
        process.kill()
        await process.wait()
