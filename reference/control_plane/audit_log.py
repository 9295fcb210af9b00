"""The audit log: every change of trust is written here, and the chain of entries is checked here (7.4).

Each entry carries the MAC of the one before, so a changed or removed entry breaks the chain. Removing the newest
entries would leave a shorter chain that is whole. So the newest entry is also recorded in a file next to the database.
"""

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
    """A change of trust that is to be made.

    Attributes:
        action: The kind of change.
        subject: The issuer or service that is changed.
        payload: Members of its entry.
        change: Returns the change of the database for the number of its entry.
    """

    action: Action
    subject: str
    payload: Mapping[str, str]
    change: Callable[[int], Change]


def ignore_number(change: Change) -> Callable[[int], Change]:
    """Return a planned change that does not use the number of its entry."""
    return lambda _: change


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the log.

    Attributes:
        entries: In order.
        count: How many there are in all.
        head: The end of the log.
        valid: Whether the chain is whole as far as it was checked; None while its first check runs.
    """

    entries: Sequence[Entry]
    count: int
    head: Head
    valid: bool | None


class AuditLog:
    """Writes and checks the log of one database under one chain key."""

    def __init__(self, audit: Audit, key: bytes, head_file: HeadFile, clock: WpClock, *, is_shared: bool) -> None:
        """Take the parts of the log.

        Args:
            audit: The log as it is stored.
            key: The chain key.
            head_file: The file with the end of the log.
            clock: Time of a change.
            is_shared: Whether other hosts with separate folders write to the same database.
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
            # Only for an empty log: a file that is missing later is a sign that entries were cut off.
            self._head_file.begin()

    async def change(
        self, decide: Callable[[int], Awaitable[tuple[Outcome, PlannedChange | None]]], *, actor: str = ADMIN
    ) -> Outcome:
        """Make one change of trust and its entry in one transaction.

        Args:
            decide: Takes the time in Unix seconds, reads the state, and returns the outcome with the change that leads
                to it, or None for no change.
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

        # Entry and change are one transaction: neither can exist without the other, after any crash (7.4).
        outcome, trust_change = await self._audit.change(step)
        if trust_change is not None:
            await self._keep(trust_change.entry)
        return outcome

    async def read_page(self, *, after: int, limit: int, full: bool) -> Page:
        """Return the entries after a number, checked; with `full`, after a new check of the whole log."""
        if full:
            await self.check()
        head = await self._audit.head()
        before = Head() if after == 0 else Head(after, await self._audit.mac_at(after) or "")
        # Entries that are added while this page is read belong to the next answer.
        rows = [row for row in await self._audit.after(after, limit) if row[0] <= head.seq]
        if not await self._is_continued(before, rows, head):
            self._is_whole = False
        return Page([decode_entry(row) for row in rows], await self._audit.count(head.seq), head, self._is_whole)

    async def check(self) -> Break | None:
        """Check every entry, and that the entry in the file exists; return the first flaw.

        Raises:
            DatabaseUnavailable: The log cannot be read.
        """
        try:
            file_head = self._head_file.read_head()
        except HeadUnreadable:
            # A file that was destroyed could hide a cut, so it is reported as one.
            first_break: Break | None = Break(0, Flaw.CUT)
        else:
            first_break = await self._walk(file_head)
        self._is_whole = first_break is None
        if first_break is not None:
            _log.error("audit_chain_broken", seq=first_break.seq, flaw=first_break.flaw.value)
        return first_break

    async def check_at_start(self) -> None:
        """Check the log once; try again while the database is away."""
        while True:
            try:
                await self.check()
            # The service starts anyway: trust must be readable while the log waits for its check.
            except DatabaseUnavailable:
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                return

    async def _walk(self, file_head: Head | None) -> Break | None:
        # Checked in batches, because a log is never shortened and may be long.
        walk = ChainCheck(self._key, known_head=file_head or Head())
        while rows := await self._audit.after(walk.head.seq, _BATCH):
            if not walk.walk(rows):
                break
            # Between two batches other calls are served.
            await asyncio.sleep(0)
        # On one host the file is written with the first entry. On shared databases another host may have written all of
        # them.
        if file_head is None and not self._is_shared and walk.head.seq:
            return walk.end() or Break(walk.head.seq + 1, Flaw.CUT)
        if walk.end() is None and (file_head is None or file_head.seq < walk.head.seq):
            self._write(file_head, walk.head)
        return walk.end()

    def _write(self, file_head: Head | None, head: Head) -> bool:
        """Write the file; False if another worker changed it. In a full folder the file only lags."""
        try:
            return self._head_file.replace(file_head, head)
        except (HeadUnreadable, OSError) as fault:
            _log.error("audit_head_not_written", kind=type(fault).__name__)
            return True

    async def _is_continued(self, before: Head, rows: Sequence[StoredEntry], head: Head) -> bool:
        """Return whether entries follow `before`, and whether the log still holds the entry in the file."""
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
        """Record a stored entry in the file, unless the file already names a later one."""
        try:
            while True:
                file_head = self._head_file.read_head()
                # The file only moves forward, and only along the chain: a rolled-back database cannot overwrite a later
                # head.
                if file_head is None or file_head.seq >= entry.seq or not await self._is_after(file_head, entry):
                    return
                if self._write(file_head, entry.head):
                    return
        except (HeadUnreadable, DatabaseUnavailable) as fault:
            # The change is made. The file only lags, which the next start corrects or reports.
            _log.error("audit_head_not_written", kind=type(fault).__name__)

    async def _is_after(self, file_head: Head, entry: Entry) -> bool:
        if file_head.seq == entry.seq - 1:
            return file_head.mac == entry.prev_mac
        return file_head == Head() or await self._audit.mac_at(file_head.seq) == file_head.mac
