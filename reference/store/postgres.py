"""PostgreSQL through psycopg. A single statement is a transaction; `change_all` groups several.

SQLAlchemy only builds the text of a statement. Its asynchronous engine switches greenlets at each call of the driver,
which costs more than the driver itself. psycopg sends the statements of a transaction together (pipeline mode), so a
transaction takes one round trip, or two if its commit depends on what the statements changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import psycopg
from psycopg.pq import PipelineStatus, TransactionStatus
from sqlalchemy import Index, MetaData, Select, Update, column, func, select, table
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.engine import URL
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import CompilerElement

from reference.store.database import Change, DatabaseUnavailable, DuplicateKey, Row, RowNotFound
from reference.store.postgres_heartbeat import Heartbeat
from reference.store.statement_timeout import PREPARING_SECONDS, STATEMENT_SECONDS, limit_time

POOL_SIZE: Final = 16
_DIALECT = PGDialect_psycopg()  # type: ignore[no-untyped-call] # SQLAlchemy gives it no types
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
_Connection: TypeAlias = psycopg.AsyncConnection[tuple[Any, ...]]
_Cursor: TypeAlias = psycopg.AsyncCursor[tuple[Any, ...]]
_Step: TypeAlias = tuple[str, Mapping[str, Any] | None]
_BEGIN: Final[_Step] = ("BEGIN", None)
_COMMIT: Final[_Step] = ("COMMIT", None)
_WITHOUT_LIMIT: Final[tuple[_Step, ...]] = (
    ("SET LOCAL statement_timeout = 0", None),
    ("SET LOCAL lock_timeout = 0", None),
)
_NO_VALUES: Final[Mapping[str, Any]] = MappingProxyType({})
# If a statement of a pipeline is refused, psycopg also logs that the rest of the pipeline was. The caller gets the
# reason.
logging.getLogger("psycopg").setLevel(logging.ERROR)


class _Sql:
    """A compiled statement: its text with psycopg's parameters, and its constant values."""

    def __init__(self, compiled: Any) -> None:
        # The text is made of the statements of this package, never of what a client sent.
        self.text = str(compiled)
        bound = compiled.bind_names if isinstance(compiled, SQLCompiler) else {}
        self._constants = {name: one.effective_value for one, name in bound.items() if not one.required}

    def bind(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values by name. Those that the text does not name are ignored."""
        return {**self._constants, **values} if self._constants else values


@lru_cache(maxsize=256)
def _sql(statement: CompilerElement) -> _Sql:
    return _Sql(statement.compile(dialect=_DIALECT))


class PostgresDatabase:
    """Up to `POOL_SIZE` connections to one PostgreSQL database."""

    def __init__(self, url: URL, seconds: float = STATEMENT_SECONDS) -> None:
        """Take the address of the database, and how long a statement may take; nothing is connected yet."""
        self._seconds = seconds
        # Databases of a cluster with the locale C have no encoding, and would return text as bytes if the client did
        # not name one.
        connect_arguments = {"client_encoding": "utf8", **_limits(url, seconds)}
        self._pool = _Pool(url, connect_arguments)
        self._heartbeat = Heartbeat(url, connect_arguments)

    async def rows(self, statement: Executable, /, **values: Any) -> Sequence[Row]:
        """Return the rows of a query."""

        async def fetch() -> Sequence[Row]:
            async with self._pool.connection() as connection:
                return await (await _execute(connection, statement, values)).fetchall()

        return await self._heartbeat.limit(fetch(), self._seconds)

    async def change(self, statement: Executable, /, **values: Any) -> int:
        """Carry out one statement and return how many rows it changed."""

        async def write() -> int:
            async with self._pool.connection() as connection:
                return (await _execute(connection, statement, values)).rowcount

        return await self._heartbeat.limit(write(), self._seconds)

    async def change_all(self, *changes: Change) -> Sequence[int]:
        """Carry out several statements in one transaction and return how many rows each changed."""
        steps = [_step(change.statement, change.values) for change in changes]

        async def write() -> list[int]:
            async with self._pool.connection() as connection:
                # What is sent together is one transaction, even without BEGIN and COMMIT.
                return [cursor.rowcount for cursor in await _send(connection, *steps)]

        async def write_if_needed_rows_exist() -> list[int]:
            async with self._pool.connection() as connection, _undo_if_refused(connection):
                counts = [cursor.rowcount for cursor in (await _send(connection, _BEGIN, *steps))[1:]]
                if any(change.is_needed and not count for change, count in zip(changes, counts, strict=True)):
                    raise RowNotFound
                await connection.execute("COMMIT")
            return counts

        is_conditional = any(change.is_needed for change in changes)
        work = write_if_needed_rows_exist() if is_conditional else write()
        return await self._heartbeat.limit(work, self._seconds)

    async def take(self, query: Select[Any], change: Update, /, **values: Any) -> Sequence[Row]:
        """Return the rows of a query, and carry out a change for each row in the same transaction."""

        async def write() -> Sequence[Row]:
            async with self._pool.connection() as connection, _undo_if_refused(connection):
                _, cursor = await _send(connection, _BEGIN, _step(query, values))
                rows = await cursor.fetchall()
                await _send(connection, *[_step(change, {**values, "row_key": row[0]}) for row in rows], _COMMIT)
                return rows

        return await self._heartbeat.limit(write(), self._seconds)

    async def create(self, tables: MetaData) -> None:
        """Create the missing tables and indexes, one worker at a time. Existing ones are not touched."""
        await limit_time(self._create(tables), PREPARING_SECONDS)

    async def _create(self, tables: MetaData) -> None:
        async with self._pool.connection() as connection, _undo_if_refused(connection):
            await _send(
                connection, _BEGIN, *_WITHOUT_LIMIT, _step(select(func.pg_advisory_xact_lock(_CREATION_LOCK_ID)))
            )
            existing = {name for (name,) in await (await _execute(connection, _EXISTING_NAMES)).fetchall()}
            for new_table in tables.sorted_tables:
                if new_table.name not in existing:
                    await _execute(connection, CreateTable(new_table))
                for index in new_table.indexes:
                    # The condition of a partial index is copied from the SQLite option just before its creation.
                    if index.name not in existing:
                        await _execute(connection, CreateIndex(_partial(index)))
            await connection.execute("COMMIT")

    def count_connections(self) -> Mapping[str, int]:
        """Return how many connections are lent to calls and how many are idle."""
        return self._pool.count()

    async def close(self) -> None:
        """Close all connections."""
        await self._heartbeat.close()
        await self._pool.close()


class _Pool:
    """Connections in autocommit, where a single statement costs one round trip instead of three.

    psycopg's own pool connects in the background, with growing pauses after an outage. This one connects for the call
    that needs a connection, so it is back as soon as the server is.
    """

    def __init__(self, url: URL, connect_arguments: Mapping[str, Any]) -> None:
        self._address = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._connect_arguments = dict(connect_arguments)
        self._free_places = asyncio.Semaphore(POOL_SIZE)
        self._idle: list[_Connection] = []
        self._lent = 0

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[_Connection]:
        """Lend a connection, the one that was used last.

        Raises:
            DuplicateKey: A unique index refused a statement.
            DatabaseUnavailable: A statement was not carried out.
        """
        async with self._free_places:
            self._lent += 1
            try:
                connection = self._idle.pop() if self._idle else await self._connect()
                try:
                    yield connection
                finally:
                    await self._put_back(connection)
            except psycopg.IntegrityError as fault:
                raise DuplicateKey from fault
            except (OSError, psycopg.Error) as fault:
                raise DatabaseUnavailable(type(fault).__name__) from fault
            finally:
                self._lent -= 1

    def count(self) -> Mapping[str, int]:
        """Return how many connections are lent and how many are idle."""
        return {"used": self._lent, "idle": len(self._idle)}

    async def close(self) -> None:
        """Close the connections that are not lent."""
        while self._idle:
            await self._idle.pop().close()

    async def _connect(self) -> _Connection:
        return await psycopg.AsyncConnection.connect(self._address, autocommit=True, **self._connect_arguments)

    async def _put_back(self, connection: _Connection) -> None:
        """Keep a connection for the next call, unless a cancelled or failed call has left it in a transaction."""
        info = connection.info
        if info.transaction_status is TransactionStatus.IDLE and info.pipeline_status is PipelineStatus.OFF:
            self._idle.append(connection)
            return
        await connection.close()
        if connection.broken:
            # The server has gone, or was restarted. The idle connections end with it.
            await self.close()


def _step(statement: Executable, values: Mapping[str, Any] = _NO_VALUES) -> _Step:
    sql = _sql(statement)
    return sql.text, sql.bind(values)


async def _execute(connection: _Connection, statement: Executable, values: Mapping[str, Any] = _NO_VALUES) -> _Cursor:
    text, bound_values = _step(statement, values)
    return await connection.execute(text, bound_values)


async def _send(connection: _Connection, *steps: _Step) -> list[_Cursor]:
    """Send several statements in one round trip, and return the cursor of each.

    Raises:
        psycopg.Error: One was refused. Those after it were not carried out.
    """
    try:
        async with connection.pipeline():
            # Not prepared: if a statement is refused, the server skips the preparation of those after it, but psycopg
            # 3.3 would use them.
            return [await connection.execute(text, values, prepare=False) for text, values in steps]
    except psycopg.errors.PipelineAborted as aborted:
        # The refusal of a later statement. psycopg raises it while it handles the first refusal, which is the reason.
        raise aborted.__context__ or aborted from None


@asynccontextmanager
async def _undo_if_refused(connection: _Connection) -> AsyncIterator[None]:
    """End the transaction if a statement of it is refused. A cancelled call ends it by closing the connection."""
    try:
        yield
    except Exception:
        if connection.info.transaction_status in {TransactionStatus.INTRANS, TransactionStatus.INERROR}:
            await connection.execute("ROLLBACK")
        raise


def _limits(url: URL, seconds: float) -> dict[str, str | int]:
    """Return the limits of a session. The parameters of the address take precedence."""
    # The statements are short. Compiling one to machine code (JIT) costs more than it saves.
    settings = {"jit": "off", "default_transaction_isolation": r"read\ committed"} | {
        name: str(int(seconds * share * 1000)) for name, share in _LIMITS.items()
    }
    limits: dict[str, str | int] = {
        "connect_timeout": max(2, int(seconds)),  # libpq treats 1 as 2
        "tcp_user_timeout": int(seconds * 1000),
        "options": " ".join(f"-c {name}={value}" for name, value in settings.items()),
    }
    return {name: value for name, value in limits.items() if name not in url.query}


def _partial(index: Index) -> Index:
    """Return an index with the condition that the tables declare for SQLite."""
    # The tables declare it for SQLite only: declaring it for PostgreSQL would load that dialect into every process.
    condition = index.dialect_options["sqlite"]["where"]
    if condition is not None:
        index.dialect_kwargs["postgresql_where"] = condition
    return index
