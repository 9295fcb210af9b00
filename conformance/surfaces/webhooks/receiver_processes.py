"""Receivers as child processes: our own `weldproof listen`, which is under test where the operator names none."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from conformance.outcome import Inconclusive
from conformance.processes.children import end_child

_VARIABLE = "WELDPROOF_LISTENER_SECRET"
_READY_SECONDS = 100.0
_END_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class RunningListener:
    """A running listener.

    Attributes:
        url: Its address.
        effects: URL that returns the number of effects of the event `{id}`.
        secret: The secret with which it verifies, made for this run.
    """

    url: str
    effects: str
    secret: str = field(repr=False)


@asynccontextmanager
async def own_listener(header: str, signed_string: str, tolerance: float) -> AsyncIterator[RunningListener]:
    """Start the suite's listener on a free port and yield it; end it on leaving.

    Raises:
        Inconclusive: It did not start.
    """
    words = ("conformance", "listen", "--json", "--port", "0", "--secret-env", _VARIABLE)
    terms = ("--header", header, "--signed-string", signed_string, "--tolerance", str(tolerance))
    async with started_receiver((*words, *terms), _VARIABLE) as started:
        yield replace(started, url=started.url + "/")


@asynccontextmanager
async def started_receiver(words: Sequence[str], variable: str) -> AsyncIterator[RunningListener]:
    """Start a receiver that prints its `url` and `effects` as JSON, and yield it; end it on leaving.

    Args:
        words: Its module and arguments.
        variable: Environment variable from which it reads its secret.

    Raises:
        Inconclusive: It did not start.
    """
    # With a prefix, because secrets of deployed services have one.
    secret = f"weldw_{secrets.token_urlsafe(32)}"
    # A separate process and the command line: the suite judges the listener exactly as users run
    # it.
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", *words),
        env={**os.environ, variable: secret},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None  # noqa: S101 - always piped above
    reading: asyncio.Task[None] | None = None
    try:
        ready = await _ready(process.stdout)
        reading = asyncio.create_task(_read_on(process.stdout))
        yield RunningListener(ready["url"], ready["effects"], secret)
    finally:
        await end_child(process, _END_SECONDS)
        if reading is not None:
            await reading


async def _ready(lines: asyncio.StreamReader) -> dict[str, str]:
    try:
        async with asyncio.timeout(_READY_SECONDS):
            ready: dict[str, str] = json.loads(await lines.readline())
    except (TimeoutError, ValueError) as fault:
        raise Inconclusive("our own listener did not start") from fault
    return ready


async def _read_on(lines: asyncio.StreamReader) -> None:
    """Read and discard the listener's output."""
    # A full pipe would block the listener in its next print.
    while await lines.read(65_536):
        continue
