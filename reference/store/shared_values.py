"""Facts that all workers of one surface share: named values that survive restarts."""

from __future__ import annotations

from contextlib import suppress

from sqlalchemy import Table, bindparam, insert, select, update

from reference.store.database import Database, DuplicateKey


class SharedFacts:
    """Statements over one surface's table of facts. Each public method is one transaction, or decided by one."""

    def __init__(self, database: Database, table: Table) -> None:
        """Take the table: columns `name` and `value`."""
        self._database = database
        is_it = table.c.name == bindparam("fact")
        self._get = select(table.c.value).where(is_it)
        self._add = insert(table).values(name=bindparam("fact"), value=bindparam("content"))
        self._set = update(table).where(is_it).values(value=bindparam("content"))
        self._exchange = self._set.where(table.c.value == bindparam("stored"))

    async def get(self, name: str) -> str | None:
        """Return a fact, or None if it is not stored."""
        rows = await self._database.rows(self._get, fact=name)
        return str(rows[0][0]) if rows else None

    async def agree(self, name: str, value: str) -> str:
        """Store a fact unless it is stored already, and return the stored value."""
        # Several workers may store a value at the same moment. The primary key admits one, and all others return that
        # one.
        while (stated_value := await self.get(name)) is None:
            try:
                await self._database.change(self._add, fact=name, content=value)
            except DuplicateKey:
                continue
            return value
        return stated_value

    async def replace(self, name: str, value: str) -> None:
        """Store a fact in place of its previous value."""
        # Update first and insert only if there is no row: SQLite and PostgreSQL spell an upsert differently.
        while await self._database.change(self._set, fact=name, content=value) == 0:
            try:
                await self._database.change(self._add, fact=name, content=value)
            except DuplicateKey:
                continue
            return

    async def take_turn(self, work: str, *, now: int, seconds: int) -> bool:
        """Take the next turn of a work that one worker does in each interval.

        A turn needs no end. If the worker dies during its turn, another one takes the next.

        Args:
            work: The name of the work. A fact with this name keeps when the last turn began.
            now: Unix seconds.
            seconds: The interval.

        Returns:
            False if a turn began within the interval, or another worker takes this one at this moment.
        """
        fact = f"turn of {work}"
        last = await self.get(fact)
        if last is None:
            with suppress(DuplicateKey):
                await self._database.change(self._add, fact=fact, content=str(now))
                return True
            return False
        # A turn of a time that is not yet was taken by a clock that was wrong, and does not count.
        if 0 <= now - int(last) < seconds:
            return False
        # Exchanged and not set: of several workers that read the same turn, one takes the next.
        return await self._database.change(self._exchange, fact=fact, stored=last, content=str(now)) == 1
