"""A database that is locked or does not answer: the caller gets an error in time, and nothing is done afterwards."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Column, Integer, MetaData, Table, bindparam, insert, make_url, select

from reference.store.database import Change, Database, DatabaseUnavailable
from reference.store.database_url import open_database
from tests.reference.stalling_relay import stalling_relay

SECONDS = 0.5
# Far from what a statement may take, and not so far from what it took before: half a minute, or for ever.
PATIENCE = 20
THINGS = Table("things", MetaData(), Column("key", Integer, primary_key=True))
ADD = insert(THINGS).values(key=bindparam("thing"))
ALL = select(THINGS.c.key).order_by(THINGS.c.key)

Lock = Callable[[], AbstractContextManager[None]]


@pytest.fixture
async def database_of_things(dsn: str) -> AsyncIterator[Database]:
    """A database with a table of things, whose statements may take half a second."""
    new_database = open_database(dsn, SECONDS)
    await new_database.create(THINGS.metadata)
    yield new_database
    await new_database.close()


@pytest.fixture
async def patient(dsn: str) -> AsyncIterator[Database]:
    """The same database for who has time."""
    new_database = open_database(dsn, PATIENCE)
    yield new_database
    await new_database.close()


@pytest.fixture
def lock(dsn: str) -> Lock:
    """Keeps everybody else from writing things."""

    @contextmanager
    def hold_lock() -> Iterator[None]:
        url = make_url(dsn)
        if url.get_backend_name() == "sqlite":
            other = sqlite3.connect(str(url.database), isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")
            other.close()
        else:
            with psycopg.connect(dsn) as connection, connection.transaction():
                connection.execute("LOCK TABLE things IN SHARE MODE")
                yield

    return hold_lock


async def test_a_locked_database_is_told_in_time(database_of_things: Database, patient: Database, lock: Lock) -> None:
    """Alone, together with others, in a transaction of several: an error while the lock is held, success after it."""
    with lock():
        async with asyncio.timeout(PATIENCE):
            outcomes = await asyncio.gather(
                *(database_of_things.change(ADD, thing=number) for number in range(5)),
                database_of_things.change_all(Change(ADD, {"thing": 8}), Change(ADD, {"thing": 9})),
                return_exceptions=True,
            )
    assert [type(one) for one in outcomes] == [DatabaseUnavailable] * 6
    assert await patient.change(ADD, thing=7) == 1
    assert (7,) in await patient.rows(ALL)  # of the others, whatever reached the server just before the lock was gone


async def test_a_short_lock_is_waited_for(database_of_things: Database, patient: Database, lock: Lock) -> None:
    """Who has patience is served when the lock is gone."""
    del database_of_things  # whose table it is
    with lock():
        tasks = asyncio.create_task(patient.change(ADD, thing=1))
        await asyncio.sleep(2 * SECONDS)
        assert not tasks.done()
    assert await tasks == 1
    assert await patient.rows(ALL) == [(1,)]


async def test_tables_are_made_however_long_another_worker_takes(
    dsn: str, database_of_things: Database, lock: Lock
) -> None:
    """Workers that start together make the tables one after another, and no client waits for an answer yet."""
    further = MetaData()
    Table("further", further, Column("key", Integer, primary_key=True))
    Table("things", further, Column("key", Integer, primary_key=True))
    if make_url(dsn).get_backend_name() == "sqlite":
        with lock():
            creation_task = asyncio.create_task(database_of_things.create(further))
            await asyncio.sleep(3 * SECONDS)
            assert not creation_task.done()
    else:
        with psycopg.connect(dsn) as other, other.transaction():
            other.execute("SELECT pg_advisory_xact_lock(%s)", [0x7765_6C64])
            creation_task = asyncio.create_task(database_of_things.create(further))
            await asyncio.sleep(3 * SECONDS)
            assert not creation_task.done()
    await creation_task


@pytest.mark.postgres
async def test_a_server_that_stands_still_is_told_in_time(postgres_database: str) -> None:
    """Nothing comes through, though every connection is open; more ask than there are connections. Then it goes on."""
    with (
        tempfile.TemporaryDirectory(prefix="weldproof-", dir="/tmp") as folder,
        stalling_relay(postgres_database, Path(folder)) as relay,
    ):
        database_of_things = open_database(relay.address, SECONDS)
        await database_of_things.create(THINGS.metadata)
        relay.flowing.clear()
        async with asyncio.timeout(PATIENCE):
            outcomes = await asyncio.gather(*(database_of_things.rows(ALL) for _ in range(40)), return_exceptions=True)
        assert [type(one) for one in outcomes] == [DatabaseUnavailable] * 40
        relay.flowing.set()
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    assert await database_of_things.rows(ALL) == []
                    break
                except DatabaseUnavailable:
                    await asyncio.sleep(0.1)
        await database_of_things.close()
