"""Both databases: a SQLite file, and PostgreSQL by WELDPROOF_TEST_POSTGRES or a private cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from reference.store.database import Database
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.redemptions import Redemptions


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def dsn(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return sqlite_dsn(tmp_path / "rail.sqlite3")
    address: str = request.getfixturevalue("postgres_database")
    return address


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    """An empty database."""
    new_database = open_database(dsn)
    yield new_database
    await new_database.close()


@pytest.fixture
async def ledger(database: Database) -> Redemptions:
    """The ledger, with its tables."""
    store = Redemptions(database)
    await store.prepare()
    return store
