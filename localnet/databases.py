"""Databases of a stack on a PostgreSQL server: a new one for each service."""

from __future__ import annotations

import secrets
from urllib.parse import urlsplit, urlunsplit

from localnet.processes import ChildFault


async def create_database(server: str, service: str) -> str:
    """Create an empty database for a service, and return its address.

    Args:
        server: Address of a database on the server, such as `postgresql://user@/postgres?host=/run/postgresql`.
        service: Name of the service, which is part of the name of the database.

    Raises:
        ChildFault: The server does not answer, or refuses.
    """
    import psycopg  # noqa: PLC0415 - comes with the reference, and only a stack on PostgreSQL needs it
    from psycopg.sql import SQL, Identifier  # noqa: PLC0415 - as above

    name = f"weldproof_{service}_{secrets.token_hex(4)}"
    try:
        async with await psycopg.AsyncConnection.connect(server, autocommit=True) as connection:
            await connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    except psycopg.Error as fault:
        raise ChildFault(f"the database of the {service} cannot be created: {fault}") from fault
    return urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
