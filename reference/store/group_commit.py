"""Results of attempts, written together: results that are reported at the same time share a transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from reference.store.database import Change, Database, DuplicateKey


@dataclass(frozen=True, slots=True, eq=False)
class _PendingChanges:
    """The changes of one attempt; `commit` is done when they are on the disk, or another worker has made them."""

    sort_key: str
    changes: Sequence[Change]
    commit: asyncio.Future[None]

    def end(self) -> None:
        if not self.commit.done():  # the caller that waited may be cancelled
            self.commit.set_result(None)

    def fail(self, fault: Exception) -> None:
        if not self.commit.done():
            self.commit.set_exception(fault)


class GroupCommit:
    """The notes of one worker. One transaction runs at a time; notes that arrive meanwhile wait for the next one."""

    def __init__(self, database: Database) -> None:
        """Take the database that they are written to."""
        self._database = database
        self._waiting: list[_PendingChanges] = []
        self._task: asyncio.Task[None] | None = None

    async def write(self, sort_key: str, changes: Sequence[Change]) -> None:
        """Carry out changes, together with those of others; they are on the disk when this returns.

        Those that a unique index refuses change nothing, and take no others with them.

        Args:
            about: What they are about. Notes are written in its order, so that two workers never wait for each other.
            changes: What is changed.

        Raises:
            DatabaseUnavailable: None was carried out.
        """
        pending = _PendingChanges(sort_key, changes, asyncio.get_running_loop().create_future())
        self._waiting.append(pending)
        if self._task is None:
            self._task = asyncio.create_task(self._write())
        await pending.commit

    async def _write(self) -> None:
        batch: list[_PendingChanges] = []
        try:
            while self._waiting:
                batch, self._waiting = sorted(self._waiting, key=lambda one: one.sort_key), []
                await self._commit(batch)
        finally:
            self._task = None
            for pending in (*batch, *self._waiting):  # if this task was cancelled, they are never written
                pending.commit.cancel()

    async def _commit(self, batch: Sequence[_PendingChanges]) -> None:
        try:
            await self._database.change_all(*(change for pending in batch for change in pending.changes))
        except DuplicateKey:  # another worker reported one of them at the same moment
            for pending in batch if len(batch) > 1 else ():
                await self._commit([pending])
        except Exception as fault:  # noqa: BLE001 - it is passed to the waiting callers
            for pending in batch:
                pending.fail(fault)
        for pending in batch:
            pending.end()
