"""Opens the database of an address: SQLite in the data directory, or PostgreSQL."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.engine import make_url

from reference.store.database import Database
from reference.store.sqlite import SqliteDatabase
from reference.store.statement_timeout import STATEMENT_SECONDS


class UnsupportedDatabase(ValueError):
    """The address names a kind of database that is not supported."""


def open_database(dsn: str, seconds: float = STATEMENT_SECONDS) -> Database:
    """Return the database of an address. It is connected at its first use.

    Args:
        dsn: A path-like SQLite address (`sqlite:///…`) or `postgresql://…`.
        seconds: How long a statement may take.

    Raises:
        UnsupportedDatabase: The address has another scheme, or names no file.
    """
    url = make_url(dsn)
    if url.get_backend_name() == "postgresql":
        # Imported here, because it loads half of SQLAlchemy, which SQLite does not need.
        from reference.store.postgres import PostgresDatabase  # noqa: PLC0415 - see above

        return PostgresDatabase(url, seconds)
    if url.get_backend_name() != "sqlite":
        raise UnsupportedDatabase(f"{url.get_backend_name()} is not supported; use postgresql:// or leave it unset")
    if not url.database:
        raise UnsupportedDatabase("a SQLite address names a file: sqlite:///path")
    return SqliteDatabase(url.database, seconds)


def sqlite_dsn(path: Path) -> str:
    """Return the address of a SQLite file."""
    return f"sqlite:///{path}"
