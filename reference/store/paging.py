"""Paging of long lists, newest first: each page begins behind the last row of the previous one."""

from __future__ import annotations

from sqlalchemy import Table, and_, bindparam, or_, select
from sqlalchemy.sql.elements import ColumnElement


def is_behind(table: Table, age: str = "created_at") -> ColumnElement[bool]:
    """Return the condition for the rows behind the row with the id `after`. If that row is missing, none match.

    Args:
        table: Its rows are ordered by age, the newest first, and by `id`.
        age: The column with the time at which a row was created.
    """
    last = table.alias()
    # The place is looked up by the id, so that a page can be asked for by an id alone. Rows of one second are ordered
    # by id.
    last_age = select(last.c[age]).where(last.c.id == bindparam("after")).scalar_subquery()
    return or_(table.c[age] < last_age, and_(table.c[age] == last_age, table.c.id > bindparam("after")))
