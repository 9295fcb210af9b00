"""What a rail has written down, read beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from sqlalchemy import delete, select

from reference.store import rail_tables
from reference.store.database import Database
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.redemption_rows import Redemption
from reference.store.redemptions import Redemptions
from reference.store.settlements import Fate, Settlement, Settlements
from tests.reference.rail.rail_stack import Rail

T = TypeVar("T")


def _read(rail: Rail, reading: Callable[[Database], Awaitable[T]]) -> T:
    async def read() -> T:
        database = open_database(rail.settings.get("WP_RAIL_DB") or sqlite_dsn(rail.folder / "data" / "rail.sqlite3"))
        try:
            return await reading(database)
        finally:
            await database.close()

    return asyncio.run(read())


def rows_of(rail: Rail) -> list[Redemption]:
    """Return every row of a rail's ledger."""

    async def reading(database: Database) -> list[Redemption]:
        ids = await database.rows(select(rail_tables.redemptions.c.id))
        return [row for (row_id,) in ids if (row := await Redemptions(database).get(row_id)) is not None]

    return _read(rail, reading)


def settlements_of(rail: Rail) -> list[Settlement]:
    """Return everything a rail sent or meant to send, by account, in the order of nonces."""

    async def reading(database: Database) -> list[Settlement]:
        columns = (rail_tables.settlements.c.caip2, rail_tables.settlements.c.settler)
        accounts = await database.rows(select(*columns).distinct())
        match = [await Settlements(database).between(str(chain), str(settler), 0, 2**40) for chain, settler in accounts]
        return [one for some in match for one in some]

    return _read(rail, reading)


def drop_claims(rail: Rail) -> None:
    """Take every claim that is not paid out of a rail's ledger, as if it had been dropped."""

    async def drop_all(database: Database) -> None:
        await database.change(delete(rail_tables.redemptions).where(rail_tables.redemptions.c.paid_at.is_(None)))

    _read(rail, drop_all)


def fail_settlements(rail: Rail, numbers: Iterable[int], *, now: int) -> None:
    """Write into a rail's ledger that settlements failed on Base, each of another payer."""

    async def fail_all(database: Database) -> None:
        settlements = Settlements(database)
        for number in numbers:
            failed = Settlement(
                caip2="eip155:8453",
                settler="0xsettler",
                nonce=number,
                token=f"failed-{number}",
                payment_key=f"failed-{number}",
                payer=f"0x{number:040x}",
                authorization="{}",
                raw=b"",
                hashes=(f"0x{number:064x}",),
                fee=1,
                tip=1,
                attempt=0,
                sent_at=now,
            )
            await settlements.reserve(failed)
            assert await settlements.close(failed, Fate.FAILED, now=now)

    _read(rail, fail_all)


def claims_on(rail: Rail, token: str) -> list[Redemption]:
    """Return the rows of a token."""
    return [row for row in rows_of(rail) if row.token == token]
