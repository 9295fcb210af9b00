"""What a change promises, on both databases: alone or with others it is all there or not at all."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from sqlalchemy import Column, Index, Integer, MetaData, Table, Text, bindparam, insert, make_url, select, update

from reference.store.database import Change, Database, DatabaseUnavailable, DuplicateKey, RowNotFound
from reference.store.database_url import open_database
from tests.reference.postgres_round_trips import counted_round_trips

THINGS = Table("things", MetaData(), Column("key", Integer, primary_key=True), Column("count", Integer))
ADD = insert(THINGS).values(key=bindparam("thing"), count=bindparam("number"))
RAISE = update(THINGS).values(count=THINGS.c.count + 1)
FREE = (
    select(THINGS.c.key, THINGS.c.count)
    .where(THINGS.c.count == 0)
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True)
)
TAKE = update(THINGS).where(THINGS.c.key == bindparam("row_key")).values(count=bindparam("by"))
ALL = select(THINGS.c.key, THINGS.c.count).order_by(THINGS.c.key)


@pytest.fixture
async def database_of_things(database: Database) -> AsyncIterator[Database]:
    """A database with a table of things."""
    await database.create(THINGS.metadata)
    yield database
    await database.close()


async def read_things(database: Database) -> list[tuple[int, int]]:
    return [(key, count) for key, count in await database.rows(ALL)]


@pytest.mark.postgres
async def test_text_is_text_in_a_database_without_an_encoding(postgres_server: str) -> None:
    """A database of a cluster that was made in the locale C: what is written in any script is read again."""
    name = f"weldproof_{uuid.uuid4().hex}"
    words = Table("words", MetaData(), Column("word", Text, primary_key=True))
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        identifier = Identifier(name)
        connection.execute(SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'SQL_ASCII'").format(identifier))
        try:
            database = open_database(make_url(postgres_server).set(database=name).render_as_string(hide_password=False))
            await database.create(words.metadata)
            await database.change(insert(words).values(word=bindparam("new")), new="Übergröße 標準")
            rows = await database.rows(select(words.c.word))
            await database.close()
        finally:
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(identifier))
    assert [tuple(row) for row in rows] == [("Übergröße 標準",)]


async def test_capacity_is_counted(database_of_things: Database) -> None:
    """Connections are idle after a call and never lost; SQLite has no change that waits."""
    await asyncio.gather(*(database_of_things.change(ADD, thing=number, number=0) for number in range(5)))
    with pytest.raises(DuplicateKey):
        await database_of_things.change(ADD, thing=0, number=0)
    counts = database_of_things.count_connections()
    assert counts in [{"waiting": 0}, *({"used": 0, "idle": idle} for idle in range(1, 17))]


async def test_an_index_with_a_condition_holds_for_what_meets_it_alone(database: Database) -> None:
    tables = MetaData()
    seats = Table(
        "seats", tables, Column("key", Integer, primary_key=True), Column("seat", Integer), Column("by", Text)
    )
    Index("seats_taken", seats.c.seat, unique=True, sqlite_where=seats.c.by.isnot(None))
    await database.create(tables)
    add = insert(seats).values(key=bindparam("number"), seat=1, by=bindparam("taker"))

    for number, taker in ((1, None), (2, None), (3, "Ann")):
        await database.change(add, number=number, taker=taker)
    with pytest.raises(DuplicateKey):
        await database.change(add, number=4, taker="Bob")


async def test_a_refused_change_takes_no_other_with_it(database_of_things: Database) -> None:
    """A hundred at once for ten keys: each key goes to one change, whichever changes share a commit."""
    outcomes = await asyncio.gather(
        *(database_of_things.change(ADD, thing=n % 10, number=n) for n in range(100)), return_exceptions=True
    )
    assert sorted(type(one).__name__ for one in outcomes) == ["DuplicateKey"] * 90 + ["int"] * 10
    assert [key for key, _ in await read_things(database_of_things)] == list(range(10))


async def test_changes_that_belong_together_are_undone_together(database_of_things: Database) -> None:
    """The second is refused, so the first is not there; those asked for at the same time are."""
    await database_of_things.change(ADD, thing=1, number=0)
    two_changes = [Change(ADD, {"thing": n, "number": 0}) for n in (2, 1)]
    outcomes = await asyncio.gather(
        database_of_things.change(ADD, thing=3, number=0),
        database_of_things.change_all(*two_changes),
        database_of_things.change(ADD, thing=4, number=0),
        return_exceptions=True,
    )
    assert [type(one) for one in outcomes] == [int, DuplicateKey, int]
    assert await read_things(database_of_things) == [(1, 0), (3, 0), (4, 0)]


async def test_what_shares_a_commit_with_a_refused_one_is_done_once(database_of_things: Database) -> None:
    """However often a transaction is repeated because of refused changes, each other change counts once."""
    await database_of_things.change(ADD, thing=1, number=0)
    refused_changes = [Change(RAISE), Change(ADD, {"thing": 1, "number": 0})]
    outcomes = await asyncio.gather(
        database_of_things.change(RAISE),
        database_of_things.change_all(*refused_changes),
        database_of_things.change_all(Change(RAISE), Change(RAISE)),
        database_of_things.change_all(*refused_changes),
        return_exceptions=True,
    )
    assert [1, DuplicateKey, [1, 1], DuplicateKey] == [
        type(one) if isinstance(one, DuplicateKey) else one for one in outcomes
    ]
    assert await read_things(database_of_things) == [(1, 3)]


async def test_what_is_taken_is_changed_for_whoever_found_it(database_of_things: Database, dsn: str) -> None:
    """Ten at once by two connections, two rows each: every row is found by one of them, as it was before."""
    for key in range(9):
        await database_of_things.change(ADD, thing=key, number=0)
    second_database = open_database(dsn)
    try:
        outcomes = await asyncio.gather(
            *(one.take(FREE, TAKE, most=2, by=7) for _ in range(5) for one in (database_of_things, second_database))
        )
    finally:
        await second_database.close()
    outcomes += [await database_of_things.take(FREE, TAKE, most=9, by=7)]
    assert sorted(tuple(row) for rows in outcomes for row in rows) == [(key, 0) for key in range(9)]
    assert await read_things(database_of_things) == [(key, 7) for key in range(9)]
    assert list(await database_of_things.take(FREE, TAKE, most=9, by=7)) == []


async def test_nothing_is_taken_where_one_change_is_refused(database_of_things: Database) -> None:
    """The rows stay as they were, and may be taken again; what is asked for beside is done."""
    for key in (1, 2):
        await database_of_things.change(ADD, thing=key, number=0)
    move_change = update(THINGS).where(THINGS.c.key == bindparam("row_key")).values(key=3)
    outcomes = await asyncio.gather(
        database_of_things.take(FREE, move_change, most=2),
        database_of_things.change(ADD, thing=4, number=1),
        return_exceptions=True,
    )
    assert [type(one) for one in outcomes] == [DuplicateKey, int]
    assert await read_things(database_of_things) == [(1, 0), (2, 0), (4, 1)]
    assert len(await database_of_things.take(FREE, TAKE, most=9, by=7)) == 2


async def test_a_change_that_was_reported_is_read(database_of_things: Database) -> None:
    """Read your own writes, in however many tasks."""
    await database_of_things.change(ADD, thing=1, number=0)

    async def raise_and_read() -> int:
        await database_of_things.change(RAISE)
        rows: Sequence[tuple[int, int]] = await read_things(database_of_things)
        return rows[0][1]

    counts = await asyncio.gather(*(raise_and_read() for _ in range(20)))
    assert min(counts) >= 1
    assert max(counts) == 20


async def test_a_statement_that_fails_is_the_caller_s_fault_alone(database_of_things: Database) -> None:
    """A table that is not there fails the change, and the next one works."""
    elsewhere = Table("nowhere", MetaData(), Column("key", Integer))
    with pytest.raises(DatabaseUnavailable):
        await database_of_things.change(insert(elsewhere).values(key=1))
    with pytest.raises(DatabaseUnavailable):
        await database_of_things.rows(select(elsewhere.c.key))
    assert await database_of_things.change(ADD, thing=1, number=0) == 1


async def test_who_stops_waiting_harms_nobody(database_of_things: Database) -> None:
    """A cancelled change may have been made; the others are made and reported as done."""
    tasks = [asyncio.create_task(database_of_things.change(ADD, thing=n, number=n)) for n in range(5)]
    await asyncio.sleep(0)
    tasks[2].cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [one for n, one in enumerate(outcomes) if n != 2] == [1, 1, 1, 1]
    assert {key for key, _ in await read_things(database_of_things)} >= {0, 1, 3, 4}


async def test_two_processes_worth_of_writers_share_the_keys(database_of_things: Database, dsn: str) -> None:
    """Two connections race for the same keys: one winner each."""
    second_database = open_database(dsn)
    try:
        outcomes = await asyncio.gather(
            *(one.change(ADD, thing=n, number=0) for n in range(30) for one in (database_of_things, second_database)),
            return_exceptions=True,
        )
    finally:
        await second_database.close()
    assert sorted(type(one).__name__ for one in outcomes) == ["DuplicateKey"] * 30 + ["int"] * 30


@pytest.mark.postgres
async def test_a_transaction_takes_one_or_two_round_trips(postgres_database: str) -> None:
    """A transaction takes one round trip, or two if it is undone without a row, or reads first."""
    # The path of a Unix socket has at most 108 bytes, so the folder is not the test's own.
    with TemporaryDirectory(dir="/tmp") as folder, counted_round_trips(postgres_database, Path(folder)) as trips:
        database = open_database(trips.address)
        await database.create(THINGS.metadata)
        counts = []
        for work in (
            lambda: database.rows(ALL),
            lambda: database.change(ADD, thing=1, number=0),
            lambda: database.change_all(Change(ADD, {"thing": 2, "number": 0})),
            lambda: database.change_all(*(Change(ADD, {"thing": n, "number": 0}) for n in range(3, 9))),
            lambda: database.change_all(Change(ADD, {"thing": 9, "number": 0}), Change(RAISE, is_needed=True)),
            lambda: database.take(FREE, TAKE, most=9, by=7),
        ):
            trips.count = 0
            await work()
            counts.append(trips.count)
        await database.close()
    assert counts == [1, 1, 1, 1, 2, 2]


async def test_a_refused_transaction_spoils_no_later_one(database_of_things: Database) -> None:
    """The statements after the refused one work afterwards, on the same connection, as often as they are used."""
    await database_of_things.change(ADD, thing=0, number=0)
    for _ in range(12):
        with pytest.raises(DuplicateKey):
            await database_of_things.change_all(Change(ADD, {"thing": 0, "number": 0}), Change(RAISE))
        with pytest.raises(RowNotFound):
            await database_of_things.change_all(Change(RAISE), Change(TAKE, {"row_key": 99, "by": 1}, is_needed=True))
        await database_of_things.change_all(Change(RAISE), Change(RAISE))
    assert await read_things(database_of_things) == [(0, 24)]
