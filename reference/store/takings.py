"""What a tenant has been paid: payments with the links that they paid, and totals by network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, case, func, select

from reference.store.checkout_tables import links, payments
from reference.store.database import Database, Row
from reference.store.links import Link
from reference.store.paging import behind
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
_NEWEST = _EACH.order_by(payments.c.seen_at.desc(), payments.c.id).limit(bindparam("most"))
_FURTHER = _NEWEST.where(behind(payments, "seen_at"))
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

    async def listed(self, tenant_id: str, *, most: int, after: str | None = None) -> Sequence[Taking]:
        """Return payments, the newest first: the first ones, or those behind the payment of an id."""
        asked = {"tenant_id": tenant_id, "most": most}
        rows = await (
            self._database.rows(_NEWEST, **asked)
            if after is None
            else self._database.rows(_FURTHER, **asked, after=after)
        )
        return [_taking(row) for row in rows]

    async def one(self, tenant_id: str, payment_id: str) -> Taking | None:
        """Return a payment of a tenant, or None if the tenant has no such payment."""
        rows = await self._database.rows(_ONE, tenant_id=tenant_id, payment_id=payment_id)
        return _taking(rows[0]) if rows else None

    async def totals(self, tenant_id: str, *, since: int) -> Sequence[Total]:
        """Return the totals of each network on which a tenant was paid; `since` is unix seconds."""
        rows = await self._database.rows(_TOTALS, tenant_id=tenant_id, since=since)
        return [Total(str(row[0]), int(row[1]), int(row[2]), int(row[3])) for row in rows]


def _taking(row: Row) -> Taking:
    return Taking(payment_of(row[: len(_PAYMENT)]), Link(*row[len(_PAYMENT) :]))
