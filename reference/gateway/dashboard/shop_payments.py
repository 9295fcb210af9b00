"""A tenant's own payments, and the receipt of each: shown, verified, downloaded (2.3, 2.4)."""

from __future__ import annotations

from reference.gateway import refusals
from reference.gateway.dashboard.desk import ScreenContext
from reference.gateway.dashboard.links import late_rows
from reference.gateway.dashboard.pages import SECURITY
from reference.gateway.dashboard.visits import Route, SignedInRequest
from reference.gateway.takings import Receipts
from reference.web.http.exchange import Reply

_SCREEN = "payments"
_JWS = "application/jose"


class ShopPayments:
    """Answers at /dashboard/shop/payments."""

    def __init__(self, desk: ScreenContext, receipts: Receipts) -> None:
        self._desk = desk
        self._receipts = receipts

    def routes(self) -> tuple[Route, ...]:
        """Return the routes."""
        path = f"/shop/{_SCREEN}"
        return (
            Route("GET", path, self.show, for_tenants=True),
            Route("GET", f"{path}/<payment_id>", self.one, for_tenants=True),
            Route("GET", f"{path}/<payment_id>/receipt.jws", self.download, for_tenants=True),
        )

    async def show(self, visit: SignedInRequest) -> Reply:
        """Show payments that paid their links, and those that counted for none."""
        after = visit.asked("after")
        return await self._desk.page(
            visit,
            "shop_payments.html",
            _SCREEN,
            page=await self._receipts.listed(visit.tenant_id, after),
            totals=await self._receipts.totals(visit.tenant_id),
            is_first=after is None,
            late=[] if after is not None else late_rows(await self._desk.tenancy.uncounted(visit.tenant_id)),
            may_refund=False,
        )

    async def one(self, visit: SignedInRequest) -> Reply:
        """Show a receipt, verified now."""
        receipt = await self._receipts.one(visit.tenant_id, visit.arguments["payment_id"])
        return await self._desk.page(
            visit, "shop_receipt.html", _SCREEN, receipt=receipt, jwks_url=self._receipts.jwks_url
        )

    async def download(self, visit: SignedInRequest) -> Reply:
        """Send a receipt as a file."""
        receipt = await self._receipts.one(visit.tenant_id, visit.arguments["payment_id"])
        if not receipt.jws:
            raise refusals.not_found()
        name = f"receipt-{receipt.payment['payment_id']}.jws"
        headers = {**SECURITY, "Content-Type": _JWS, "Content-Disposition": f'attachment; filename="{name}"'}
        return Reply(200, receipt.jws.encode(), headers)
