"""Empty databases of a real PostgreSQL server for one world."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.sql import SQL, Identifier
from sqlalchemy.engine import make_url


@contextmanager
def databases(server: str) -> Iterator[tuple[str, str]]:
    """Make databases for rail and gateway and drop them afterwards; empty addresses without a server."""
    if not server:
        yield "", ""
        return
    names = [f"simulation_{uuid.uuid4().hex}" for _ in range(2)]
    with psycopg.connect(server, autocommit=True) as connection:
        for name in names:
            connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    rail, gateway = (make_url(server).set(database=name).render_as_string(hide_password=False) for name in names)
    try:
        yield rail, gateway
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            for name in names:
                connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))
