"""One database by its address: SQLite in the data directory, or PostgreSQL, with no other change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool


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
    """Make every commit survive a crash: WAL, an fsync each commit, a wait for other processes' writes."""
    cursor = connection.cursor()
    for pragma in ("busy_timeout=30000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def sqlite_dsn(path: Path) -> str:
    """Return the address of a SQLite file."""
    return f"sqlite:///{path}"
