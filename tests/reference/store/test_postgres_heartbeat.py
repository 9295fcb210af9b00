"""A PostgreSQL that does not answer at all: calls do not each wait for their limit, and recover without a restart."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest
from sqlalchemy import make_url, select, text

from reference.store.database import DatabaseUnavailable
from reference.store.database_url import open_database

# Far above what the heartbeat takes, and far below the limit of a statement here.
SOON_SECONDS = 20.0
LIMIT_SECONDS = 90.0
CALLS = 12
ALIVE = select(1)


class Relay:
    """A connection to a server through which nothing passes while it is stopped, as behind a broken switch."""

    def __init__(self, host: str, port: int) -> None:
        """Take the server: an address, or the folder of its socket."""
        self._host, self._port = host, port
        self.flowing = asyncio.Event()
        self.flowing.set()

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[int]:
        """Serve until the block is left; yield the port."""
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            self.flowing.set()
            server.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.flowing.wait()
        if self._host.startswith("/"):
            far_reader, far_writer = await asyncio.open_unix_connection(f"{self._host}/.s.PGSQL.{self._port}")
        else:
            far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
        await asyncio.gather(self._pass_on(reader, far_writer), self._pass_on(far_reader, writer))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                await self.flowing.wait()
                writer.write(data)
        except ConnectionError:
            pass
        finally:
            writer.close()


@pytest.fixture
async def relay(postgres_database: str) -> AsyncIterator[tuple[Relay, str]]:
    """A relay to a database, and the address through it."""
    url = make_url(postgres_database)
    host = str(url.query.get("host") or url.host or "127.0.0.1")
    relay = Relay(host, int(url.port or 5432))
    async with relay.serve() as port:
        through = url.set(host="127.0.0.1", port=port, query={})
        yield relay, through.render_as_string(hide_password=False)


async def test_calls_fail_soon_and_recover(relay: tuple[Relay, str]) -> None:
    """The calls that wait fail together, later ones fail at once, and all work again when the database answers."""
    stopping, address = relay
    database = open_database(address, LIMIT_SECONDS)
    try:
        assert await database.rows(ALIVE)
        stopping.flowing.clear()
        began_at = time.monotonic()
        faults = await asyncio.gather(*(database.rows(ALIVE) for _ in range(CALLS)), return_exceptions=True)
        assert [type(fault) for fault in faults] == [DatabaseUnavailable] * CALLS
        for _ in range(CALLS):
            with pytest.raises(DatabaseUnavailable):
                await database.rows(ALIVE)
        assert time.monotonic() - began_at < SOON_SECONDS
        stopping.flowing.set()
        assert await await_rows(database.rows)
    finally:
        stopping.flowing.set()
        await database.close()


async def await_rows(rows: object) -> bool:
    """Ask until there is an answer, and return whether it came."""
    deadline = time.monotonic() + SOON_SECONDS * 3
    while time.monotonic() < deadline:
        try:
            return bool(await rows(ALIVE))  # type: ignore[operator]
        except DatabaseUnavailable:
            await asyncio.sleep(0.1)
    return False


async def test_a_slow_statement_is_not_an_outage(postgres_database: str) -> None:
    """It ends, and so do the calls beside it, because the database answers the heartbeat."""
    database = open_database(postgres_database, LIMIT_SECONDS)
    try:
        slow = asyncio.create_task(database.rows(text("SELECT 1 FROM pg_sleep(3)")))
        await asyncio.sleep(2)
        assert await database.rows(ALIVE)
        assert len(await slow) == 1
    finally:
        await database.close()


async def test_a_lock_is_reported_after_its_limit(postgres_database: str) -> None:
    """A locked row is no outage either: the statement fails after its own limit, and others go on."""
    with psycopg.connect(postgres_database) as connection:
        connection.execute("CREATE TABLE things (key integer)")
        connection.commit()
        connection.execute("LOCK TABLE things")
        database = open_database(postgres_database, 2.0)
        try:
            with pytest.raises(DatabaseUnavailable):
                await database.rows(text("SELECT key FROM things"))
            assert await database.rows(ALIVE)
        finally:
            await database.close()
