"""Claims that do not lapse, absences, and the keys an installation has used, on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from reference.protocol.weld import Payment
from reference.store.database import Database
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.redemption_rows import NewClaim, Redemption
from reference.store.redemptions import Redemptions
from reference.store.service_outages import ALL_LANES, Outages
from reference.store.used_key_ids import UsedKeyIds

LANE = "algorand_mainnet"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty database."""
    environment = request.param == "postgres"
    new_database = open_database(
        request.getfixturevalue("postgres_database") if environment else sqlite_dsn(tmp_path / "one")
    )
    yield new_database
    await new_database.close()


@pytest.fixture
async def ledger(database: Database) -> Redemptions:
    """A ledger on it."""
    store = Redemptions(database)
    await store.prepare()
    return store


async def insert_claim(ledger: Redemptions, number: int, *, expires_at: int = 100) -> Redemption:
    """Make a claim and give its lease back."""
    new = NewClaim(f"token{number}", f"key{number}", "hash", "service", LANE, "tx", "1", "payee", expires_at)
    row = await ledger.claim(new, worker="w", now=1, order=number)
    assert row is not None
    return row


async def test_a_kept_claim_is_not_forgotten_and_one_that_was_let_go_is(ledger: Redemptions) -> None:
    """The time in which no look met a node is given back: the window goes on where it stood."""
    plain, kept_claim = await insert_claim(ledger, 1), await insert_claim(ledger, 2)
    for _ in range(2):  # a second look that meets no node changes nothing
        await ledger.keep(kept_claim, now=90)
    await ledger.forget(unpaid_before=5000, answers_before=0)
    assert await ledger.get(plain.id) is None
    present_claim = await ledger.get(kept_claim.id)
    assert present_claim is not None
    assert present_claim.is_kept
    for _ in range(2):
        await ledger.let_go(present_claim, now=4090)
    after = await ledger.get(kept_claim.id)
    assert after is not None
    assert (bool(after.is_kept), after.expires_at) == (False, 4100)
    await ledger.forget(unpaid_before=4100, answers_before=0)
    assert await ledger.get(kept_claim.id) is not None
    await ledger.forget(unpaid_before=4101, answers_before=0)
    assert await ledger.get(kept_claim.id) is None


async def test_kept_claims_take_turns_and_leave_no_trace(ledger: Redemptions) -> None:
    """The longest waiting first, so many at once; what was paid or dropped is no longer among them."""
    rows = [await insert_claim(ledger, number) for number in range(4)]
    for at, row in enumerate(rows):
        await ledger.keep(row, now=10 + at)
    assert [row.id for row in await ledger.list_kept_due(LANE, now=12, most=2)] == [rows[0].id, rows[1].id]
    await ledger.postpone_check(rows[0], at=50)
    assert [row.id for row in await ledger.list_kept_due(LANE, now=13, most=9)] == [row.id for row in rows[1:]]
    assert await ledger.list_kept_due("solana_mainnet", now=99, most=9) == []
    await ledger.drop_unpaid(rows[1].id)
    assert await ledger.mark_paid(rows[2], Payment("payer", "tx"), worker="w", now=20) is not None
    assert [row.id for row in await ledger.list_kept_due(LANE, now=99, most=9)] == [rows[3].id, rows[0].id]
    await ledger.forget(unpaid_before=0, answers_before=0)
    assert [row.id for row in await ledger.list_kept_due(LANE, now=99, most=9)] == [rows[3].id, rows[0].id]


async def test_absences_grow_and_are_forgotten(database: Database, ledger: Redemptions) -> None:
    """Absences of a lane and of all lanes; a heartbeat is no absence, and only moves forward."""
    del ledger
    absences = Outages(database)
    assert await absences.last_beat() is None
    for now in (10, 20, 15):
        await absences.beat(now=now)
    assert await absences.last_beat() == 20
    one = await absences.begin(LANE, since=100, until=110)
    await absences.begin(ALL_LANES, since=200, until=210)
    await absences.begin("solana_mainnet", since=100, until=500)
    await absences.prolong(one, until=130)
    await absences.prolong(one, until=120)
    assert sorted(await absences.list_after(LANE, 0)) == [(100, 130), (200, 210)]
    assert await absences.list_after(LANE, 131) == [(200, 210)]
    await absences.forget(before=205)
    assert await absences.list_after(LANE, 0) == [(200, 210)]
    assert await absences.last_beat() == 20


async def test_the_first_key_is_remembered(database: Database) -> None:
    """Under each name apart; a key that is known is not noted twice."""
    used_key_ids = UsedKeyIds(database)
    for _ in range(2):
        await used_key_ids.prepare()
    assert await used_key_ids.ids("signing") == []
    assert [await used_key_ids.add("signing", key, now=1) for key in ("a", "a", "b")] == ["a", "a", "a"]
    assert (await used_key_ids.ids("signing"), await used_key_ids.ids("token")) == (["a", "b"], [])
