"""Search of payments by a text and by the days of their blocks.

A search compares its text with columns that no index serves, so a search of a paid list reads a limited number of rows
at a time (`SCAN_ROWS`) and continues behind the last of them. The values of a search are always parameters of a
statement. They are never part of its text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import String, and_, bindparam, func, or_
from sqlalchemy.sql.elements import ColumnElement

from reference.store.checkout_tables import links

# How many payments one statement compares with a text. SQLite reads in the thread that serves all calls, so a longer
# scan would delay them.
SCAN_ROWS: Final = 1000
# A block is seen after it was made. The day covers clocks that differ, and keeps the index on `seen_at` useful.
_CLOCK_DIFFERENCE = 86_400
_END_OF_TIME = 2**62


@dataclass(frozen=True, slots=True)
class PaymentSearch:
    """The terms of a search. Every member may be left out.

    Attributes:
        text: Part of a label, an id, an address, a transaction or a memo. The case of the letters a to z is ignored.
        memo: The text without the prefix that all memos share, if it begins with that; compared with the rest of memos.
        since: The earliest block time, in unix seconds.
        until: The block time that is too late, in unix seconds.
    """

    text: str = ""
    memo: str = ""
    since: int | None = None
    until: int | None = None

    @property
    def is_set(self) -> bool:
        """Whether any term is given. Without one, every payment matches."""
        return bool(self.text) or self.since is not None or self.until is not None

    @property
    def days(self) -> dict[str, int]:
        """The parameters of `in_days`."""
        since = 0 if self.since is None else self.since
        until = _END_OF_TIME if self.until is None else self.until
        return {"block_since": since, "block_until": until, "seen_since": since - _CLOCK_DIFFERENCE}

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of `in_days`, and of `contains_text` if there is a text."""
        return (
            {**self.days, "text": _pattern(self.text), "memo": _pattern(self.memo or self.text)}
            if self.text
            else {**self.days}
        )


# Selects every payment.
ALL_PAYMENTS: Final = PaymentSearch()


def in_days(payments: Any) -> ColumnElement[bool]:
    """Return the condition that a payment's block was made in the days of a search.

    Args:
        payments: The columns of the table of payments, or of a part of it.
    """
    return and_(
        payments.seen_at >= bindparam("seen_since"),
        payments.block_time >= bindparam("block_since"),
        payments.block_time < bindparam("block_until"),
    )


def contains_text(payments: Any, *further: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that a payment or its link contains the text of a search.

    Args:
        payments: The columns of the table of payments, or of a part of it.
        further: Other columns that may contain it.
    """
    # The memo of a link is stored as its token, without the prefix, so it is compared separately.
    columns = (links.c.label, links.c.id, links.c.nonce, links.c.pay_to, payments.id, payments.tx_id, payments.payer)
    return or_(*(_like(one, "text") for one in (*columns, *further)), _like(links.c.token, "memo"))


def _like(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    # Both sides go through the database's own `lower`, so that they agree on letters outside ASCII.
    return func.lower(column).like(func.lower(bindparam(name, type_=String)), escape="\\")


def _pattern(text: str) -> str:
    """Return the LIKE pattern that matches a text anywhere. The wildcards of LIKE in the text match only themselves."""
    literal = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{literal}%"
