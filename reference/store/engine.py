"""One database by its address: SQLite in the data directory, or PostgreSQL, with no other change."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from pathlib import Path
from typing import Any

import aiosqlite
from sqlalchemy import event
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

_BUSY_SECONDS = 30
_RETRY_SECONDS = 0.02


class UnsupportedDatabase(ValueError):
    """The address names a database we do not speak."""


def open_engine(dsn: str) -> AsyncEngine:
    """Return an engine for `dsn`.

    Args:
        dsn: A path-like SQLite address (`sqlite:///…`) or `postgresql://…`.

    Raises:
        UnsupportedDatabase: Another scheme.
    """
    url = make_url(dsn)
    if url.get_backend_name() == "postgresql":
        return create_async_engine(url.set(drivername="postgresql+psycopg"), pool_size=8, max_overflow=8)
    if url.get_backend_name() != "sqlite":
        raise UnsupportedDatabase(f"{url.get_backend_name()} is not supported; use postgresql:// or leave it unset")
    # One connection: SQLite has one writer, and readers of a payment ledger want its newest state.
    engine = create_async_engine(
        url.set(drivername="sqlite+aiosqlite"), poolclass=AsyncAdaptedQueuePool, pool_size=1, max_overflow=0
    )
    event.listen(engine.sync_engine, "connect", _durable)
    return engine


def _durable(connection: Any, _record: object) -> None:
    """Prepare each new connection of the driver."""
    connection.run_async(_prepare)


async def _prepare(connection: aiosqlite.Connection) -> None:
    """Make every commit survive a crash: WAL, an fsync each commit, a wait for other processes' writes.

    The change to WAL needs the file alone, and SQLite answers "locked" at once when two connections try together:
    its busy timeout does not cover that. So the change is tried again for as long as a write would have waited.
    """
    await connection.execute(f"PRAGMA busy_timeout={_BUSY_SECONDS * 1000}")
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            await connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        await asyncio.sleep(_RETRY_SECONDS)
    await connection.execute("PRAGMA synchronous=FULL")
    await connection.execute("PRAGMA foreign_keys=ON")


def sqlite_dsn(path: Path) -> str:
    """Return the address of a SQLite file."""
    return f"sqlite:///{path}"
