"""The audit log: every change of trust goes through here, and every check of the chain (7.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from reference.control_plane.head_file import HeadFile, HeadUnreadable
from reference.protocol.audit_chain import (
    ADMIN,
    Action,
    Break,
    ChainCheck,
    Entry,
    Flaw,
    Head,
    StoredEntry,
    decode_entry,
    follow,
)
from reference.store.audit_log import Audit, TrustChange
from reference.store.database import Change, DatabaseUnavailable
from reference.web.clock import WpClock
from reference.web.logs import get_logger

_BATCH = 1000
_AGAIN_SECONDS = 5.0
_log = get_logger()
Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change of trust that is wanted.

    Attributes:
        action: What is done.
        subject: To what.
        payload: What the log tells of it.
        change: The change itself, told the number of its entry.
    """

    action: Action
    subject: str
    payload: Mapping[str, str]
    change: Callable[[int], Change]


def ignore_number(change: Change) -> Callable[[int], Change]:
    """Return a planned change for which the number of its entry means nothing."""
    return lambda _: change


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the log.

    Attributes:
        entries: In order.
        count: How many there are in all.
        head: The end of the log.
        valid: Whether the chain is whole, as far as that is known; None while its first check runs.
    """

    entries: Sequence[Entry]
    count: int
    head: Head
    valid: bool | None


class AuditLog:
    """Writes and checks the log of one database under one chain key."""

    def __init__(self, audit: Audit, key: bytes, head_file: HeadFile, clock: WpClock, *, is_shared: bool) -> None:
        """Take what the log is made of.

        Args:
            audit: The log as it is stored.
            key: The chain key.
            head_file: Where the end of the log is kept beside the database.
            clock: Tells when a change was made.
            is_shared: Whether other hosts, with folders of their own, write to the same database.
        """
        self._audit = audit
        self._key = key
        self._head_file = head_file
        self._clock = clock
        self._is_shared = is_shared
        self._is_whole: bool | None = None

    @property
    def is_whole(self) -> bool | None:
        """Whether the chain was found whole; None until it was checked for the first time."""
        return self._is_whole

    async def prepare(self) -> None:
        """Create what is missing: the tables, and the file of an empty log."""
        await self._audit.prepare()
        if await self._audit.head() == Head():
            self._head_file.begin()

    async def change(
        self, decide: Callable[[int], Awaitable[tuple[Outcome, PlannedChange | None]]], *, actor: str = ADMIN
    ) -> Outcome:
        """Make one change of trust and its entry in one transaction.

        Args:
            decide: Reads what is there and returns, told the time in Unix seconds, the outcome and the change that
                leads to it, None for none.
            actor: By whose credential it is made.

        Raises:
            DatabaseUnavailable: Nothing was changed.
        """

        async def step(head: Head) -> tuple[Outcome, TrustChange | None]:
            ts_ms = self._clock.now_ms()
            outcome, planned = await decide(ts_ms // 1000)
            if planned is None:
                return outcome, None
            entry = follow(
                head,
                self._key,
                ts_ms=ts_ms,
                actor=actor,
                action=planned.action,
                subject=planned.subject,
                payload=planned.payload,
            )
            return outcome, TrustChange(entry, [planned.change(entry.seq)])

        outcome, trust_change = await self._audit.change(step)
        if trust_change is not None:
            await self._keep(trust_change.entry)
        return outcome

    async def read_page(self, *, after: int, limit: int, full: bool) -> Page:
        """Return entries behind a number, checked, and with `full` only after the whole log was checked anew."""
        if full:
            await self.check()
        head = await self._audit.head()
        before = Head() if after == 0 else Head(after, await self._audit.mac_at(after) or "")
        # What is added while this is read belongs to the next answer.
        rows = [row for row in await self._audit.after(after, limit) if row[0] <= head.seq]
        if not await self._is_continued(before, rows, head):
            self._is_whole = False
        return Page([decode_entry(row) for row in rows], await self._audit.count(head.seq), head, self._is_whole)

    async def check(self) -> Break | None:
        """Check every entry, and that the entry which the file names is there; return the first flaw.

        Raises:
            DatabaseUnavailable: The log cannot be read.
        """
        try:
            file_head = self._head_file.read_head()
        except HeadUnreadable:
            first_break: Break | None = Break(0, Flaw.CUT)
        else:
            first_break = await self._walk(file_head)
        self._is_whole = first_break is None
        if first_break is not None:
            _log.error("audit_chain_broken", seq=first_break.seq, flaw=first_break.flaw.value)
        return first_break

    async def check_at_start(self) -> None:
        """Check the log until that was possible once."""
        while True:
            try:
                await self.check()
            except DatabaseUnavailable:
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                return

    async def _walk(self, file_head: Head | None) -> Break | None:
        walk = ChainCheck(self._key, known_head=file_head or Head())
        while rows := await self._audit.after(walk.head.seq, _BATCH):
            if not walk.walk(rows):
                break
            await asyncio.sleep(0)  # let others be served between two batches
        if file_head is None and not self._is_shared and walk.head.seq:
            return walk.end() or Break(walk.head.seq + 1, Flaw.CUT)
        if walk.end() is None and (file_head is None or file_head.seq < walk.head.seq):
            self._write(file_head, walk.head)
        return walk.end()

    def _write(self, file_head: Head | None, head: Head) -> bool:
        """Write the file; False when somebody else changed it. A folder that is full lets it only lag behind."""
        try:
            return self._head_file.replace(file_head, head)
        except (HeadUnreadable, OSError) as fault:
            _log.error("audit_head_not_written", kind=type(fault).__name__)
            return True

    async def _is_continued(self, before: Head, rows: Sequence[StoredEntry], head: Head) -> bool:
        """Return whether entries follow `before`, and whether the log still holds the entry that the file names."""
        if before.seq > head.seq:
            rows = []
        elif not before.mac or not ChainCheck(self._key, after=before).walk(rows):
            return False
        try:
            file_head = self._head_file.read_head()
        except HeadUnreadable:
            return False
        if file_head is None:
            return self._is_shared or head == Head()
        return file_head == Head() or await self._audit.mac_at(file_head.seq) == file_head.mac

    async def _keep(self, entry: Entry) -> None:
        """Write an entry that is in the database to the file, unless what the file names is not before it."""
        try:
            while True:
                file_head = self._head_file.read_head()
                if file_head is None or file_head.seq >= entry.seq or not await self._is_after(file_head, entry):
                    return
                if self._write(file_head, entry.head):
                    return
        except (HeadUnreadable, DatabaseUnavailable) as fault:
            # The change is made; the file only lags behind, which the next start mends or finds.
            _log.error("audit_head_not_written", kind=type(fault).__name__)

    async def _is_after(self, file_head: Head, entry: Entry) -> bool:
        if file_head.seq == entry.seq - 1:
            return file_head.mac == entry.prev_mac
        return file_head == Head() or await self._audit.mac_at(file_head.seq) == file_head.mac
