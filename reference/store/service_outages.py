"""Outages: the times in which payers could not be served, because a lane's node was down or no worker ran."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress

from sqlalchemy import bindparam, delete, insert, select, update

from reference.store.database import Database, DuplicateKey
from reference.store.rail_tables import absences

# The network of an outage of the whole rail: no worker ran, so no lane could serve.
ALL_LANES = "*"
# One row is the heartbeat. Its end is the last time at which any worker ran, so the gap to the next start is an outage.
_BEAT = "beat"
_ROW = absences.c
_ENDED_AFTER = select(_ROW.since, _ROW.until).where(
    _ROW.network.in_([bindparam("lane"), ALL_LANES]), _ROW.until >= bindparam("unix")
)
_ADD = insert(absences).values({name: bindparam(name) for name in ("id", "network", "since", "until")})
_PROLONG = (
    update(absences).where(_ROW.id == bindparam("row_id"), _ROW.until < bindparam("now")).values(until=bindparam("now"))
)
_LAST_BEAT = select(_ROW.until).where(_ROW.id == _BEAT)
_FORGET = delete(absences).where(_ROW.until < bindparam("before"), _ROW.id != _BEAT)


class Outages:
    """Statements over outages. Each public method is one transaction, or decided by one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_after(self, network: str, unix: int) -> Sequence[tuple[int, int]]:
        """Return beginning and end of every outage of a lane that ended after `unix`, in unix seconds."""
        rows = await self._database.rows(_ENDED_AFTER, lane=network, unix=unix)
        return [(int(since), int(until)) for since, until in rows]

    async def begin(self, network: str, *, since: int, until: int) -> str:
        """Add an outage and return its id."""
        absence = str(uuid.uuid4())
        await self._database.change(_ADD, id=absence, network=network, since=since, until=until)
        return absence

    async def prolong(self, absence: str, *, until: int) -> None:
        """Note that an outage lasts until now."""
        await self._database.change(_PROLONG, row_id=absence, now=until)

    async def beat(self, *, now: int) -> None:
        """Note that a worker of this rail runs."""
        if await self._database.change(_PROLONG, row_id=_BEAT, now=now) == 0:
            # Two workers may start at once. The other one has added the row then, which is just as good.
            with suppress(DuplicateKey):
                await self._database.change(_ADD, id=_BEAT, network=_BEAT, since=now, until=now)

    async def last_beat(self) -> int | None:
        """Return when a worker of this rail ran last, or None if none ever did."""
        rows = await self._database.rows(_LAST_BEAT)
        return int(rows[0][0]) if rows else None

    async def forget(self, *, before: int) -> None:
        """Delete the outages that ended before a time."""
        await self._database.change(_FORGET, before=before)
