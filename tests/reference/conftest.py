"""PostgreSQL for those who need it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from programs.missing import Missing
from tests.reference.postgres_cluster import drop_databases, own_database, private_cluster


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL server; its absence is a failure, never a skip."""
    named = os.environ.get("WELDPROOF_TEST_POSTGRES")
    if named:
        yield named
        drop_databases(named)
        return
    try:
        with private_cluster() as address:
            yield address
    except Missing as reason:
        pytest.fail(str(reason))


@pytest.fixture
def postgres_database(postgres_server: str) -> Iterator[str]:
    """The address of an empty database of its own."""
    with own_database(postgres_server) as address:
        yield address
