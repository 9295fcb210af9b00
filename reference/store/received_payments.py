"""Received payments of tenants: payments with the links that they paid, and totals by network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, bindparam, case, func, select

from reference.store.checkout_tables import links, payments
from reference.store.database import Database, Row
from reference.store.link_payments import Payment, PaymentState, read_payment
from reference.store.links import Link
from reference.store.paging import is_behind
from reference.store.payment_text_search import ALL_PAYMENTS, SCAN_ROWS, PaymentSearch, contains_text, in_days


@dataclass(frozen=True, slots=True)
class ReceivedPayment:
    """A payment that paid its link.

    Attributes:
        payment: The payment.
        link: The link.
    """

    payment: Payment
    link: Link


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of the amounts of the paid links of a network, without those whose payment the chain has undone.

    Attributes:
        network: Network key.
        count: How many links were paid.
        microunits: The sum of their amounts.
        recent_microunits: The part of it whose payments were seen since a moment.
    """

    network: str
    count: int
    microunits: int
    recent_microunits: int


_PAYMENT, _LINK = tuple(Payment.__slots__), tuple(Link.__slots__)
_IS_PAID = payments.c.state == PaymentState.PAID.value
_IS_OF_TENANT = payments.c.tenant_id == bindparam("tenant_id")
_WITH_LINKS = payments.join(links, links.c.id == payments.c.link_id)
_RECEIVED_PAYMENTS = (
    select(*(payments.c[name] for name in _PAYMENT), *(links.c[name] for name in _LINK))
    .select_from(_WITH_LINKS)
    .where(_IS_OF_TENANT, _IS_PAID)
)
_NEWEST = (
    _RECEIVED_PAYMENTS.where(in_days(payments.c))
    .order_by(payments.c.seen_at.desc(), payments.c.id)
    .limit(bindparam("most"))
)
# The payments that one search for a text reads. A limit inside the subquery bounds the rows that are compared, which a
# limit on the result would not.
_SCAN = (
    select(*(payments.c[name] for name in _PAYMENT))
    .where(_IS_OF_TENANT, _IS_PAID, in_days(payments.c))
    .order_by(payments.c.seen_at.desc(), payments.c.id)
    .limit(bindparam("scanned"))
)
_IS_BEHIND = is_behind(payments, "seen_at")


def _select_matches(scan: Select[Any]) -> Select[Any]:
    """Return the query for the payments among some that contain a text."""
    part = scan.subquery().c
    return (
        select(*(part[name] for name in _PAYMENT), *(links.c[name] for name in _LINK))
        .select_from(part.id.table.join(links, links.c.id == part.link_id))
        .where(contains_text(part))
        .order_by(part.seen_at.desc(), part.id)
        .limit(bindparam("most"))
    )


# By whether the page follows another payment.
_PAGES = {False: _NEWEST, True: _NEWEST.where(_IS_BEHIND)}
_MATCHES = {False: _select_matches(_SCAN), True: _select_matches(_SCAN.where(_IS_BEHIND))}
_LAST_SCANNED = {
    follows: scanned.with_only_columns(payments.c.id).limit(1).offset(bindparam("before"))
    for follows, scanned in ((False, _SCAN), (True, _SCAN.where(_IS_BEHIND)))
}
_GET = _RECEIVED_PAYMENTS.where(payments.c.id == bindparam("payment_id"))
_AMOUNT = links.c.amount_microunits
# Totals sum up the amounts of the links, not what was moved: a surplus is not income, it may have to be given back.
_TOTALS = (
    select(
        payments.c.network,
        func.count(),
        func.sum(_AMOUNT),
        func.sum(case((payments.c.seen_at >= bindparam("since"), _AMOUNT), else_=0)),
    )
    .select_from(_WITH_LINKS)
    .where(_IS_OF_TENANT, _IS_PAID, payments.c.reversed_at.is_(None))
    .group_by(payments.c.network)
    .order_by(payments.c.network)
)


class ReceivedPayments:
    """Queries of received payments. Each names the tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_page(
        self, tenant_id: str, *, most: int, after: str | None = None, search: PaymentSearch = ALL_PAYMENTS
    ) -> Sequence[ReceivedPayment]:
        """Return a page of payments, the newest first, from behind the payment `after`.

        A search for a text reads `SCAN_ROWS` payments; `last_scanned` returns where the next search continues.
        """
        values: dict[str, Any] = {"tenant_id": tenant_id, "most": most, **_behind(after), **search.values}
        if search.text:
            rows = await self._database.rows(_MATCHES[after is not None], **values, scanned=SCAN_ROWS)
        else:
            rows = await self._database.rows(_PAGES[after is not None], **values)
        return [_read_received(row) for row in rows]

    async def last_scanned(self, tenant_id: str, *, after: str | None, search: PaymentSearch) -> str | None:
        """Return the id of the last payment that a search for a text read, or None if it read all of them."""
        values = {"tenant_id": tenant_id, "before": SCAN_ROWS - 1, **_behind(after), **search.days}
        rows = await self._database.rows(_LAST_SCANNED[after is not None], **values)
        return str(rows[0][0]) if rows else None

    async def find(self, tenant_id: str, payment_id: str) -> ReceivedPayment | None:
        """Return a payment of a tenant, or None if the tenant has no such payment."""
        rows = await self._database.rows(_GET, tenant_id=tenant_id, payment_id=payment_id)
        return _read_received(rows[0]) if rows else None

    async def totals(self, tenant_id: str, *, since: int) -> Sequence[Total]:
        """Return the totals of each network on which a tenant was paid; `since` is unix seconds."""
        rows = await self._database.rows(_TOTALS, tenant_id=tenant_id, since=since)
        return [Total(str(row[0]), int(row[1]), int(row[2]), int(row[3])) for row in rows]


def _behind(after: str | None) -> dict[str, str]:
    return {} if after is None else {"after": after}


def _read_received(row: Row) -> ReceivedPayment:
    return ReceivedPayment(read_payment(row[: len(_PAYMENT)]), Link(*row[len(_PAYMENT) :]))
