"""A tenant's links, what became of each, and payments that came too late for theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference.gateway.dashboard.desk import OPENS, Desk
from reference.gateway.dashboard.visits import Route, Visit
from reference.gateway.tenancy import Page
from reference.store.payments import PaymentState
from reference.web.exchange import Reply

_SCREEN = "links"
_REASONS: Mapping[str, str] = {
    "paid": "The link was paid already",
    "cancelled": "The link had been cancelled",
    "after_expiry": "Its block came after the link's expiry",
    "seen_after_expiry": "It was seen when the link had expired already",
}


class LinkScreen:
    """Answers at …/links."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> tuple[Route, ...]:
        """Return the routes."""
        return (Route("GET", f"/tenants/<tenant_id>/{_SCREEN}", self.show, OPENS[_SCREEN]),)

    async def show(self, visit: Visit) -> Reply:
        """Show links to those who may see tenants, payments to those who may read payments."""
        tenancy, after = self._desk.tenancy, visit.asked("after")
        sees_links, sees_payments = visit.visitor.may("tenants:admin"), visit.visitor.may("payments:read")
        page = await tenancy.links(visit.tenant_id, after) if sees_links else Page((), None)
        late: list[dict[str, Any]] = []
        paid: list[dict[str, Any]] = []
        if sees_payments and after is None:
            late = [{**one, "reason": _REASONS[one["reason"]]} for one in await tenancy.late(visit.tenant_id)]
            paid = [] if sees_links else await tenancy.payments(visit.tenant_id, PaymentState.PAID)
        return await self._desk.page(
            visit,
            "links.html",
            _SCREEN,
            page=page,
            is_first=after is None,
            late=late,
            paid=paid,
            sees_links=sees_links,
            sees_payments=sees_payments,
        )
