"""Results of attempts, written together: results that are reported at the same time share a transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from reference.store.database import Change, Database, Taken


@dataclass(frozen=True, slots=True, eq=False)
class _Note:
    """The changes of one attempt; `written` is done when they are on the disk, or another worker has made them."""

    about: str
    changes: Sequence[Change]
    written: asyncio.Future[None]

    def end(self) -> None:
        if not self.written.done():  # the caller that waited may be cancelled
            self.written.set_result(None)

    def fail(self, fault: Exception) -> None:
        if not self.written.done():
            self.written.set_exception(fault)


class Notes:
    """The notes of one worker. One transaction runs at a time; notes that arrive meanwhile wait for the next one."""

    def __init__(self, database: Database) -> None:
        """Take the database that they are written to."""
        self._database = database
        self._waiting: list[_Note] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, about: str, changes: Sequence[Change]) -> None:
        """Carry out changes, together with those of others; they are on the disk when this returns.

        Those that a unique index refuses change nothing, and take no others with them.

        Args:
            about: What they are about. Notes are written in its order, so that two workers never wait for each other.
            changes: What is changed.

        Raises:
            DatabaseUnavailable: None was carried out.
        """
        note = _Note(about, changes, asyncio.get_running_loop().create_future())
        self._waiting.append(note)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        await note.written

    async def _write(self) -> None:
        notes: list[_Note] = []
        try:
            while self._waiting:
                notes, self._waiting = sorted(self._waiting, key=lambda one: one.about), []
                await self._together(notes)
        finally:
            self._writing = None
            for note in (*notes, *self._waiting):  # if this task was cancelled, they are never written
                note.written.cancel()

    async def _together(self, notes: Sequence[_Note]) -> None:
        try:
            await self._database.change_all(*(change for note in notes for change in note.changes))
        except Taken:  # another worker reported one of them at the same moment
            for note in notes if len(notes) > 1 else ():
                await self._together([note])
        except Exception as fault:  # noqa: BLE001 - it is passed to the waiting callers
            for note in notes:
                note.fail(fault)
        for note in notes:
            note.end()
