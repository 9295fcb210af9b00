"""The special properties of the file: durable commits shared by waiting callers, and reads that never wait."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, bindparam, insert, select, text

from reference.store import sqlite
from reference.store.database import DatabaseUnavailable
from reference.store.sqlite import SqliteDatabase

THINGS = Table("things", MetaData(), Column("key", Integer, primary_key=True))
ADD = insert(THINGS).values(key=bindparam("thing"))
ALL = select(THINGS.c.key)


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A file's path."""
    return tmp_path / "rail.sqlite3"


@pytest.fixture
async def database_of_things(path: Path) -> AsyncIterator[SqliteDatabase]:
    """A file with a table of things."""
    database = SqliteDatabase(str(path))
    await database.create(THINGS.metadata)
    yield database
    await database.close()


def test_the_writer_s_commits_are_durable(path: Path) -> None:
    """A commit is on the disk when it returns: a write-ahead log, synced each time (2 is FULL)."""
    writer = sqlite._open(str(path), time.monotonic() + 60)
    assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert writer.execute("PRAGMA synchronous").fetchone() == (2,)
    writer.close()


async def test_those_who_wait_share_a_commit(database_of_things: SqliteDatabase, path: Path) -> None:
    """Fifty changes asked for in one turn of the loop are one transaction, seen from outside all at once."""
    beside = sqlite3.connect(path)
    versions = set()

    async def add(key: int) -> None:
        await database_of_things.change(ADD, thing=key)
        versions.add(beside.execute("PRAGMA data_version").fetchone()[0])

    beside.execute("PRAGMA data_version").fetchone()
    await asyncio.gather(*(add(key) for key in range(50)))
    beside.close()
    assert len(versions) == 1


async def test_reads_do_not_wait_for_a_writer(database_of_things: SqliteDatabase, path: Path) -> None:
    """While another process holds the file for writing, what is committed is read."""
    await database_of_things.change(ADD, thing=1)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO things VALUES (2)")
    assert await database_of_things.rows(ALL) == [(1,)]
    connection.execute("COMMIT")
    assert await database_of_things.rows(ALL) == [(1,), (2,)]
    connection.close()


async def test_a_change_waits_for_another_writer(database_of_things: SqliteDatabase, path: Path) -> None:
    """Another process writes first; the loop goes on meanwhile."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    tasks = asyncio.create_task(database_of_things.change(ADD, thing=1))
    await asyncio.sleep(0.1)
    assert not tasks.done()
    connection.execute("COMMIT")
    assert await tasks == 1
    connection.close()


async def test_a_value_that_fits_nowhere_is_its_sender_s_fault_alone(database_of_things: SqliteDatabase) -> None:
    """An integer beyond 64 bits is refused; the change beside it is made."""
    outcomes = await asyncio.gather(
        database_of_things.change(ADD, thing=2**70), database_of_things.change(ADD, thing=5), return_exceptions=True
    )
    assert [type(one) for one in outcomes] == [OverflowError, int]
    assert await database_of_things.rows(ALL) == [(5,)]


async def test_a_file_that_cannot_be_opened_is_said_to_be_away(tmp_path: Path) -> None:
    """The caller gets an error; nothing hangs, and closing works."""
    nowhere = SqliteDatabase(str(tmp_path / "absent" / "rail.sqlite3"))
    with pytest.raises(DatabaseUnavailable):
        await nowhere.rows(select(text("1")))
    with pytest.raises(DatabaseUnavailable):
        await nowhere.change(ADD, thing=1)
    await nowhere.close()


async def test_what_was_asked_for_is_done_before_closing(path: Path) -> None:
    """A change in flight is there when the file is opened again."""
    first = SqliteDatabase(str(path))
    await first.create(THINGS.metadata)
    change_task = asyncio.create_task(first.change(ADD, thing=1))
    await asyncio.sleep(0)
    await first.close()
    assert await change_task == 1
    second = SqliteDatabase(str(path))
    assert await second.rows(ALL) == [(1,)]
    await second.close()


async def test_what_is_asked_for_while_it_closes_is_done_too(path: Path) -> None:
    """A task that outlives its service does not delay the end, and its change is made."""
    first = SqliteDatabase(str(path))
    await first.create(THINGS.metadata)
    lock = sqlite3.connect(path, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")  # so that the writer is not through with the first when the last comes
    early = asyncio.create_task(first.change(ADD, thing=1))
    await asyncio.sleep(0)
    close_task = asyncio.create_task(first.close())
    await asyncio.sleep(0)
    late = [asyncio.create_task(first.change(ADD, thing=number)) for number in (2, 3)]
    await asyncio.sleep(0.1)
    lock.execute("ROLLBACK")
    lock.close()
    async with asyncio.timeout(60):
        assert await asyncio.gather(close_task, early, *late) == [None, 1, 1, 1]
    second = SqliteDatabase(str(path))
    assert await second.rows(ALL) == [(1,), (2,), (3,)]
    await second.close()


async def test_a_file_that_is_made_is_its_owners_alone(path: Path, database_of_things: SqliteDatabase) -> None:
    """No other user can read a new file, its write-ahead log or that log's index."""
    await database_of_things.change(ADD, thing=1)
    files = sorted(path.parent.glob(f"{path.name}*"))
    assert [one.name.removeprefix(path.name) for one in files] == ["", "-shm", "-wal"]
    assert {stat.S_IMODE(one.stat().st_mode) for one in files} == {0o600}


async def test_a_link_to_nowhere_yet_is_followed(tmp_path: Path) -> None:
    """The file that a link names is made its owner's alone, as one at the path itself is."""
    link = tmp_path / "rail.sqlite3"
    link.symlink_to(tmp_path / "there.sqlite3")
    database = SqliteDatabase(str(link))
    await database.create(THINGS.metadata)
    await database.close()
    assert stat.S_IMODE((tmp_path / "there.sqlite3").stat().st_mode) == 0o600


async def test_the_mode_of_a_file_that_is_there_stays(path: Path) -> None:
    """An operator who lets others read the file goes on doing so."""
    path.touch()
    path.chmod(0o640)
    database = SqliteDatabase(str(path))
    await database.create(THINGS.metadata)
    assert {stat.S_IMODE(one.stat().st_mode) for one in path.parent.glob(f"{path.name}*")} == {0o640}
    await database.close()
