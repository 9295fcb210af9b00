"""The screen Links: a tenant's links with their states, and unmatched payments with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reference.gateway.dashboard.screen_context import OPENS, ScreenContext, screen_path
from reference.gateway.dashboard.signed_in_request import Route, SignedInRequest, redirect_to
from reference.gateway.tenant_administration import Page
from reference.gateway.unmatched_payments import amount_text
from reference.store.link_payments import PaymentState
from reference.web.errors import Unprocessable
from reference.web.http.exchange import Reply

_SCREEN = "links"
_REASONS: Mapping[str, str] = {
    "paid": "The link was paid already",
    "cancelled": "The link had been cancelled",
    "after_expiry": "Its block came after the link's expiry",
    "seen_after_expiry": "It was seen when the link had expired already",
    "wrong_amount": "Less than the link asks; parts are not added up",
    "surplus": "More than the link asks; the link is paid",
    "wrong_asset": "Another asset than the link asks. Any account can issue one: never give USDC back for it",
    "ambiguous_memo": "Its memo is not exactly that of one link; another link may be meant",
}
_REFUND = ("tenants:admin",)


class LinkScreen:
    """Answers at …/links."""

    def __init__(self, context: ScreenContext) -> None:
        self._context = context

    def routes(self) -> tuple[Route, ...]:
        """Return the routes."""
        path = f"/tenants/<tenant_id>/{_SCREEN}"
        again = f"{path}/payments/<payment_id>/refunded"
        return (
            Route("GET", path, self.show, OPENS[_SCREEN]),
            Route("GET", again, self.back, OPENS[_SCREEN]),
            Route("POST", again, self.refund, _REFUND),
        )

    async def back(self, request: SignedInRequest) -> Reply:
        """Redirect a browser that opens the address of a form to its screen."""
        return redirect_to(screen_path(request, _SCREEN))

    async def refund(self, request: SignedInRequest) -> Reply:
        """Record the transaction that gave a payment back."""
        request.require_scope("payments:read")
        payment_id = request.arguments["payment_id"]
        try:
            await self._context.tenancy.refund(request.tenant_id, payment_id, request.form.value_of("transaction"))
        except Unprocessable:
            sentence = "Give the id of the transaction that gave the payment back, of the payment's network."
            return await self.show(request, {f"transaction-{payment_id}": sentence})
        return redirect_to(screen_path(request, _SCREEN, "refunded"))

    async def show(self, request: SignedInRequest, faults: Mapping[str, str] | None = None) -> Reply:
        """Show links to keys that may see tenants, and payments to keys that may read payments."""
        tenancy, after = self._context.tenancy, request.read_parameter("after")
        sees_links, sees_payments = request.visitor.may("tenants:admin"), request.visitor.may("payments:read")
        # A key with only one of the two scopes sees only its half of the screen.
        page = await tenancy.links(request.tenant_id, after) if sees_links else Page((), None)
        late_payments: list[dict[str, Any]] = []
        paid_rows: list[dict[str, Any]] = []
        if sees_payments and after is None:
            late_payments = late_rows(await tenancy.list_unmatched(request.tenant_id))
            paid_rows = [] if sees_links else await tenancy.payments(request.tenant_id, PaymentState.PAID)
        return await self._context.page(
            request,
            "links.html",
            _SCREEN,
            page=page,
            is_first=after is None,
            late=late_payments,
            paid=paid_rows,
            sees_links=sees_links,
            sees_payments=sees_payments,
            may_refund=request.visitor.may(*_REFUND),
            status=422 if faults else 200,
            faults=faults or {},
        )


def late_rows(payments: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of unmatched payments, with amount and reason in words."""
    return [{**one, "reason": _REASONS[one["reason"]], "amount": amount_text(one)} for one in payments]
