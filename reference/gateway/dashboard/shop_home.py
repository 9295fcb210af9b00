"""A tenant's start page, and its networks and trial, which it can only read (3.9, 3.10)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from reference.gateway.dashboard.screen_context import ScreenContext
from reference.gateway.dashboard.signed_in_request import Route, SignedInRequest
from reference.gateway.merchant_branding import Storefronts
from reference.gateway.received_payments import Receipts
from reference.protocol.networks import NETWORKS
from reference.web.http.exchange import Reply

_NETWORKS, _TRIAL = "settings/networks", "trial"
_DAY = 86400


class ShopHome:
    """Answers at /dashboard/shop and at two of its screens, which a tenant only reads."""

    def __init__(self, context: ScreenContext, storefronts: Storefronts, receipts: Receipts) -> None:
        self._context = context
        self._storefronts = storefronts
        self._receipts = receipts

    def routes(self) -> tuple[Route, ...]:
        """Return the routes."""
        return (
            Route("GET", "/shop", self.show, for_tenants=True),
            Route("GET", f"/shop/{_NETWORKS}", self.networks, for_tenants=True),
            Route("GET", f"/shop/{_TRIAL}", self.trial, for_tenants=True),
        )

    async def show(self, request: SignedInRequest) -> Reply:
        """Show the finished and the next steps of the setup, and the totals."""
        tenant = await self._context.tenancy.record(request.tenant_id)
        storefront = await self._storefronts.of(request.tenant_id)
        totals = await self._receipts.totals(request.tenant_id)
        # The steps of a new shop, in order. Each is read from the data, so none can be ticked by hand.
        steps = {
            "network": bool(tenant["networks"]),
            "storefront": bool(storefront.name or storefront.logo),
            "link": bool((await self._context.tenancy.links(request.tenant_id)).rows),
            "paid": bool(totals),
            "events": bool(tenant["destinations"]),
        }
        values = {**await self._trial_values(request, tenant), "totals": totals, "steps": steps}
        return await self._context.page(request, "shop_home.html", "", tenant, **values)

    async def networks(self, request: SignedInRequest) -> Reply:
        """Show where the shop is paid."""
        tenant = await self._context.tenancy.record(request.tenant_id)
        offered_keys = self._context.tenancy.list_offered_networks()
        rows = [
            {
                "network": key,
                "address": payout["payout_address"],
                "is_test": NETWORKS[key].is_test,
                "is_offered": key in offered_keys,
            }
            for key, payout in tenant["networks"].items()
        ]
        further = [key for key in offered_keys if key not in tenant["networks"]]
        values = {**await self._trial_values(request, tenant), "rows": rows, "further": further}
        return await self._context.page(request, "shop_networks.html", _NETWORKS, tenant, **values)

    async def trial(self, request: SignedInRequest) -> Reply:
        """Show what the shop may sell today."""
        tenant = await self._context.tenancy.record(request.tenant_id)
        values = await self._trial_values(request, tenant)
        return await self._context.page(request, "shop_trial.html", _TRIAL, tenant, **values)

    async def _trial_values(self, request: SignedInRequest, tenant: dict[str, Any]) -> dict[str, Any]:
        ends = int(datetime.fromisoformat(tenant["trial_ends_at"]).timestamp())
        return {
            "test_barred": await self._context.tenancy.find_trial_refusal(request.tenant_id, "test"),
            "live_barred": await self._context.tenancy.find_trial_refusal(request.tenant_id, "live"),
            "days_left": max(0, -((self._context.clock.now() - ends) // _DAY)),
            "left": max(0, tenant["allowance_microunits"] - tenant["used_microunits"]),
            "mode": request.visitor.mode,
        }
