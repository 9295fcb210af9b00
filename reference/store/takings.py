"""What a tenant has been paid: payments with the links that they paid, and totals by network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, bindparam, case, func, select

from reference.store.checkout_tables import links, payments
from reference.store.database import Database, Row
from reference.store.links import Link
from reference.store.paging import behind
from reference.store.payment_search import EVERYTHING, SCAN_ROWS, PaymentSearch, contains_text, in_days
from reference.store.payments import Payment, PaymentState, payment_of


@dataclass(frozen=True, slots=True)
class Taking:
    """A payment that paid its link.

    Attributes:
        payment: The payment.
        link: The link.
    """

    payment: Payment
    link: Link


@dataclass(frozen=True, slots=True)
class Total:
    """What the paid links of a network asked for, without those whose payment the chain has undone.

    Attributes:
        network: Network key.
        count: How many links were paid.
        microunits: What they asked for together.
        recent_microunits: Those of them whose payment was seen since a moment.
    """

    network: str
    count: int
    microunits: int
    recent_microunits: int


_PAYMENT, _LINK = tuple(Payment.__slots__), tuple(Link.__slots__)
_PAID = payments.c.state == PaymentState.PAID.value
_OURS = payments.c.tenant_id == bindparam("tenant_id")
_JOINED = payments.join(links, links.c.id == payments.c.link_id)
_EACH = (
    select(*(payments.c[name] for name in _PAYMENT), *(links.c[name] for name in _LINK))
    .select_from(_JOINED)
    .where(_OURS, _PAID)
)
_NEWEST = _EACH.where(in_days(payments.c)).order_by(payments.c.seen_at.desc(), payments.c.id).limit(bindparam("most"))
# The payments that one search for a text reads: the newest of the days, or those behind the payment `after`.
_SCANNED = (
    select(*(payments.c[name] for name in _PAYMENT))
    .where(_OURS, _PAID, in_days(payments.c))
    .order_by(payments.c.seen_at.desc(), payments.c.id)
    .limit(bindparam("scanned"))
)
_IS_BEHIND = behind(payments, "seen_at")


def _found_in(scanned: Select[Any]) -> Select[Any]:
    """Return the query for the payments among some that contain a text."""
    part = scanned.subquery().c
    return (
        select(*(part[name] for name in _PAYMENT), *(links.c[name] for name in _LINK))
        .select_from(part.id.table.join(links, links.c.id == part.link_id))
        .where(contains_text(part))
        .order_by(part.seen_at.desc(), part.id)
        .limit(bindparam("most"))
    )


# By whether they follow a payment.
_LISTED = {False: _NEWEST, True: _NEWEST.where(_IS_BEHIND)}
_FOUND = {False: _found_in(_SCANNED), True: _found_in(_SCANNED.where(_IS_BEHIND))}
_LAST_SCANNED = {
    is_behind: scanned.with_only_columns(payments.c.id).limit(1).offset(bindparam("before"))
    for is_behind, scanned in ((False, _SCANNED), (True, _SCANNED.where(_IS_BEHIND)))
}
_ONE = _EACH.where(payments.c.id == bindparam("payment_id"))
_AMOUNT = links.c.amount_microunits
_TOTALS = (
    select(
        payments.c.network,
        func.count(),
        func.sum(_AMOUNT),
        func.sum(case((payments.c.seen_at >= bindparam("since"), _AMOUNT), else_=0)),
    )
    .select_from(_JOINED)
    .where(_OURS, _PAID, payments.c.reversed_at.is_(None))
    .group_by(payments.c.network)
    .order_by(payments.c.network)
)


class Takings:
    """Questions about what tenants were paid; each names the tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def listed(
        self, tenant_id: str, *, most: int, after: str | None = None, search: PaymentSearch = EVERYTHING
    ) -> Sequence[Taking]:
        """Return payments, the newest first: the first ones, or those behind the payment of an id.

        A search for a text reads `SCAN_ROWS` payments; `last_scanned` returns where the next search continues.
        """
        asked: dict[str, Any] = {"tenant_id": tenant_id, "most": most, **_behind(after), **search.values}
        if search.text:
            rows = await self._database.rows(_FOUND[after is not None], **asked, scanned=SCAN_ROWS)
        else:
            rows = await self._database.rows(_LISTED[after is not None], **asked)
        return [_taking(row) for row in rows]

    async def last_scanned(self, tenant_id: str, *, after: str | None, search: PaymentSearch) -> str | None:
        """Return the id of the last payment that a search for a text read, None if it read all there are."""
        asked = {"tenant_id": tenant_id, "before": SCAN_ROWS - 1, **_behind(after), **search.days}
        rows = await self._database.rows(_LAST_SCANNED[after is not None], **asked)
        return str(rows[0][0]) if rows else None

    async def one(self, tenant_id: str, payment_id: str) -> Taking | None:
        """Return a payment of a tenant, or None if the tenant has no such payment."""
        rows = await self._database.rows(_ONE, tenant_id=tenant_id, payment_id=payment_id)
        return _taking(rows[0]) if rows else None

    async def totals(self, tenant_id: str, *, since: int) -> Sequence[Total]:
        """Return the totals of each network on which a tenant was paid; `since` is unix seconds."""
        rows = await self._database.rows(_TOTALS, tenant_id=tenant_id, since=since)
        return [Total(str(row[0]), int(row[1]), int(row[2]), int(row[3])) for row in rows]


def _behind(after: str | None) -> dict[str, str]:
    return {} if after is None else {"after": after}


def _taking(row: Row) -> Taking:
    return Taking(payment_of(row[: len(_PAYMENT)]), Link(*row[len(_PAYMENT) :]))
