"""Heartbeat of PostgreSQL: calls learn within two seconds that the database does not answer at all.

A statement may take up to its limit, for example while it waits for a lock. So a slow statement shows nothing. If one
takes longer than `PATIENCE_SECONDS`, the heartbeat asks for a constant on a separate connection. If that has no answer
either, the database is away: the calls that wait and those that come fail at once, until it answers again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, Final, TypeVar

import psycopg
from sqlalchemy.engine import URL

from reference.store.database import DatabaseUnavailable
from reference.store.statement_timeout import abandon, build_timeout

PATIENCE_SECONDS: Final = 0.5
ANSWER_SECONDS: Final = 1.0
_PAUSE_SECONDS = 1.0

_Result = TypeVar("_Result")


class Heartbeat:
    """The state of one PostgreSQL database as the statements of this process see it."""

    def __init__(self, url: URL, connect_arguments: Mapping[str, Any]) -> None:
        """Take the address and libpq's parameters; nothing is connected yet."""
        self._address = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._connect_arguments = dict(connect_arguments)
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._away = asyncio.Event()
        self._watcher: asyncio.Task[None] | None = None

    async def limit(self, work: Coroutine[Any, Any, _Result], seconds: float) -> _Result:
        """Return what `work` returns, or give it up after a time, or as soon as the database is away.

        Raises:
            DatabaseUnavailable: It took too long, or the database does not answer at all.
        """
        if self._away.is_set():
            work.close()
            raise _build_away()
        task = asyncio.ensure_future(work)
        try:
            # As in `limit_time`: `asyncio.timeout` would wait until the cancelled work ends.
            await asyncio.wait({task}, timeout=min(PATIENCE_SECONDS, seconds))
            if not task.done() and seconds > PATIENCE_SECONDS:
                await self._wait_unless_away(task, seconds - PATIENCE_SECONDS)
        finally:
            abandon(task)
        if not task.done():
            raise _build_away() if self._away.is_set() else build_timeout(seconds)
        return task.result()

    async def close(self) -> None:
        """Stop, and close the connection."""
        if self._watcher is not None:
            self._watcher.cancel()
        await self._disconnect()

    async def _wait_unless_away(self, task: asyncio.Task[Any], seconds: float) -> None:
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.create_task(self._watch())
        outage = asyncio.ensure_future(self._away.wait())
        try:
            await asyncio.wait({task, outage}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            outage.cancel()

    async def _watch(self) -> None:
        """Ask until there is an answer."""
        while not await self._is_answered():
            self._away.set()
            await asyncio.sleep(_PAUSE_SECONDS)
        self._away.clear()

    async def _is_answered(self) -> bool:
        task = asyncio.ensure_future(self._ask())
        await asyncio.wait({task}, timeout=ANSWER_SECONDS)
        abandon(task)
        is_answered = task.done()
        # An error is an answer, too: of the server, or of its machine. Statements fail by themselves then.
        if not is_answered or task.cancelled() or task.exception() is not None:
            await self._disconnect()
        return is_answered

    async def _ask(self) -> None:
        if self._connection is None:
            self._connection = await psycopg.AsyncConnection.connect(
                self._address, autocommit=True, **self._connect_arguments
            )
        await self._connection.execute("SELECT 1")

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


def _build_away() -> DatabaseUnavailable:
    return DatabaseUnavailable("it does not answer at all")
