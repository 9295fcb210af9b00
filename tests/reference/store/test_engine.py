"""A database opens by its address, also while others write to it."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from reference.store.engine import UnsupportedDatabase, open_engine, sqlite_dsn


async def test_first_writer_is_waited_for(tmp_path: Path) -> None:
    """A worker that finds the file while another writes its first tables waits; SQLite itself would refuse at once."""
    path = tmp_path / "rail.sqlite3"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("CREATE TABLE first (id INTEGER)")
    engine = open_engine(sqlite_dsn(path))
    try:
        async with asyncio.TaskGroup() as group:
            opening = group.create_task(_tables(engine))
            await asyncio.sleep(0.3)
            assert not opening.done()
            writer.execute("COMMIT")
        assert opening.result() == ["first"]
    finally:
        writer.close()
        await engine.dispose()


async def test_commits_are_durable(tmp_path: Path) -> None:
    """A commit is on the disk when it returns: a write-ahead log, synced each time (2 is FULL)."""
    engine = open_engine(sqlite_dsn(tmp_path / "rail.sqlite3"))
    try:
        async with engine.connect() as connection:
            assert await connection.scalar(text("PRAGMA journal_mode")) == "wal"
            assert await connection.scalar(text("PRAGMA synchronous")) == 2
    finally:
        await engine.dispose()


def test_other_databases_are_refused_by_name() -> None:
    """An address of a database we do not speak says so before anything is opened."""
    with pytest.raises(UnsupportedDatabase, match="mysql"):
        open_engine("mysql://localhost/rail")


async def _tables(engine: AsyncEngine) -> list[str]:
    async with engine.connect() as connection:
        return list(await connection.scalars(text("SELECT name FROM sqlite_master WHERE type = 'table'")))
