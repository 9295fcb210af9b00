"""The moves of a redemption as SQL statements, derived from the state table of `protocol.redemption` (5.8).

Each statement contains the condition that the row is in a state where the move can happen. So two workers that move the
same row at the same moment are decided by the database: the second statement finds no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from sqlalchemy import Delete, Update, and_, bindparam, delete, or_, update
from sqlalchemy.sql.elements import ColumnElement

from reference.protocol.redemption import REDEMPTION, RedemptionEvent, State
from reference.store.rail_tables import redemptions

_ROW = redemptions.c
IS_IT = _ROW.id == bindparam("row_id")
IS_UNPAID = _ROW.paid_at.is_(None)
_IS_IN_STATE: Mapping[State, ColumnElement[bool]] = {
    State.UNPAID: IS_UNPAID,
    State.PAID: and_(_ROW.paid_at.isnot(None), _ROW.spent_at.is_(None)),
}
# The column with the time at which a row entered its state. The other states have no row.
_SINCE: Mapping[State, str] = {State.PAID: "paid_at", State.SPENT: "spent_at", State.REFUNDED: "spent_at"}


def can_happen(event: RedemptionEvent) -> ColumnElement[bool]:
    """Return the condition of the rows for which an event can happen.

    Raises:
        KeyError: The table lets it happen in a state without a row, or in a final state.
    """
    return or_(*(_IS_IN_STATE[state] for state in REDEMPTION.starts(event)))


def build_stay(event: RedemptionEvent) -> Update:
    """Return the update of the row `row_id` for an event that does not change its state.

    Raises:
        ValueError: The table says that the event changes the state.
    """
    if REDEMPTION.starts(event) != (REDEMPTION.end(event),):
        raise ValueError(f"{event} moves a redemption")
    return update(redemptions).where(IS_IT, can_happen(event))


def build_move(*events: RedemptionEvent) -> Update:
    """Return the update of the row `row_id` at `now` for events that happen one right after the other.

    Raises:
        KeyError: The table lets one of them lead to a state that has no row.
        ValueError: The table does not let one of them follow the one before it.
    """
    for before, after in pairwise(events):
        if REDEMPTION.end(before) not in REDEMPTION.starts(after):
            raise ValueError(f"{after} does not follow {before}")
    times: dict[str, Any] = {_SINCE[REDEMPTION.end(happening)]: bindparam("now") for happening in events}
    return update(redemptions).where(IS_IT, can_happen(events[0])).values(times)


def build_drop(*events: RedemptionEvent) -> Delete:
    """Return the deletion of rows for any of some events.

    Raises:
        ValueError: The table lets one of them lead to a state that has a row.
    """
    if any(REDEMPTION.end(happening) in {State.UNPAID, *_SINCE} for happening in events):
        raise ValueError("a row is kept in the state that follows")
    return delete(redemptions).where(or_(*dict.fromkeys(map(can_happen, events))))
