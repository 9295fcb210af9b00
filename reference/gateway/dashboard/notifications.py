"""Settings → Notifications: where a tenant's events are sent, each destination with its secret (P-WH-07, P-WH-11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reference.gateway.admin_api import NewDestination
from reference.gateway.calls import fit_model
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

    def __init__(self, desk: ScreenContext) -> None:
        self._desk = desk

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
        visit: SignedInRequest,
        url: str = "",
        types: Sequence[str] = DEFAULT_TYPES,
        faults: Mapping[str, str] | None = None,
    ) -> Reply:
        """Show the destinations and the form of a further one."""
        tenant = await self._desk.tenancy.record(visit.tenant_id)
        return await self._desk.page(
            visit,
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

    async def add(self, visit: SignedInRequest) -> Reply:
        """Add a destination and show its secret, or say beside the field what is wrong."""
        url, types = visit.form.value_of("url"), visit.form.values_of("events")
        try:
            destination = fit_model(NewDestination, {"url": url, "events": types})
        except Unprocessable as fault:
            return await self.show(visit, url, types, _faults(fault))
        await self._desk.send_once(visit)
        try:
            answer = await self._desk.webhooks.add(visit.tenant_id, destination.url, destination.events)
        except Unprocessable as fault:
            return await self.show(visit, url, types, _faults(fault))
        return await self._show_secret(visit, "The destination is added", answer, destination.url)

    async def ask_rotation(self, visit: SignedInRequest) -> Reply:
        """Ask before a secret is replaced."""
        return await self._ask(visit, "destination_rotate.html")

    async def rotate(self, visit: SignedInRequest) -> Reply:
        """Give a destination a new secret and show it."""
        destination, _ = await self._destination(visit)
        await self._desk.send_once(visit)
        answer = await self._desk.webhooks.rotate(visit.tenant_id, destination["destination_id"])
        return await self._show_secret(visit, "The secret is replaced", answer, destination["url"])

    async def ask_deletion(self, visit: SignedInRequest) -> Reply:
        """Ask before a destination is deleted."""
        return await self._ask(visit, "destination_delete.html")

    async def delete(self, visit: SignedInRequest) -> Reply:
        """Delete a destination."""
        await self._desk.webhooks.delete(visit.tenant_id, visit.arguments["destination_id"])
        return redirect_to(screen_path(visit, _SCREEN, "deleted"))

    async def _ask(self, visit: SignedInRequest, template: str) -> Reply:
        destination, tenant = await self._destination(visit)
        return await self._desk.page(visit, template, _SCREEN, tenant, destination=destination)

    async def _show_secret(self, visit: SignedInRequest, title: str, answer: Mapping[str, Any], url: str) -> Reply:
        facts = {"Address": url, "Destination id": answer["destination_id"]}
        back = screen_path(visit, _SCREEN)
        secret = Secret(title, "Its secret", answer["secret"], _NOTE, facts, back, "Go on to the destinations")
        return await self._desk.secret(visit, _SCREEN, secret)

    async def _destination(self, visit: SignedInRequest) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        tenant = await self._desk.tenancy.record(visit.tenant_id)
        return find_row(tenant["destinations"], "destination_id", visit.arguments["destination_id"]), tenant


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
