"""The database interface: queries, and changes that are on the disk when they are reported as done.

The statements are built once, with SQLAlchemy Core, and are the same on every database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol, TypeAlias

from sqlalchemy import MetaData, Select, Update, select
from sqlalchemy.sql.base import Executable

from reference.fast_records import record

Row: TypeAlias = Sequence[Any]
_ALIVE = select(1)


class DuplicateKey(Exception):
    """A unique index refused a change, because the key exists already. The whole transaction changed nothing."""


class RowNotFound(Exception):
    """A change that needs a row found none. The whole transaction changed nothing."""


class DatabaseUnavailable(Exception):
    """The database did not carry out a query or a change.

    If a change took too long, it may have been carried out, or be carried out later, as after a crash.
    """


@record
class Change:
    """One statement with its values.

    Attributes:
        statement: An insert, update or delete with named parameters.
        values: The values of these parameters.
        is_needed: Whether the whole transaction is undone if it changes no row.
    """

    statement: Executable
    values: Mapping[str, Any] = field(default_factory=dict)
    is_needed: bool = False


class Write(Protocol):
    """Carries out several changes in one transaction, like `Database.change_all`. A caller may add changes to it."""

    async def __call__(self, *changes: Change) -> object:
        """Carry out the changes, or raise as `Database.change_all` does."""


class Database(Protocol):
    """One database. Every change is atomic, durable, and seen by each later read."""

    async def rows(self, statement: Executable, /, **values: Any) -> Sequence[Row]:
        """Return the rows of a query, with plain columns in the order of the query.

        Raises:
            DatabaseUnavailable: The database does not answer.
        """

    async def change(self, statement: Executable, /, **values: Any) -> int:
        """Carry out one statement and return how many rows it changed.

        Raises:
            Taken: A unique index refused it.
            DatabaseUnavailable: It was not carried out.
        """

    async def change_all(self, *changes: Change) -> Sequence[int]:
        """Carry out several statements in one transaction and return how many rows each changed.

        Raises:
            Taken: A unique index refused one, and none was carried out.
            Missed: A needed one found no row, and none was carried out.
            DatabaseUnavailable: None was carried out.
        """

    async def take(self, query: Select[Any], change: Update, /, **values: Any) -> Sequence[Row]:
        """Return the rows of a query, and carry out a change for each row in the same transaction.

        The change has the same values, and `query`: the row's first column. No other writer changes a row in
        between; on a database with several writers, the query locks its rows (`with_for_update`).

        Raises:
            Taken: A unique index refused a change, and none was carried out.
            DatabaseUnavailable: None was carried out.
        """

    async def create(self, tables: MetaData) -> None:
        """Create the missing tables and indexes. Workers that start at the same time do not disturb each other."""

    def count_connections(self) -> Mapping[str, int]:
        """Return how much of the database's capacity is used now: counts of connections or of changes, by state."""

    async def close(self) -> None:
        """Close all connections after carrying out everything that was submitted before."""


async def ping(database: Database) -> None:
    """Ask a database for a constant.

    Raises:
        DatabaseUnavailable: It does not answer.
    """
    await database.rows(_ALIVE)
