"""Other stores under the same ledger: sqlite3 called directly, and SQLAlchemy's async engine over aiosqlite."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from sqlalchemy import MetaData, Select, Update
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import CursorResult
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import CompilerElement

from reference.store.database import Change, DuplicateKey, Row, RowNotFound

_DIALECT = sqlite.dialect(paramstyle="named")


@lru_cache(maxsize=256)
def _sql(statement: CompilerElement) -> tuple[str, Mapping[str, Any]]:
    """Return a statement's text and the values that are part of it."""
    statement_text = statement.compile(dialect=_DIALECT)
    names = statement_text.bind_names if isinstance(statement_text, SQLCompiler) else {}
    return str(statement_text), {name: bound.effective_value for bound, name in names.items() if not bound.required}


class DirectDatabase:
    """A `Database` on sqlite3 in the caller's own thread: a commit a statement, none of them durable.

    The write-ahead log is not synced when a commit is made (`synchronous=NORMAL`), so a power cut may take the last
    ones back. No seller should work in that way; it only shows the minimum cost of these statements.
    """

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")

    async def rows(self, statement: Executable, /, **values: Any) -> Sequence[Row]:
        """Return what a query finds."""
        return self._run(statement, values).fetchall()

    async def change(self, statement: Executable, /, **values: Any) -> int:
        """Carry out one statement."""
        try:
            return self._run(statement, values).rowcount
        except sqlite3.IntegrityError as fault:
            raise DuplicateKey(str(fault)) from fault

    async def change_all(self, *changes: Change) -> Sequence[int]:
        """Carry out several statements."""
        row_counts = []
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            for step in changes:
                row_counts.append(self._run(step.statement, step.values).rowcount)
                if step.is_needed and not row_counts[-1]:
                    raise RowNotFound
        except sqlite3.IntegrityError as fault:
            self._connection.execute("ROLLBACK")
            raise DuplicateKey(str(fault)) from fault
        except RowNotFound:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        return row_counts

    async def take(self, query: Select[Any], change: Update, /, **values: Any) -> Sequence[Row]:
        """Return what a query finds, with a change for each row."""
        rows = await self.rows(query, **values)
        await self.change_all(*(Change(change, {**values, "row_key": row[0]}) for row in rows))
        return rows

    async def create(self, tables: MetaData) -> None:
        """Create the tables."""
        for table in tables.sorted_tables:
            self._connection.execute(str(CreateTable(table).compile(dialect=_DIALECT)))
            for index in table.indexes:
                self._connection.execute(str(CreateIndex(index).compile(dialect=_DIALECT)))

    def count_connections(self) -> Mapping[str, int]:
        """Return nothing: no metrics are read here."""
        return {}

    async def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _run(self, statement: Any, values: Mapping[str, Any]) -> sqlite3.Cursor:
        text, constants = _sql(statement)
        return self._connection.execute(text, {**constants, **values} if constants else values)


class EngineDatabase:
    """A `Database` on SQLAlchemy's async engine, a transaction a statement: what is written without much thought."""

    def __init__(self, path: Path) -> None:
        self._engine = create_async_engine(f"sqlite+aiosqlite:///{path}")

    async def rows(self, statement: Executable, /, **values: Any) -> Sequence[Row]:
        """Return what a query finds."""
        async with self._engine.connect() as connection:
            return cast("Sequence[Row]", (await connection.execute(statement, values)).fetchall())

    async def change(self, statement: Executable, /, **values: Any) -> int:
        """Carry out one statement."""
        try:
            async with self._engine.begin() as connection:
                result = cast("CursorResult[Any]", await connection.execute(statement, values))
                return result.rowcount
        except IntegrityError as fault:
            raise DuplicateKey(str(fault)) from fault

    async def change_all(self, *changes: Change) -> Sequence[int]:
        """Carry out several statements."""
        row_counts = []
        try:
            async with self._engine.begin() as connection:
                for step in changes:
                    result = cast("CursorResult[Any]", await connection.execute(step.statement, dict(step.values)))
                    row_counts.append(result.rowcount)
                    if step.is_needed and not row_counts[-1]:
                        raise RowNotFound
        except IntegrityError as fault:
            raise DuplicateKey(str(fault)) from fault
        return row_counts

    async def take(self, query: Select[Any], change: Update, /, **values: Any) -> Sequence[Row]:
        """Return what a query finds, with a change for each row."""
        try:
            async with self._engine.begin() as connection:
                rows = cast("Sequence[Row]", (await connection.execute(query, values)).fetchall())
                for row in rows:
                    await connection.execute(change, {**values, "row_key": row[0]})
                return rows
        except IntegrityError as fault:
            raise DuplicateKey(str(fault)) from fault

    async def create(self, tables: MetaData) -> None:
        """Create the tables."""
        async with self._engine.begin() as connection:
            await connection.exec_driver_sql("PRAGMA journal_mode=WAL")
            await connection.run_sync(tables.create_all)

    def count_connections(self) -> Mapping[str, int]:
        """Return nothing: no metrics are read here."""
        return {}

    async def close(self) -> None:
        """Close the pool."""
        await self._engine.dispose()
