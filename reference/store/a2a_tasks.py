"""A2A tasks: the newest version of each, changed by compare and set, bounded for each client (P-RA-10)."""

from __future__ import annotations

import time

from sqlalchemy import bindparam, delete, func, insert, select, update

from reference.store.batched_deletion import delete_in_batches
from reference.store.database import Change, Database
from reference.store.rail_tables import tasks

_ROW = tasks.c
_IS_IT = _ROW.id == bindparam("task_id")
_IS_KEPT = _ROW.expires_at > bindparam("now")
_GET = select(_ROW.data).where(_IS_IT, _IS_KEPT)
_ADD = insert(tasks).values({column.name: bindparam(column.name) for column in _ROW})
_OF_OPENER = select(_ROW.place).where(_ROW.opener == bindparam("by"))
_NEWEST_OVER = _OF_OPENER.order_by(_ROW.place.desc()).limit(1).offset(bindparam("most")).scalar_subquery()
_EVICT = delete(tasks).where(_ROW.opener == bindparam("by"), _ROW.place <= _NEWEST_OVER)
# Running sum of the sizes of an opener's tasks, from the smallest on. So the large ones are evicted first: payers
# behind one address share an opener, and large orders of one must not evict a small, paid order of another. The length
# of a blob is read without the blob.
_SIZE = func.length(_ROW.data)
_SIZES = (
    select(_ROW.place, func.sum(_SIZE).over(order_by=(_SIZE, _ROW.place.desc())).label("held"))
    .where(_ROW.opener == bindparam("by"))
    .subquery()
)
_TOO_MUCH = select(_SIZES.c.place).where(_SIZES.c.held > bindparam("most_bytes"), _SIZES.c.place < bindparam("newest"))
_EVICT_BYTES = delete(tasks).where(_ROW.opener == bindparam("by"), _ROW.place.in_(_TOO_MUCH))
_REPLACE = (
    update(tasks)
    .where(_IS_IT, _IS_KEPT, _ROW.version == bindparam("before"))
    .values(version=bindparam("after"), data=bindparam("content"))
)
_EXPIRED = select(_ROW.id).where(_ROW.expires_at <= bindparam("now")).order_by(_ROW.expires_at).limit(bindparam("most"))
_FORGET = delete(tasks).where(_ROW.id.in_(_EXPIRED))


class Tasks:
    """Statements over tasks. Each public method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._newest = 0

    async def get(self, task_id: str, *, now: int) -> bytes | None:
        """Return a task as it was stored, or None if it is unknown or expired."""
        rows = await self._database.rows(_GET, task_id=task_id, now=now)
        return bytes(rows[0][0]) if rows else None

    async def add(
        self, task_id: str, data: bytes, *, opener: str, version: int, expires_at: int, most: int, most_bytes: int
    ) -> None:
        """Store a new task. The oldest tasks beyond `most` and the largest beyond `most_bytes` go.

        Args:
            task_id: Its id.
            data: The task.
            opener: The client that opened it, 64 characters.
            version: Its version.
            expires_at: Unix seconds of its expiry.
            most: How many tasks one opener may have.
            most_bytes: How many bytes they may hold together. The new one stays in any case.
        """
        self._newest = max(self._newest + 1, time.time_ns())
        new = {"id": task_id, "opener": opener, "place": self._newest, "expires_at": expires_at}
        await self._database.change_all(
            Change(_ADD, {**new, "version": version, "data": data}),
            Change(_EVICT, {"by": opener, "most": most}),
            Change(_EVICT_BYTES, {"by": opener, "most_bytes": most_bytes, "newest": self._newest}),
        )

    async def replace(self, task_id: str, data: bytes, *, version: int, now: int) -> bool:
        """Store a task in place of its previous version, or return False if another version is stored."""
        changed = await self._database.change(
            _REPLACE, task_id=task_id, now=now, before=version - 1, after=version, content=data
        )
        return changed == 1

    async def forget(self, *, now: int) -> None:
        """Delete the expired tasks."""
        await delete_in_batches(self._database, _FORGET, now=now)
