"""Group commit: changes that several tasks submit at the same time share one transaction, and so one fsync."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from reference.store.database import Change, Database, DuplicateKey


@dataclass(frozen=True, slots=True, eq=False)
class _PendingChanges:
    """The changes of one caller. `commit` is done when they are on the disk, or another worker has made them."""

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
    """Commits of one worker. One transaction runs at a time. Changes that arrive meanwhile wait for the next one."""

    def __init__(self, database: Database) -> None:
        """Take the database to write to."""
        self._database = database
        self._waiting: list[_PendingChanges] = []
        self._task: asyncio.Task[None] | None = None

    async def write(self, sort_key: str, changes: Sequence[Change]) -> None:
        """Carry out changes, together with those of other callers. They are on the disk when this returns.

        Changes that a unique index refuses change nothing, and do not affect those of other callers.

        Args:
            sort_key: The id of the record that changes.
            changes: The changes.

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
                # All workers lock records in the order of their ids. In different orders, PostgreSQL could let two of
                # them wait for each other, and would have to abort one.
                batch, self._waiting = sorted(self._waiting, key=lambda one: one.sort_key), []
                await self._commit(batch)
        finally:
            self._task = None
            # If this task was cancelled, these changes are never written. Their callers are cancelled instead of
            # hanging.
            for pending in (*batch, *self._waiting):
                pending.commit.cancel()

    async def _commit(self, batch: Sequence[_PendingChanges]) -> None:
        try:
            await self._database.change_all(*(change for pending in batch for change in pending.changes))
        except DuplicateKey:
            # Another worker reported one of them at the same moment, and the whole transaction was undone. Each
            # caller's changes are tried alone, so that only the refused ones are lost.
            for pending in batch if len(batch) > 1 else ():
                await self._commit([pending])
        except Exception as fault:  # noqa: BLE001 - it is passed to the waiting callers
            for pending in batch:
                pending.fail(fault)
        for pending in batch:
            pending.end()
