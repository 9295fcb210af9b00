"""Starting a server under test again by the operator's own command."""

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
    """Run a command that starts a server again, and wait until the server answers; it lives on after the run.

    Args:
        words: The command, word by word, called from the folder that the run is called from.
        url: An address of the server that anybody may read.
        client: Asks it.
        names: Keep secrets out of what the command says.

    Raises:
        Inconclusive: The command did not end with 0 in time, or the server does not answer afterwards.
    """
    try:
        async with asyncio.timeout(RESTART_SECONDS):
            with tempfile.TemporaryFile() as said:
                await _run_command(words, said, names)
            while not await _answers(url, client):  # noqa: ASYNC110 - nobody sets an event when it answers
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError as fault:
        raise Inconclusive(f"after {RESTART_SECONDS:.0f} s the restarted server does not answer at {url}") from fault


async def _run_command(words: Sequence[str], output: IO[bytes], names: Names) -> None:
    """Run the command to its end.

    It and what it starts are the operator's, and bear no mark of the run: the server lives on after it. Nor does an
    interrupted run end the command, which may have ended the server already and not yet started it again.
    """
    try:
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
