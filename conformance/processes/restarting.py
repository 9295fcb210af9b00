"""Restart of a server under test by the operator's command."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Sequence
from typing import IO, Final

from conformance.http.client import Client, Names, Unreachable
from conformance.outcome import Inconclusive
from conformance.processes.children import Child, end_child
from conformance.processes.launching import copy_operator_environment
from conformance.text.files import LONGEST_WORDS

RESTART_SECONDS: Final = 100.0
_END_SECONDS = 5.0
_POLL_SECONDS = 0.1
_QUOTED_BYTES = 400


async def restart(words: Sequence[str], url: str, client: Client, names: Names) -> None:
    """Run a command that restarts a server, and wait until each of its workers answers; they outlive the run.

    Args:
        words: The command, word by word, run in the current folder.
        url: A public address of the server.
        client: The client that asks it.
        names: The redaction table for the output of the command.

    Raises:
        Inconclusive: The command did not end with 0 in time, or the server does not answer afterwards.
    """
    try:
        async with asyncio.timeout(RESTART_SECONDS):
            with tempfile.TemporaryFile() as said:
                await _run_command(words, said, names)
            direct_client = client.without_workers()
            for one in client.workers.list_urls(url) or [url]:
                while not await _answers(one, direct_client):  # noqa: ASYNC110 - no event is set when it answers
                    await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError as fault:
        raise Inconclusive(f"after {RESTART_SECONDS:.0f} s the restarted server does not answer at {url}") from fault


async def _run_command(words: Sequence[str], output: IO[bytes], names: Names) -> None:
    """Run the command to its end."""
    try:
        # Without the mark of the run, so that the watchdog does not end the server. An interrupted run does not end
        # the command either: it may have stopped the server already, and not yet started it again.
        process = Child(words, copy_operator_environment(), output)
    except OSError as fault:
        raise Inconclusive(f"the restart command cannot be run: {fault}") from fault
    try:
        async with asyncio.timeout(RESTART_SECONDS - _END_SECONDS):
            code = await process.wait()
    except TimeoutError:
        await end_child(process, _END_SECONDS)
        raise
    if code != 0:
        output.seek(max(0, output.seek(0, os.SEEK_END) - LONGEST_WORDS))
        text = " ".join(output.read(LONGEST_WORDS).decode("utf-8", "replace").split())
        raise Inconclusive(f"the restart command ended with {code}: {names.redact(text)[-_QUOTED_BYTES:]}")


async def _answers(url: str, client: Client) -> bool:
    try:
        await client.call("GET", url, retry=True)
    except Unreachable:
        return False
    return True
