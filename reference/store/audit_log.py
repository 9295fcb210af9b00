"""The audit log: entries, the head of the chain, and changes of trust together with their entries (7.4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from sqlalchemy import bindparam, func, insert, select

from reference.protocol.audit_chain import Entry, Head, StoredEntry, encode_entry
from reference.store.control_plane_tables import METADATA, audit, of_the_trust_set
from reference.store.database import Change, Database, DatabaseUnavailable, DuplicateKey, RowNotFound

_NAMES = ("seq", "ts_ms", "actor", "action", "subject", "payload", "prev_mac", "mac")
_COLUMNS = tuple(audit.c[name] for name in _NAMES)
_ADD = insert(audit).values({name: bindparam(name) for name in _NAMES})
_HEAD = select(audit.c.seq, audit.c.mac).order_by(audit.c.seq.desc()).limit(1)
_MAC_AT = select(audit.c.mac).where(audit.c.seq == bindparam("number"))
_AFTER = select(*_COLUMNS).where(audit.c.seq > bindparam("after")).order_by(audit.c.seq).limit(bindparam("most"))
_COUNT = select(func.count()).select_from(audit).where(audit.c.seq <= bindparam("last"))
_LAST_TRUST = select(audit.c.seq, audit.c.ts_ms).where(of_the_trust_set).order_by(audit.c.seq.desc()).limit(1)

Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class TrustChange:
    """A change of trust that is ready to be carried out.

    Attributes:
        entry: Its entry in the log.
        changes: The change itself.
    """

    entry: Entry
    changes: Sequence[Change]


class Audit:
    """Statements over the audit log. Each public method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def prepare(self) -> None:
        """Create the missing tables, also those of issuers and services."""
        await self._database.create(METADATA)

    async def head(self) -> Head:
        """Return the end of the log."""
        rows = await self._database.rows(_HEAD)
        return Head(int(rows[0][0]), str(rows[0][1])) if rows else Head()

    async def mac_at(self, seq: int) -> str | None:
        """Return the MAC of an entry, or None if the log has no entry with that number."""
        rows = await self._database.rows(_MAC_AT, number=seq)
        return str(rows[0][0]) if rows else None

    async def after(self, seq: int, most: int) -> Sequence[StoredEntry]:
        """Return the entries behind a number, in order."""
        return cast("Sequence[StoredEntry]", await self._database.rows(_AFTER, after=seq, most=most))

    async def count(self, last: int) -> int:
        """Return how many entries there are up to a number."""
        return int((await self._database.rows(_COUNT, last=last))[0][0])

    async def last_trust_change(self) -> tuple[int, int] | None:
        """Return number and Unix milliseconds of the last change of the trust set, or None if there was none."""
        rows = await self._database.rows(_LAST_TRUST)
        return (int(rows[0][0]), int(rows[0][1])) if rows else None

    async def change(
        self, decide: Callable[[Head], Awaitable[tuple[Outcome, TrustChange | None]]]
    ) -> tuple[Outcome, TrustChange | None]:
        """Make one change of trust together with its entry.

        Every such change adds an entry, and an entry's number is unique. So a caller that decided on an outdated
        state fails, and decides again.

        Args:
            decide: Takes the end of the log before the change, reads what it needs, and returns the outcome and the
                step that leads to it; without a step nothing is changed.

        Returns:
            The outcome, and the step that was made.

        Raises:
            DatabaseUnavailable: The database refuses the step although no other caller made one meanwhile.
        """
        # Optimistic concurrency: no lock is held while `decide` reads. If another worker adds an entry first, the
        # number of ours is taken, the whole transaction is undone, and `decide` sees the state that the other one left.
        refused_head: Head | None = None
        while True:
            head = await self.head()
            # The head has not moved, so no other worker took the number. Another round would be refused as well.
            if head == refused_head:
                raise DatabaseUnavailable("the audit log takes no entry")
            outcome, step = await decide(head)
            if step is None:
                return outcome, None
            columns = dict(zip(_NAMES, encode_entry(step.entry), strict=True))
            try:
                await self._database.change_all(Change(_ADD, columns), *step.changes)
            except (DuplicateKey, RowNotFound):
                refused_head = head
                continue
            return outcome, step
