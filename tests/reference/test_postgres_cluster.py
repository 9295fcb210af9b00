"""The database of a test is empty, even if another test used it, and has no other connections."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from sqlalchemy.engine import make_url

from tests.reference.postgres_cluster import own_database

pytestmark = pytest.mark.postgres
_TABLES = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"


def test_what_somebody_left_is_gone(postgres_server: str) -> None:
    """Tables, types, and who was in the middle of something."""
    with own_database(postgres_server) as address:
        left_connection = psycopg.connect(address)
        left_connection.execute("CREATE TABLE kept (key integer PRIMARY KEY)")
        left_connection.commit()
        left_connection.execute("LOCK TABLE kept")
    with own_database(postgres_server) as again, psycopg.connect(again) as connection:
        assert again == address
        assert connection.execute(_TABLES).fetchone() == (0,)
        with pytest.raises(psycopg.OperationalError):
            left_connection.execute("SELECT 1")
    left_connection.close()


def test_two_at_once_are_two(postgres_server: str) -> None:
    """Who has a database has it alone."""
    with own_database(postgres_server) as first_dsn, own_database(postgres_server) as second_dsn:
        assert first_dsn != second_dsn


def test_one_that_cannot_be_used_is_not_given(postgres_server: str) -> None:
    """A test that failed may have left it closed."""
    with own_database(postgres_server) as address, psycopg.connect(postgres_server, autocommit=True) as connection:
        name = Identifier(str(make_url(address).database))
        connection.execute(SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
    with own_database(postgres_server) as dsn, psycopg.connect(dsn) as connection:
        assert dsn != address
        assert connection.execute(_TABLES).fetchone() == (0,)
