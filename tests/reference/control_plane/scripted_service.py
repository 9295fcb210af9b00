"""Services that answer a health question as a script says, and count what they are asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

Writer: TypeAlias = asyncio.StreamWriter
Script: TypeAlias = Callable[[Writer], Awaitable[None]]


class Service:
    """One service on a port of its own."""

    def __init__(self, script: Script) -> None:
        """Take what it does with a connection once it has read a request."""
        self.script = script
        self.heads: list[str] = []
        self.url = ""
        self.open: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        """Answer one connection."""
        task = asyncio.current_task()
        assert task is not None
        self.open.add(task)
        try:
            self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            await self.script(writer)
            writer.close()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self.open.discard(task)


def says(text: str) -> Script:
    """Return a script that sends a text and ends the connection."""

    async def script(writer: Writer) -> None:
        writer.write(text.encode())
        await writer.drain()

    return script


def answers(status: int, *fields: str, body: str = "ok") -> Script:
    """Return a script that answers with a status."""
    head = "".join(f"{one}\r\n" for one in (f"HTTP/1.1 {status} X", *fields, f"Content-Length: {len(body)}"))
    return says(f"{head}\r\n{body}")


async def hangs(_: Writer) -> None:
    """A script that never answers."""
    await asyncio.Event().wait()


@asynccontextmanager
async def service(script: Script) -> AsyncIterator[Service]:
    """Run a service; while it runs, its script may be changed."""
    one = Service(script)
    server = await asyncio.start_server(one.serve, "127.0.0.1", 0, backlog=512)
    one.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield one
    finally:
        server.close()
        for task in list(one.open):
            task.cancel()
        await asyncio.gather(*one.open, return_exceptions=True)
