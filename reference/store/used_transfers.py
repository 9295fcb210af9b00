"""Used transfers: each transfer buys one thing of an operator, at any surface (decision 0045).

Surfaces that share a database share this table. A row is inserted in the very transaction that marks a redemption paid
or ends a link as paid, and its primary key decides between all that take the transfer at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from functools import lru_cache
from typing import Any

from sqlalchemy import BigInteger, Column, Integer, MetaData, String, Table, bindparam, insert, select
from sqlalchemy.sql.dml import Insert
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.selectable import Select

from reference.store.database import Change, Database, DuplicateKey

METADATA = MetaData()

used_transfers = Table(
    "used_transfers",
    METADATA,
    Column("network", String(64), primary_key=True),
    Column("tx_id", String(128), primary_key=True),
    # Place of the transfer in its transaction (P-CK-08), or SOME_TRANSFER.
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("used_by", String(8), nullable=False),
    # The redemption's number or the link's id.
    Column("user_id", String(36), nullable=False),
    Column("used_at", BigInteger, nullable=False),
)

# Redemptions from before this table existed do not name the transfer of their transaction that paid them.
SOME_TRANSFER = -1
# What was sold before the table was kept and is older than this is not listed: every challenge and link has long ended.
EARLIER_SALES_SECONDS = 30 * 86_400


class UsedBy(StrEnum):
    """The use of a transfer: a call, a link, or a refund."""

    CALL = "call"
    LINK = "link"
    REFUND = "refund"


_ROW = used_transfers.c
_NAMES = tuple(used_transfers.columns.keys())
_INSERT = insert(used_transfers).values({name: bindparam(name) for name in _NAMES})
_OF_TRANSACTION = select(_ROW.ordinal).where(
    _ROW.network == bindparam("network"), _ROW.tx_id == bindparam("tx_id"), _ROW.used_by != bindparam("used_by")
)


def build_use(network: str, tx_id: str, ordinal: int, used_by: UsedBy, user_id: str, *, now: int) -> Change:
    """Return the change that marks a transfer as used. A used one is refused as `DuplicateKey`.

    Args:
        network: Network key.
        tx_id: Transaction, canonical.
        ordinal: Place of the transfer in it.
        used_by: What it buys.
        user_id: The redemption's number, or the id of the link or of the link's payment that was given back.
        now: Unix seconds.
    """
    values = (network, tx_id, ordinal, used_by.value, user_id, now)
    return Change(_INSERT, dict(zip(_NAMES, values, strict=True)))


def is_unlisted(network: Any, tx_id: Any, user_id: Any) -> ColumnElement[bool]:
    """Return the condition that the transfer in the columns of another table's row is not listed here."""
    listed_row = select(_ROW.tx_id).where(_ROW.network == network, _ROW.tx_id == tx_id, _ROW.user_id == user_id)
    return ~listed_row.exists()


async def list_earlier_sales(database: Database, sales: Select[Any], **values: Any) -> None:
    """Create the table if it is missing, and list earlier sales, which old workers may still make without it.

    Args:
        database: The database.
        sales: Selects the unlisted sales, in the order of the columns.
        values: Its parameters.
    """
    await database.create(METADATA)
    one_of_them, insertion = _build_listing(sales)
    while await database.rows(one_of_them, **values):
        with suppress(DuplicateKey):  # another worker lists them, too
            await database.change(insertion, **values)


@lru_cache(maxsize=8)
def _build_listing(sales: Select[Any]) -> tuple[Select[Any], Insert]:
    """Return a query for one unlisted sale, and the insertion of all. Databases keep both compiled."""
    return sales.limit(1), insert(used_transfers).from_select(list(_NAMES), sales)


async def unavailable_to_links(database: Database, network: str, tx_id: str) -> Sequence[int]:
    """Return the places of the transfers of a transaction that no link may take, or `SOME_TRANSFER`.

    They have bought calls, or were given back.
    """
    rows = await database.rows(_OF_TRANSACTION, network=network, tx_id=tx_id, used_by=UsedBy.LINK.value)
    return [int(row[0]) for row in rows]
