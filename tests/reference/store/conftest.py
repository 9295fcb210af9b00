"""Both databases: a SQLite file, and PostgreSQL by WELDPROOF_TEST_POSTGRES or a private cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from reference.store.engine import open_engine, sqlite_dsn
from reference.store.redemptions import Redemptions


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def dsn(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return sqlite_dsn(tmp_path / "rail.sqlite3")
    address: str = request.getfixturevalue("postgres_database")
    return address


@pytest.fixture
async def engine(dsn: str) -> AsyncIterator[AsyncEngine]:
    """An engine on an empty database."""
    opened = open_engine(dsn)
    yield opened
    await opened.dispose()


@pytest.fixture
async def ledger(engine: AsyncEngine) -> Redemptions:
    """The ledger, with its tables."""
    made = Redemptions(engine)
    await made.prepare()
    return made
