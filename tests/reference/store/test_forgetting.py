"""The rail forgets each second: by indexes, however many redemptions there were (both databases)."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import Insert, LargeBinary, String, case, cast, insert, literal, literal_column, select, text
from sqlalchemy.dialects import postgresql, sqlite

from reference.store import redemptions as statements
from reference.store.database import Database
from reference.store.postgres import PostgresDatabase
from reference.store.rail_tables import redemptions
from reference.store.redemptions import Redemptions

SERVED, UNPAID = 5_000, 50
UNIQUE = {"token": "t", "payment_key": "k", "tx_id": "x"}


def many() -> Insert:
    """Return what writes rows that were served, of which the last have an answer, and rows that are unpaid.

    The database makes them itself: to bind the values of thousands takes seconds.
    """
    first = select(literal_column("0").label("n")).cte("numbers", recursive=True)
    numbers = first.union_all(select(first.c.n + 1).where(first.c.n < SERVED + UNPAID - 1))
    number, is_served = numbers.c.n, numbers.c.n < SERVED
    row = {"request_hash": "h", "service_id": "s", "network": "n", "amount": "1", "pay_to": "p"}
    columns = {
        **{name: literal(value) for name, value in row.items()},
        **{name: literal(head) + cast(number, String) for name, head in UNIQUE.items()},
        **dict.fromkeys(("id", "claimed_at", "claim_order", "expires_at"), number),
        **dict.fromkeys(("paid_at", "spent_at"), case((is_served, number))),
        "lease_counter": literal(0),
        "answer": case((is_served & (number > SERVED - UNPAID), literal(b"{}", LargeBinary))),
    }
    return insert(redemptions).from_select([*columns], select(*columns.values()))


async def plan(database: Database, name: str) -> str:
    """Return how a database carries out one of the statements."""
    on_postgres = isinstance(database, PostgresDatabase)
    dialect = postgresql.dialect if on_postgres else sqlite.dialect
    sql = str(getattr(statements, name).compile(dialect=dialect(paramstyle="named")))
    sql = re.sub(r"(?<!:):\w+", "NULL", re.sub(r"::\w+", "", sql).replace(":before", "100"))
    explain = "EXPLAIN" if on_postgres else "EXPLAIN QUERY PLAN"
    return "\n".join(str(row[-1]) for row in await database.rows(text(f"{explain} {sql}")))


@pytest.mark.parametrize(
    ("name", "index"), [("_FORGET_UNPAID", "rail_unserved"), ("_FORGET_ANSWERS", "rail_kept_answers")]
)
async def test_forgetting_reads_no_more_than_what_may_go(
    ledger: Redemptions, database: Database, name: str, index: str
) -> None:
    """Among thousands that were served long ago, those unpaid and those with an answer are found by an index."""
    del ledger
    await database.change(many())
    await database.change(text("ANALYZE rail_redemptions"))
    plan_text = await plan(database, name)
    assert index in plan_text, plan_text
    for scan in ("SCAN rail_redemptions", "Seq Scan on rail_redemptions"):
        assert scan not in plan_text
