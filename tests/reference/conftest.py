"""PostgreSQL for those who need it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from sqlalchemy.engine import make_url

from programs.missing import Missing
from tests.reference.postgres_cluster import private_cluster


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL server; its absence is a failure, never a skip."""
    named = os.environ.get("WELDPROOF_TEST_POSTGRES")
    if named:
        yield named
        return
    try:
        with private_cluster() as address:
            yield address
    except Missing as reason:
        pytest.fail(str(reason))


@pytest.fixture
def postgres_database(postgres_server: str) -> Iterator[str]:
    """The address of an empty database of its own."""
    name = f"weldproof_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    yield make_url(postgres_server).set(database=name).render_as_string(hide_password=False)
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))
