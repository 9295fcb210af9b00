"""Deletion in batches: each is a short statement, so that a table of millions of old rows delays no call."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from sqlalchemy import Delete

from reference.store.database import Database

BATCH_SIZE: Final = 5000
# What a million old rows leave for the next round.
_MOST_BATCHES = 200
_PAUSE_SECONDS = 0.05


async def delete_in_batches(database: Database, statement: Delete, **values: Any) -> None:
    """Carry out a deletion of at most `most` rows until it finds no more.

    Raises:
        DatabaseUnavailable: The database does not answer.
    """
    for _ in range(_MOST_BATCHES):
        if await database.change(statement, most=BATCH_SIZE, **values) < BATCH_SIZE:
            return
        await asyncio.sleep(_PAUSE_SECONDS)
