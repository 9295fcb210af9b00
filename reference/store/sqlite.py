"""SQLite without a driver layer: one writer thread whose commits serve all waiting callers.

A commit that survives a power cut needs an fsync, and one fsync can serve many changes. So changes are queued for a
thread that takes all waiting ones, carries them out in one transaction, and reports them when the commit is on the
disk. The changes are independent: if a unique index refuses one, the others are still made. Reads use a separate
connection: with a write-ahead log they see every commit and never wait for one.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil
from operator import itemgetter
from queue import SimpleQueue
from typing import Any

from sqlalchemy import MetaData, Select, Update
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import CompilerElement

from reference.deadlines import Deadlines
from reference.store.database import Change, DatabaseUnavailable, DuplicateKey, Row, RowNotFound
from reference.store.statement_timeout import PREPARING_SECONDS, STATEMENT_SECONDS, build_timeout

_RETRY_SECONDS = 0.02
# SQLite gives up at the end of the time. Only a disk that hangs takes longer, and then the caller gives up after this.
_GRACE_SECONDS = 1.0
_DIALECT = sqlite.dialect(paramstyle="qmark")
_OWNER_ONLY_MODE = 0o600
# Closing a file removes the locks that other threads of the process have set on it, so one thread at a time creates
# one.
_creation_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Sql:
    """A compiled statement: its text, a function that orders its values, and its constant values."""

    text: str
    pick_values: Callable[[Mapping[str, Any]], tuple[Any, ...]]
    constants: Mapping[str, Any]

    def bind(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the values in the order of the text.

        Raises:
            KeyError: One is not given.
        """
        return self.pick_values({**self.constants, **values} if self.constants else values)


