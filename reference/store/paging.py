"""Long lists in pages: the newest first, each page from behind the last row of the one before."""

from __future__ import annotations

from sqlalchemy import Table, and_, bindparam, or_, select
from sqlalchemy.sql.elements import ColumnElement


def is_behind(table: Table, age: str = "created_at") -> ColumnElement[bool]:
    """Return what holds for the rows behind the one whose id is the parameter `after`; for none when there is no such.

    Args:
        table: Its rows are ordered by age, the newest first, and by `id`.
        age: The column with the time at which a row was created.
    """
    last = table.alias()
    last_age = select(last.c[age]).where(last.c.id == bindparam("after")).scalar_subquery()
    return or_(table.c[age] < last_age, and_(table.c[age] == last_age, table.c.id > bindparam("after")))
