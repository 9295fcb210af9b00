"""A database opens by its address, also while others write to it."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from sqlalchemy import Column, Integer, MetaData, Table, insert, select

from reference.store.checkout_tables import METADATA
from reference.store.database_url import UnsupportedDatabase, open_database, sqlite_dsn

NUMBERS = Table("numbers", MetaData(), Column("number", Integer))


async def test_first_writer_is_waited_for(tmp_path: Path) -> None:
    """A worker that finds the file while another writes its first tables waits; SQLite itself would refuse at once."""
    path = tmp_path / "rail.sqlite3"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("CREATE TABLE numbers (number INTEGER)")
    writer.execute("INSERT INTO numbers VALUES (7)")
    database = open_database(sqlite_dsn(path))
    try:
        async with asyncio.TaskGroup() as group:
            opening = group.create_task(database.rows(select(NUMBERS.c.number)))
            await asyncio.sleep(0.3)
            assert not opening.done()
            writer.execute("COMMIT")
        assert opening.result() == [(7,)]
    finally:
        writer.close()
        await database.close()


@pytest.mark.parametrize("address", ["mysql://localhost/rail", "sqlite://"])
def test_other_databases_are_refused_by_name(address: str) -> None:
    """An address of a database we do not speak, or of no file, says so before anything is opened."""
    with pytest.raises(UnsupportedDatabase, match=address.partition(":")[0]):
        open_database(address)


@pytest.mark.postgres
async def test_a_worker_that_starts_meets_nobody_who_writes(postgres_database: str) -> None:
    """What is there already is not touched: a start neither waits for a transaction nor makes one wait for it."""
    database = open_database(postgres_database)
    try:
        await database.create(METADATA)
        with psycopg.connect(postgres_database) as writer:
            for name in METADATA.tables:
                writer.execute(SQL("DELETE FROM {}").format(Identifier(name)))
            async with asyncio.timeout(60):
                await asyncio.gather(*(database.create(METADATA) for _ in range(3)))
            writer.rollback()
    finally:
        await database.close()


async def test_both_databases_answer_alike(dsn: str) -> None:
    """Created twice, written to and read: the same statements, the same rows."""
    database = open_database(dsn)
    try:
        for _ in range(2):
            await database.create(NUMBERS.metadata)
        assert await database.change(insert(NUMBERS).values(number=3)) == 1
        assert [tuple(row) for row in await database.rows(select(NUMBERS.c.number))] == [(3,)]
    finally:
        await database.close()