def _in_order(names: Sequence[str]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """Return a function that picks the values of these names, in their order."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda given: tuple([given[name] for name in names])  # of one alone, itemgetter makes no tuple


@lru_cache(maxsize=256)
def _sql(statement: CompilerElement) -> _Sql:
    compiler = statement.compile(dialect=_DIALECT)
    if not isinstance(compiler, SQLCompiler):
        return _Sql(str(compiler), _in_order(()), {})
    constants = {name: one.effective_value for one, name in compiler.bind_names.items() if not one.required}
    return _Sql(str(compiler), _in_order(tuple(compiler.positiontup or ())), constants)


@dataclass(slots=True, eq=False)
class _Job:
    """Work of the writer thread for a waiting caller.

    Attributes:
        work: The function that runs inside a transaction.
        several: Whether it runs more than one statement, which must be undone together.
        result: The future that the caller waits for.
        until: Monotonic time after which it is not started, and the caller no longer waits.
        outcome: Its result.
        fault: The error that ended it, or None.
    """

    work: Callable[[sqlite3.Connection], Any]
    several: bool
    result: asyncio.Future[Any]
    until: float
    outcome: Any = None
    fault: Exception | None = field(default=None)

    def deliver(self) -> None:
        if self.result.done():  # the caller was cancelled
            return
        if self.fault is None:
            self.result.set_result(self.outcome)
        else:
            self.result.set_exception(self.fault)


class SqliteDatabase:
    """One SQLite file, used from one event loop."""

    def __init__(self, path: str, seconds: float = STATEMENT_SECONDS) -> None:
        """Take the path of the file, which is opened at its first use, and the time limit of a statement."""
        self._seconds = seconds
        self._deadlines = Deadlines(seconds + _GRACE_SECONDS)
        self._path = path
        self._reader: sqlite3.Connection | None = None
        self._batch: list[_Job] = []
        self._queue: SimpleQueue[list[_Job] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def rows(self, statement: Executable, /, **values: Any) -> Sequence[Row]:
        """Return the rows of a query."""
        sql = _sql(statement)
        ordered_values = sql.bind(values)
        if self._reader is None:
            await self._submit(lambda _: None)  # the writer creates the file and sets its mode
            self._reader = self._reader or sqlite3.connect(self._path, isolation_level=None, timeout=0)
        try:
            return self._reader.execute(sql.text, ordered_values).fetchall()
        except sqlite3.OperationalError:
            # Another process has locked the file for a moment. Wait in the writer's thread, which blocks no request.
            rows: Sequence[Row] = await self._submit(lambda writer: writer.execute(sql.text, ordered_values).fetchall())
            return rows

    async def change(self, statement: Executable, /, **values: Any) -> int:
        """Carry out one statement and return how many rows it changed."""
        sql = _sql(statement)
        ordered_values = sql.bind(values)
        count: int = await self._submit(lambda writer: writer.execute(sql.text, ordered_values).rowcount)
        return count

    async def change_all(self, *changes: Change) -> Sequence[int]:
        """Carry out several statements in one transaction and return how many rows each changed."""
        statements = [(_sql(change.statement), change) for change in changes]
        steps = [(one.text, one.bind(change.values), change.is_needed) for one, change in statements]

        def work(writer: sqlite3.Connection) -> list[int]:
            row_counts = []
            for text, ordered_values, is_needed in steps:
                row_counts.append(writer.execute(text, ordered_values).rowcount)
                if is_needed and not row_counts[-1]:
                    raise RowNotFound
            return row_counts

        counts: list[int] = await self._submit(work, several=len(steps) > 1)
        return counts

    async def take(self, query: Select[Any], change: Update, /, **values: Any) -> Sequence[Row]:
        """Return the rows of a query, and carry out a change for each row in the same transaction."""
        query_sql, change_sql = _sql(query), _sql(change)
        ordered_values = query_sql.bind(values)

        def work(writer: sqlite3.Connection) -> Sequence[Row]:
            rows = writer.execute(query_sql.text, ordered_values).fetchall()
            writer.executemany(change_sql.text, [change_sql.bind({**values, "row_key": row[0]}) for row in rows])
            return rows

        found_rows: Sequence[Row] = await self._submit(work, several=True)
        return found_rows

    async def create(self, tables: MetaData) -> None:
        """Create the missing tables and indexes."""
        definitions: list[CompilerElement] = []
        for table in tables.sorted_tables:
            definitions.append(CreateTable(table, if_not_exists=True))
            definitions += [CreateIndex(index, if_not_exists=True) for index in table.indexes]
        texts = [str(one.compile(dialect=_DIALECT)) for one in definitions]

        def work(writer: sqlite3.Connection) -> None:
            for text in texts:
                writer.execute(text)

        deadlines = Deadlines(PREPARING_SECONDS + _GRACE_SECONDS)
        await self._submit(work, several=True, seconds=PREPARING_SECONDS, deadlines=deadlines)

    def count_connections(self) -> Mapping[str, int]:
        """Return how many changes wait for the next transaction of the writer."""
        return {"waiting": len(self._batch)}

    async def close(self) -> None:
        """Carry out everything that was submitted, also during the closing, and close the file."""
        while self._thread is not None:
            self._flush()
            self._queue.put(None)
            thread = self._thread
            # Requests from here on start a new writer, because this one takes nothing after the None.
            self._thread, self._queue = None, SimpleQueue()
            await asyncio.to_thread(thread.join)
        if self._reader is not None:
            self._reader.close()
        self._reader = None

    async def _submit(
        self,
        work: Callable[[sqlite3.Connection], Any],
        *,
        several: bool = False,
        seconds: float | None = None,
        deadlines: Deadlines | None = None,
    ) -> Any:
        seconds = self._seconds if seconds is None else seconds
        loop = asyncio.get_running_loop()
        if self._thread is None:
            arguments = (loop, self._queue)
            self._thread = threading.Thread(target=self._write, args=arguments, name="sqlite-writer", daemon=True)
            self._thread.start()
        if not self._batch:
            loop.call_soon(self._flush)  # after this iteration of the loop, with all of its changes
        job = _Job(work, several, loop.create_future(), time.monotonic() + seconds)
        self._batch.append(job)
        try:
            with (deadlines or self._deadlines).start():
                return await job.result
        except TimeoutError as late:  # the file was not locked, so the disk hangs
            raise build_timeout(seconds) from late

    def _flush(self) -> None:
        if self._batch:
            self._queue.put(self._batch)
            self._batch = []

    # The writer's thread.

    def _write(self, loop: asyncio.AbstractEventLoop, queue: SimpleQueue[list[_Job] | None]) -> None:
        connection: sqlite3.Connection | None = None
        patience, is_running = 0, True
        while is_running:
            # Everything that has queued up during the last commit goes into the next one. Under load a commit serves
            # more callers, so that the throughput grows without a delay that has to be tuned.
            batches = [queue.get()]
            while not queue.empty():
                batches.append(queue.get())
            is_running = batches[-1] is not None
            jobs = [job for batch in batches if batch is not None for job in batch]
            in_time = _in_time(jobs)
            try:
                if in_time:
                    until = min(job.until for job in in_time)
                    connection = connection or _open(self._path, until)
                    patience = _wait_at_most(connection, until, patience)
                    _carry_out(connection, in_time)
            except sqlite3.Error as fault:
                for job in in_time:
                    job.fault = DatabaseUnavailable(str(fault))
            with suppress(RuntimeError):  # the loop is closed, so no caller waits any more
                loop.call_soon_threadsafe(_deliver, jobs)
        if connection is not None:
            connection.close()


def _in_time(jobs: list[_Job]) -> list[_Job]:
    """Return the jobs that callers still wait for. The others have waited too long and get a fault."""
    now = time.monotonic()
    for job in jobs:
        if job.until <= now:
            job.fault = DatabaseUnavailable("the file was locked for too long")
    return [job for job in jobs if job.fault is None]


def _wait_at_most(connection: sqlite3.Connection, until: float, known_tenths: int = 0) -> int:
    """Let SQLite wait for another writer until a monotonic time, and for a tenth of a second in any case.

    Returns:
        The tenths of a second until then, rounded up. If they equal `known_tenths`, the setting is not changed.
    """
    tenths = max(1, ceil((until - time.monotonic()) * 10))
    if tenths != known_tenths:
        connection.execute(f"PRAGMA busy_timeout={tenths * 100}")
    return tenths


def _deliver(jobs: list[_Job]) -> None:
    for job in jobs:
        job.deliver()


def _carry_out(connection: sqlite3.Connection, jobs: list[_Job]) -> None:
    """Do every job and commit once.

    Raises:
        sqlite3.Error: Nothing of it was committed.
    """
    if len(jobs) == 1 and not jobs[0].several:
        _try(connection, jobs[0])  # SQLite treats a single statement as a transaction
    # After a savepoint SQLite copies each page that changes. So none is set at first. If a job of several statements is
    # refused, everything is undone and repeated with a savepoint for each job.
    elif not _is_committed(connection, jobs, savepoints=False) and len(jobs) > 1:
        _is_committed(connection, jobs, savepoints=True)


def _is_committed(connection: sqlite3.Connection, jobs: list[_Job], *, savepoints: bool) -> bool:
    """Do every job in one transaction, or return False if a refused job has left a part of its changes.

    Raises:
        sqlite3.Error: Nothing of it was committed.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        for job in jobs:
            _try(connection, job, savepoint=savepoints and job.several)
            if job.fault is not None and job.several and not savepoints:
                connection.execute("ROLLBACK")
                return False
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return True


def _try(connection: sqlite3.Connection, job: _Job, *, savepoint: bool = False) -> None:
    """Do one job. A refusal by a unique index or a bad value is the fault of this job alone."""
    job.fault = None
    if savepoint:
        connection.execute("SAVEPOINT job")
    try:
        job.outcome = job.work(connection)
    # A full disk or a locked file concerns every job of the transaction, so the error is not attributed to this one.
    except (sqlite3.OperationalError, sqlite3.InternalError):
        raise
    except Exception as fault:  # noqa: BLE001 - it is passed to the waiting caller
        job.fault = DuplicateKey(str(fault)) if isinstance(fault, sqlite3.IntegrityError) else fault
        if savepoint:
            connection.execute("ROLLBACK TO job")
    if savepoint:
        connection.execute("RELEASE job")


def _create_file(path: str) -> None:
    """Create a missing file that only its owner can read. The mode of an existing file is the operator's decision.

    SQLite uses the same mode for the write-ahead log. If the file cannot be created, SQLite reports the reason later.
    """
    with _creation_lock, suppress(OSError):
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        os.close(os.open(os.path.realpath(path), flags, _OWNER_ONLY_MODE))


def _open(path: str, until: float) -> sqlite3.Connection:
    """Return the writer's connection. Each of its commits survives a crash: WAL, and an fsync for every commit."""
    _create_file(path)
    connection = sqlite3.connect(path, isolation_level=None)
    _wait_at_most(connection, until)
    while True:
        try:
            # The change to WAL needs exclusive access. If two connections try it together, SQLite answers "locked" at
            # once: its busy timeout does not cover this. So the change is repeated for as long as a write would have
            # waited.
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                connection.close()
                raise
        time.sleep(_RETRY_SECONDS)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    return connection
