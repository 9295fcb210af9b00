"""The runner's side of the generating process: start it, send its requests to the target, and yield its findings."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from conformance import extras
from conformance.fuzz.process_messages import (
    LONGEST_LINE,
    End,
    Finding,
    Order,
    Reply,
    Request,
    Skipped,
    line_of,
    message_of,
)
from conformance.http.client import Answer, Unreachable
from conformance.processes.process_cleanup import mark_environment

Send: TypeAlias = Callable[[Request], Awaitable[Answer]]
_END_SECONDS = 60.0
_PASSED_VARIABLES = frozenset({"PATH", "HOME", "TMPDIR", "VIRTUAL_ENV", "LANG"})


class GeneratingFault(Exception):
    """The generating process broke, which is a fault of the suite; the text is the end of its error output."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One generated request, its answer, and how the answer breaks the document (None: it does not)."""

    request: Request
    answer: Answer
    fault: str | None


async def drive(order: Order, send: Send) -> AsyncGenerator[Outcome | Skipped | End, None]:
    """Run one order in a separate process and yield its outcomes; the last one is `End`.

    The process ends when the generator is closed, so cancelling the check ends it at once.

    Raises:
        GeneratingFault: The process broke or hung.
        MissingExtra: The packages that generate requests are not installed.
    """
    extras.need("fuzz")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "conformance.fuzz",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=LONGEST_LINE,
        # Signals of the terminal end the runner, which then ends this process.
        start_new_session=True,
        env=_environment(),
    )
    error_output: asyncio.Task[bytes] | None = None
    try:
        if process.stderr is None or process.stdout is None or process.stdin is None:
            raise GeneratingFault("the generating process has no pipes")
        error_output = asyncio.create_task(process.stderr.read())
        async for message in _conversation(process.stdout, process.stdin, order, send):
            yield message
    # The error output is read to its end, so the process must be dead first.
    except (ConnectionError, EOFError, ValueError) as fault:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        words = b"" if error_output is None else await error_output
        raise GeneratingFault(f"{fault}: {words.decode('utf-8', 'replace').strip()[-2000:]}") from fault
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.wait()
        if error_output is not None:
            error_output.cancel()


def _environment() -> dict[str, str]:
    """Return the environment of the generating process: no secret of the run, and fixed sources of randomness."""
    variables = {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED_VARIABLES or name.startswith(("PYTHON", "LC_"))
    }
    # The hash seed and a database of earlier examples would change which requests are drawn for a
    # seed.
    return {**variables, **mark_environment(), "PYTHONHASHSEED": "0", "HYPOTHESIS_STORAGE_DIRECTORY": os.devnull}


async def _conversation(
    source: asyncio.StreamReader, sink: asyncio.StreamWriter, order: Order, send: Send
) -> AsyncGenerator[Outcome | Skipped | End, None]:
    sink.write(line_of(order))
    await sink.drain()
    # The process computes without a pause, so silence long after its time is up means that it
    # hangs.
    patience = order.seconds + _END_SECONDS
    exchange: tuple[Request, Answer | None] | None = None
    while True:
        try:
            async with asyncio.timeout(patience):
                line = await source.readline()
        except TimeoutError as fault:
            raise ValueError(f"nothing was said for {patience:g} s") from fault
        if not line:
            raise EOFError("the generating process ended early")
        match message_of(line):
            case Request() as request:
                exchange = (request, await _answer(request, send))
                sink.write(line_of(_reply(exchange[1])))
                await sink.drain()
            case Finding(fault=words) if exchange is not None:
                if exchange[1] is not None:
                    yield Outcome(exchange[0], exchange[1], words)
            case Skipped() as skipped:
                yield skipped
            case End() as end:
                yield end
                return
            case _:
                raise ValueError(f"out of turn: {line[:200]!r}")


async def _answer(request: Request, send: Send) -> Answer | None:
    try:
        return await send(request)
    except Unreachable:
        return None  # the client has written it into the event log


def _reply(answer: Answer | None) -> Reply:
    if answer is None:
        return Reply(0)
    return Reply(answer.status, list(answer.headers.items()), base64.b64encode(answer.body).decode())
