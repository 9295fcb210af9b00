"""What a rail has written down, read beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from reference.store import tables
from reference.store.engine import open_engine, sqlite_dsn
from reference.store.redemptions import Redemption, Redemptions
from reference.store.settlements import Settlement, Settlements
from tests.reference.rail.rail_stack import Rail

T = TypeVar("T")


def _read(rail: Rail, reading: Callable[[AsyncEngine], Awaitable[T]]) -> T:
    async def read() -> T:
        engine = open_engine(rail.settings.get("WP_RAIL_DB") or sqlite_dsn(rail.folder / "data" / "rail.sqlite3"))
        try:
            return await reading(engine)
        finally:
            await engine.dispose()

    return asyncio.run(read())


def rows_of(rail: Rail) -> list[Redemption]:
    """Return every row of a rail's ledger."""

    async def reading(engine: AsyncEngine) -> list[Redemption]:
        async with engine.connect() as connection:
            ids = (await connection.execute(select(tables.redemptions.c.id))).scalars().all()
        return [row for row_id in ids if (row := await Redemptions(engine).get(row_id)) is not None]

    return _read(rail, reading)


def settlements_of(rail: Rail) -> list[Settlement]:
    """Return everything a rail sent or meant to send, by account, in the order of nonces."""

    async def reading(engine: AsyncEngine) -> list[Settlement]:
        columns = (tables.settlements.c.caip2, tables.settlements.c.settler)
        async with engine.connect() as connection:
            accounts = (await connection.execute(select(*columns).distinct())).all()
        found = [await Settlements(engine).between(*account, 0, 2**40) for account in accounts]
        return [one for some in found for one in some]

    return _read(rail, reading)
