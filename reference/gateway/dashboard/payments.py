"""The screen Payments: a tenant's payments as a filtered list and as a file, and their receipts (2.3, 2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference.gateway import refusals
from reference.gateway.dashboard.links import late_rows
from reference.gateway.dashboard.pages import SECURITY
from reference.gateway.dashboard.payment_filter import LONGEST_TEXT, PaymentFilter, read_filter
from reference.gateway.dashboard.screen_context import OPENS, ScreenContext
from reference.gateway.dashboard.signed_in_request import Route, SignedInRequest
from reference.gateway.payment_export import MOST_ROWS, PaymentExport, TooManyPayments
from reference.gateway.received_payments import Receipts
from reference.gateway.tenant_administration import Page
from reference.protocol.service_word import ServiceWord
from reference.web.http.exchange import Reply

_SCREEN = "payments"
_JWS = "application/jose"
_CSV = "text/csv; charset=utf-8; header=present"
_TOO_MANY = f"More than {MOST_ROWS:,} payments are selected. Give days that select fewer."


class PaymentScreens:
    """Answers at …/payments, for the tenant itself and for administrators, and at the tenant's receipts."""

    def __init__(self, context: ScreenContext, word: ServiceWord, receipts: Receipts) -> None:
        self._context = context
        self._word = word
        self._receipts = receipts
        self._export = PaymentExport(word, context.tenancy, receipts)

    def routes(self) -> tuple[Route, ...]:
        """Return the routes."""
        path, own, scopes = f"/tenants/<tenant_id>/{_SCREEN}", f"/shop/{_SCREEN}", OPENS[_SCREEN]
        return (
            Route("GET", path, self.show, scopes),
            Route("GET", f"{path}/export.csv", self.export, scopes),
            Route("GET", own, self.show, for_tenants=True),
            Route("GET", f"{own}/export.csv", self.export, for_tenants=True),
            Route("GET", f"{own}/<payment_id>", self.show_receipt, for_tenants=True),
            Route("GET", f"{own}/<payment_id>/receipt.jws", self.download, for_tenants=True),
        )

    async def show(self, request: SignedInRequest) -> Reply:
        """Show payments that paid their links, and those that counted for none, as far as the filter selects them."""
        return await self._list(request, read_filter(request.call.query, self._word))

    async def export(self, request: SignedInRequest) -> Reply:
        """Send every payment that the filter selects as a CSV file, or say on the page why there is no file."""
        payment_filter = read_filter(request.call.query, self._word)
        if payment_filter.faults:
            return await self._list(request, payment_filter)
        await self._context.tenancy.find(request.tenant_id)
        try:
            data = await self._export.csv(request.tenant_id, payment_filter.search)
        except TooManyPayments:
            return await self._list(request, payment_filter, {"from": _TOO_MANY})
        return Reply(200, data, _file_headers(_CSV, payment_filter.file_name))

    async def _list(
        self, request: SignedInRequest, payment_filter: PaymentFilter, faults: Mapping[str, str] | None = None
    ) -> Reply:
        after, faults = request.read_parameter("after"), {**payment_filter.faults, **(faults or {})}
        tenant = await self._context.tenancy.record(request.tenant_id)
        # With a fault in the filter nothing is listed: a list that ignores a mistyped day would look complete.
        page = Page((), None)
        late: list[dict[str, Any]] = []
        if not faults:
            page = await self._receipts.list_page(request.tenant_id, after, payment_filter.search)
            if after is None:
                late = late_rows(await self._context.tenancy.list_unmatched(request.tenant_id, payment_filter.search))
        return await self._context.page(
            request,
            "payments.html",
            _SCREEN,
            tenant,
            status=422 if faults else 200,
            page=page,
            chosen=payment_filter,
            longest=LONGEST_TEXT,
            totals=await self._receipts.totals(request.tenant_id),
            is_first=after is None,
            late=late,
            may_refund=False,
            faults=faults,
        )

    async def show_receipt(self, request: SignedInRequest) -> Reply:
        """Show a receipt, verified now."""
        receipt = await self._receipts.load_receipt(request.tenant_id, request.arguments["payment_id"])
        return await self._context.page(
            request, "shop_receipt.html", _SCREEN, receipt=receipt, jwks_url=self._receipts.jwks_url
        )

    async def download(self, request: SignedInRequest) -> Reply:
        """Send a receipt as a file."""
        receipt = await self._receipts.load_receipt(request.tenant_id, request.arguments["payment_id"])
        if not receipt.jws:
            raise refusals.not_found()
        name = f"receipt-{receipt.payment['payment_id']}.jws"
        return Reply(200, receipt.jws.encode(), _file_headers(_JWS, name))


def _file_headers(media: str, name: str) -> Mapping[str, str]:
    # The browser saves the file instead of showing it, so nothing in it can run under this host.
    return {**SECURITY, "Content-Type": media, "Content-Disposition": f'attachment; filename="{name}"'}
