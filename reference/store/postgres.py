"""PostgreSQL through SQLAlchemy and psycopg. A single statement is a transaction; `change_all` groups several."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import Index, MetaData, Select, Update, column, func, select, table, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.base import Executable

from reference.store.database import Change, DatabaseUnavailable, DuplicateKey, Row, RowNotFound
from reference.store.heartbeat import Heartbeat
from reference.store.statement_timeout import PREPARING_SECONDS, STATEMENT_SECONDS, limit_time

# Number of the advisory lock under which one worker at a time creates tables. PostgreSQL's "if not exists" does not
# protect against another session that creates the same table at that moment.
_CREATION_LOCK_ID = 0x7765_6C64
# "If not exists" also locks the table of every existing index, so a worker that starts and a worker that writes to
# several tables could wait for each other. Therefore the names of what exists are read first.
_RELATIONS = table("pg_class", column("relname"), column("oid"), schema="pg_catalog")
_EXISTING_NAMES = select(_RELATIONS.c.relname).where(func.pg_table_is_visible(_RELATIONS.c.oid))


# The server ends statements that the client has given up. Otherwise they would hold locks, or be carried out much
# later. Each limit is a multiple of the time that a statement may take. The lock limit is below it, so that a locked
# row is reported as such.
_LIMITS = {"statement_timeout": 1.0, "lock_timeout": 0.9, "idle_in_transaction_session_timeout": 2.0}
_WITHOUT_LIMIT = (text("SET LOCAL statement_timeout = 0"), text("SET LOCAL lock_timeout = 0"))


class PostgresDatabase:
    """A pool of connections to one PostgreSQL database."""

    def __init__(self, url: URL, seconds: float = STATEMENT_SECONDS) -> None:
        """Take the address of the database, and how long a statement may take; nothing is connected yet."""
        self._seconds = seconds
        connect_arguments = {"client_encoding": "utf8", **_limits(url, seconds)}
        self._heartbeat = Heartbeat(url, connect_arguments)
        # In autocommit a single statement costs one round trip instead of three. Databases of a cluster with the locale
        # C have no encoding, and would return text as bytes if the client did not name one.
        self._engine = create_async_engine(
            url.set(drivername="postgresql+psycopg"),
            pool_size=8,
            max_overflow=8,
            isolation_level="AUTOCOMMIT",
            pool_timeout=seconds,
            connect_args=connect_arguments,
            execution_options={"preserve_rowcount": True},
        )

    async def rows(self, statement: Executable, /, **values: Any) -> Sequence[Row]:
        """Return the rows of a query."""

        async def fetch() -> Sequence[Row]:
            async with self._connect() as connection:
                return (await connection.execute(statement, values)).all()

        return await self._heartbeat.limit(fetch(), self._seconds)

    async def change(self, statement: Executable, /, **values: Any) -> int:
        """Carry out one statement and return how many rows it changed."""

        async def write() -> int:
            async with self._connect() as connection:
                return int((await connection.execute(statement, values)).rowcount)

        return await self._heartbeat.limit(write(), self._seconds)

    async def change_all(self, *changes: Change) -> Sequence[int]:
        """Carry out several statements in one transaction and return how many rows each changed."""

        async def write() -> list[int]:
            counts = []
            async with self._transaction() as connection:
                for change in changes:
                    result = await connection.execute(change.statement, dict(change.values))
                    counts.append(int(result.rowcount))
                    if change.is_needed and not counts[-1]:
                        raise RowNotFound
            return counts

        return await self._heartbeat.limit(write(), self._seconds)

    async def take(self, query: Select[Any], change: Update, /, **values: Any) -> Sequence[Row]:
        """Return the rows of a query, and carry out a change for each row in the same transaction."""

        async def write() -> Sequence[Row]:
            async with self._transaction() as connection:
                rows: Sequence[Row] = (await connection.execute(query, values)).all()
                if rows:
                    await connection.execute(change, [{**values, "row_key": row[0]} for row in rows])
                return rows

        return await self._heartbeat.limit(write(), self._seconds)

    async def create(self, tables: MetaData) -> None:
        """Create the missing tables and indexes, one worker at a time. Existing ones are not touched."""
        await limit_time(self._create(tables), PREPARING_SECONDS)

    async def _create(self, tables: MetaData) -> None:
        async with self._transaction() as connection:
            for setting in _WITHOUT_LIMIT:
                await connection.execute(setting)
            await connection.execute(select(func.pg_advisory_xact_lock(_CREATION_LOCK_ID)))
            existing = set((await connection.execute(_EXISTING_NAMES)).scalars())
            for new_table in tables.sorted_tables:
                if new_table.name not in existing:
                    await connection.execute(CreateTable(new_table))
                for index in new_table.indexes:
                    # The condition of a partial index is copied from the SQLite option just before its creation.
                    if index.name not in existing:
                        await connection.execute(CreateIndex(_partial(index)))

    async def close(self) -> None:
        """Close the pool."""
        await self._heartbeat.close()
        await self._engine.dispose()

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[AsyncConnection]:
        try:
            async with self._engine.connect() as connection:
                yield connection
        except IntegrityError as fault:
            raise DuplicateKey from fault
        except (OSError, SQLAlchemyError) as fault:
            raise DatabaseUnavailable(type(fault).__name__) from fault

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncConnection]:
        async with self._connect() as connection:
            await connection.execution_options(isolation_level="READ COMMITTED")
            async with connection.begin():
                yield connection


def _limits(url: URL, seconds: float) -> dict[str, str | int]:
    """Return the limits of a session. The parameters of the address take precedence."""
    limits: dict[str, str | int] = {
        "connect_timeout": max(2, int(seconds)),  # libpq treats 1 as 2
        "tcp_user_timeout": int(seconds * 1000),
        "options": " ".join(f"-c {name}={int(seconds * share * 1000)}" for name, share in _LIMITS.items()),
    }
    return {name: value for name, value in limits.items() if name not in url.query}


def _partial(index: Index) -> Index:
    """Return an index with the condition that the tables declare for SQLite."""
    # The tables declare it for SQLite only: declaring it for PostgreSQL would load that dialect into every process.
    condition = index.dialect_options["sqlite"]["where"]
    if condition is not None:
        index.dialect_kwargs["postgresql_where"] = condition
    return index
