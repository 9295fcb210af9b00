"""The screen Deliveries: a tenant's webhook deliveries with their attempts, and sending again (P-WH-08)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference.gateway.dashboard.screen_context import OPENS, ScreenContext, screen_path
from reference.gateway.dashboard.signed_in_request import Route, SignedInRequest, redirect_to
from reference.protocol.webhook_delivery import DeliveryState, Outcome
from reference.web.http.exchange import Reply

_SCREEN = "deliveries"
_PAGE = 25
_STATES: Mapping[str, str] = {
    DeliveryState.PENDING: "Waiting",
    DeliveryState.SENDING: "Being sent",
    DeliveryState.DELIVERED: "Delivered",
    DeliveryState.DEAD: "Given up",
    DeliveryState.DROPPED: "Dropped",
}
_OUTCOMES: Mapping[str, str] = {
    Outcome.DELIVERED: "Delivered",
    Outcome.STATUS: "Refused",
    Outcome.TIMEOUT: "No answer in time",
    Outcome.CONNECTION: "No connection",
    Outcome.ADDRESS: "Address not allowed",
    Outcome.UNSIGNED: "Secret cannot be opened",
    Outcome.INTERRUPTED: "Interrupted, outcome unknown",
}
# One is under way, and the other's destination is deleted: nothing goes to a destination that is gone (P-WH-08).
_CANNOT = {DeliveryState.SENDING, DeliveryState.DROPPED}


class DeliveryScreen:
    """Answers at …/deliveries."""

    def __init__(self, context: ScreenContext) -> None:
        self._context = context

    def routes(self) -> tuple[Route, ...]:
        """Return the routes."""
        path, scopes = f"/tenants/<tenant_id>/{_SCREEN}", OPENS[_SCREEN]
        again = f"{path}/<delivery_id>/resend"
        return (
            Route("GET", path, self.show, scopes),
            Route("GET", again, self.back, scopes),
            Route("POST", again, self.resend, scopes),
            Route("GET", f"/shop/{_SCREEN}", self.show, for_tenants=True),
            Route("GET", f"/shop/{_SCREEN}/<delivery_id>/resend", self.back, for_tenants=True),
            Route("POST", f"/shop/{_SCREEN}/<delivery_id>/resend", self.resend, for_tenants=True),
        )

    async def show(self, request: SignedInRequest) -> Reply:
        """Show the deliveries, newest first."""
        after = request.read_parameter("after")
        tenant = await self._context.tenancy.record(request.tenant_id)
        # A delivery names its destination, which may be deleted since. Such a delivery cannot be sent again.
        destination_ids = {one["destination_id"] for one in tenant["destinations"]}
        deliveries = await self._context.webhooks.deliveries(request.tenant_id, most=_PAGE + 1, after=after)
        rows = [_delivery_row(one, is_there=one["destination_id"] in destination_ids) for one in deliveries[:_PAGE]]
        return await self._context.page(
            request,
            "deliveries.html",
            _SCREEN,
            tenant,
            rows=rows,
            after=rows[-1]["delivery_id"] if len(deliveries) > _PAGE else None,
            is_first=after is None,
        )

    async def back(self, request: SignedInRequest) -> Reply:
        """Redirect a browser that opens the address of a form to its screen."""
        return redirect_to(screen_path(request, _SCREEN))

    async def resend(self, request: SignedInRequest) -> Reply:
        """Send a delivery again."""
        await self._context.webhooks.retry(request.tenant_id, request.arguments["delivery_id"])
        return redirect_to(screen_path(request, _SCREEN, "resent"))


def _delivery_row(delivery: Mapping[str, Any], *, is_there: bool) -> dict[str, Any]:
    return {
        **delivery,
        "state_word": _STATES[delivery["state"]],
        "may_be_sent": is_there and delivery["state"] not in _CANNOT,
        "is_there": is_there,
        "attempts": [{**one, "word": _OUTCOMES[one["outcome"]]} for one in delivery["attempts"]],
    }
