"""Settings → Notifications: the webhook destinations of a tenant, and their secrets (P-WH-07, P-WH-11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reference.gateway.admin_api import NewDestination
from reference.gateway.call_admission import fit_model
from reference.gateway.dashboard.screen_context import OPENS, ScreenContext, Secret, find_row, screen_path
from reference.gateway.dashboard.signed_in_request import Route, SignedInRequest, redirect_to
from reference.protocol.webhook_delivery import DEFAULT_TYPES, MOST_DESTINATIONS, EventType
from reference.web.errors import Unprocessable
from reference.web.http.exchange import Reply

_SCREEN = "settings/notifications"
_URL = "Give an absolute https address without a user name, a password or a part after #."
_EVENTS = "Choose at least one type of event."
_NOTE = "Your receiver checks signatures with it. It cannot be shown again; rotate it if it is lost."
_MEANINGS: Mapping[EventType, str] = {
    EventType.PAYMENT_CONFIRMED: "A link is paid, and its payment is final.",
    EventType.PAYMENT_CANCELLED: "A link is cancelled and can no longer be paid.",
}


class NotificationScreens:
    """Answers at …/settings/notifications."""

    def __init__(self, context: ScreenContext) -> None:
        self._context = context

    def routes(self) -> tuple[Route, ...]:
        """Return the routes."""
        path, scopes = f"/tenants/<tenant_id>/{_SCREEN}", OPENS[_SCREEN]
        destination_path = f"{path}/<destination_id>"
        return (
            Route("GET", path, self.show, scopes),
            Route("POST", path, self.add, scopes),
            Route("GET", f"{destination_path}/rotate", self.ask_rotation, scopes),
            Route("POST", f"{destination_path}/rotate", self.rotate, scopes),
            Route("GET", f"{destination_path}/delete", self.ask_deletion, scopes),
            Route("POST", f"{destination_path}/delete", self.delete, scopes),
        )

    async def show(
        self,
        request: SignedInRequest,
        url: str = "",
        types: Sequence[str] = DEFAULT_TYPES,
        faults: Mapping[str, str] | None = None,
    ) -> Reply:
        """Show the destinations and the form of a further one."""
        tenant = await self._context.tenancy.record(request.tenant_id)
        return await self._context.page(
            request,
            "notifications.html",
            _SCREEN,
            tenant,
            status=422 if faults else 200,
            most=MOST_DESTINATIONS,
            types=[(one.value, meaning) for one, meaning in _MEANINGS.items()],
            url=url,
            chosen=set(types),
            faults=faults or {},
        )

    async def add(self, request: SignedInRequest) -> Reply:
        """Add a destination and show its secret, or show the fault next to the field."""
        url, types = request.form.value_of("url"), request.form.values_of("events")
        try:
            destination = fit_model(NewDestination, {"url": url, "events": types})
        except Unprocessable as fault:
            return await self.show(request, url, types, _faults(fault))
        await self._context.send_once(request)
        try:
            answer = await self._context.webhooks.add(request.tenant_id, destination.url, destination.events)
        except Unprocessable as fault:
            return await self.show(request, url, types, _faults(fault))
        return await self._show_secret(request, "The destination is added", answer, destination.url)

    async def ask_rotation(self, request: SignedInRequest) -> Reply:
        """Ask before a secret is replaced."""
        return await self._ask(request, "destination_rotate.html")

    async def rotate(self, request: SignedInRequest) -> Reply:
        """Give a destination a new secret and show it."""
        destination, _ = await self._destination(request)
        await self._context.send_once(request)
        answer = await self._context.webhooks.rotate(request.tenant_id, destination["destination_id"])
        return await self._show_secret(request, "The secret is replaced", answer, destination["url"])

    async def ask_deletion(self, request: SignedInRequest) -> Reply:
        """Ask before a destination is deleted."""
        return await self._ask(request, "destination_delete.html")

    async def delete(self, request: SignedInRequest) -> Reply:
        """Delete a destination."""
        await self._context.webhooks.delete(request.tenant_id, request.arguments["destination_id"])
        return redirect_to(screen_path(request, _SCREEN, "deleted"))

    async def _ask(self, request: SignedInRequest, template: str) -> Reply:
        destination, tenant = await self._destination(request)
        return await self._context.page(request, template, _SCREEN, tenant, destination=destination)

    async def _show_secret(self, request: SignedInRequest, title: str, answer: Mapping[str, Any], url: str) -> Reply:
        facts = {"Address": url, "Destination id": answer["destination_id"]}
        back = screen_path(request, _SCREEN)
        secret = Secret(title, "Its secret", answer["secret"], _NOTE, facts, back, "Go on to the destinations")
        return await self._context.secret(request, _SCREEN, secret)

    async def _destination(self, request: SignedInRequest) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        tenant = await self._context.tenancy.record(request.tenant_id)
        return find_row(tenant["destinations"], "destination_id", request.arguments["destination_id"]), tenant


def _faults(fault: Unprocessable) -> dict[str, str]:
    """Return what is wrong by field, in sentences for people."""
    faults: dict[str, str] = {}
    for item in fault.detail:
        if item["loc"][1] == "events":
            faults["events"] = _EVENTS
        elif item["type"] in {"destination_address", "too_many"}:
            sentence = str(item["msg"])
            faults["url"] = f"{sentence[:1].upper()}{sentence[1:]}."
        else:
            faults["url"] = _URL
    return faults
