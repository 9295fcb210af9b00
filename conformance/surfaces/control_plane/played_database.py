"""Played PostgreSQL server: it answers no connection, and shows whether a program asks for one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

# The first eight bytes of a connection, without its length: a version 3 start, or a request for TLS or GSSAPI.
_PROTOCOL_3: Final = 3
_REQUESTS: Final = frozenset({80877103, 80877104})
_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class PlayedDatabase:
    """A running server.

    Attributes:
        dsn: Its DSN.
        connection: Set as soon as a client speaks PostgreSQL to it.
    """

    dsn: str
    connection: asyncio.Event = field(default_factory=asyncio.Event)


def speaks_postgresql(head: bytes) -> bool:
    """Return whether the first eight bytes of a connection are a PostgreSQL client's."""
    length, code = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:8], "big")
    # A port scanner or an HTTP client must not count as a database client.
    return len(head) >= 8 and length >= 8 and (code >> 16 == _PROTOCOL_3 or code in _REQUESTS)


@asynccontextmanager
async def played_database() -> AsyncIterator[PlayedDatabase]:
    """Listen at a port of this machine until the context is left; each connection is closed after its first bytes."""

    async def handle_connection(stream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(_SECONDS):
                if speaks_postgresql(await stream.readexactly(8)):
                    database.connection.set()
        writer.close()

    server = await asyncio.start_server(handle_connection, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    database = PlayedDatabase(f"postgresql://weldproof:weldproof@127.0.0.1:{port}/weldproof")
    try:
        yield database
    finally:
        server.close()
