"""Whether a worker may issue: what it knows of its own terms, without a question to the database in a call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from reference.protocol.challenge import Terms
from reference.rail.availability.issuing_permission import UNSURE_SECONDS, IssuingPermission
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.redemptions import Redemptions
from reference.store.terms_history import Generations
from reference.web.clock import WpClock
from reference.web.errors import Refused

TERMS = {"service": (Terms("algorand_mainnet", "algorand:x", "31566704", "10000", "PAYEE"),)}


@pytest.fixture
async def generations(tmp_path: Path) -> AsyncIterator[Generations]:
    """The generations of an empty database."""
    database = open_database(sqlite_dsn(tmp_path / "rail.sqlite3"))
    await Redemptions(database).prepare()
    yield Generations(database)
    await database.close()


def refusal(permission: IssuingPermission) -> str | None:
    """Return the code by which it refuses to issue, or None when it may."""
    try:
        permission.refuse_issuing()
    except Refused as refused:
        return refused.code if refused.status == 503 else f"{refused.status}"
    return None


async def test_a_worker_that_cannot_look_stops_issuing(generations: Generations) -> None:
    """After a minute without a look at the database; one look brings it back."""
    passed = [0.0]
    permission = IssuingPermission(generations, TERMS, WpClock(), lambda: passed[0])
    assert refusal(permission) == "store_unavailable"
    await permission.tend()
    assert refusal(permission) is None
    passed[0] = UNSURE_SECONDS
    assert refusal(permission) is None
    passed[0] += 1
    assert refusal(permission) == "store_unavailable"
    await permission.tend()
    assert refusal(permission) is None


async def test_terms_are_stated_once_the_time_is_known(generations: Generations) -> None:
    """A worker whose clock is in doubt at its start puts nothing in force by it."""
    clock = WpClock()
    clock.require_witnesses()
    clock.question("no chain confirms it")
    permission = IssuingPermission(generations, TERMS, clock)
    await permission.tend()
    assert await generations.load_since(since=0) == ()
    assert refusal(permission) == "clock_in_doubt"
    clock.confirm()
    await permission.tend()
    assert len(await generations.load_since(since=0)) == 1
    assert refusal(permission) is None
