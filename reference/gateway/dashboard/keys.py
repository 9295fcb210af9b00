"""The screen Keys: a tenant's API keys, new keys, rotation with an overlap, deletion (P-AU-02 to P-AU-04)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference.gateway import refusals
from reference.gateway.admin_api import NewKey
from reference.gateway.call_admission import fit_model
from reference.gateway.dashboard.pages import readable_time
from reference.gateway.dashboard.screen_context import OPENS, ScreenContext, Secret, find_row, screen_path
from reference.gateway.dashboard.signed_in_request import Route, SignedInRequest, redirect_to
from reference.protocol.time_text import utc_text
from reference.web.errors import Unprocessable
from reference.web.http.exchange import Reply

_SCREEN = "keys"
_MODE = "Choose test or live."
_NOT_APPROVED = "Live keys are for approved businesses. Decide about this one under Trial first."
_NOTE = "Store it where your server reads it. It cannot be shown again: only its hash is kept."


class KeyScreens:
    """Answers at …/keys."""

    def __init__(self, context: ScreenContext, overlap_days: int) -> None:
        self._context = context
        self._overlap_days = overlap_days

    def routes(self) -> tuple[Route, ...]:
        """Return the routes."""
        path, changes = f"/tenants/<tenant_id>/{_SCREEN}", ("apikeys:admin",)
        key_path = f"{path}/<key_id>"
        return (
            Route("GET", path, self.show, OPENS[_SCREEN]),
            Route("POST", path, self.create, changes),
            Route("GET", f"{key_path}/rotate", self.ask_rotation, changes),
            Route("POST", f"{key_path}/rotate", self.rotate, changes),
            Route("GET", f"{key_path}/delete", self.ask_deletion, changes),
            Route("POST", f"{key_path}/delete", self.delete, changes),
        )

    async def show(self, request: SignedInRequest, mode: str = "", faults: Mapping[str, str] | None = None) -> Reply:
        """Show the keys without their texts, and the form of a new one."""
        tenant = await self._context.tenancy.record(request.tenant_id)
        keys = [{**key, "state": self._state(key)} for key in reversed(tenant["keys"])]
        return await self._context.page(
            request,
            "keys.html",
            _SCREEN,
            tenant,
            status=422 if faults else 200,
            keys=keys,
            mode=mode or "test",
            faults=faults or {},
        )

    async def create(self, request: SignedInRequest) -> Reply:
        """Make a key and show it; a live one wants its own scope and an approved tenant."""
        try:
            mode = fit_model(NewKey, {"mode": request.form.value_of("mode")}).mode
        except Unprocessable:
            return await self.show(request, faults={"mode": _MODE})
        if mode == "live":
            request.require_scope("live:activate")
            if (await self._context.tenancy.find(request.tenant_id)).kyc_status != "approved":
                return await self.show(request, mode, {"mode": _NOT_APPROVED})
        await self._context.send_once(request)
        return await self._show_secret(
            request, f"The {mode} key is made", await self._context.tenancy.add_key(request.tenant_id, mode)
        )

    async def ask_rotation(self, request: SignedInRequest) -> Reply:
        """Ask before a key is rotated."""
        key, tenant = await self._key(request, "accepted")
        if key["mode"] == "live":
            request.require_scope("live:activate")
        until = utc_text(self._context.clock.now() + self._overlap_days * 86400)
        return await self._context.page(
            request, "key_rotate.html", _SCREEN, tenant, key=key, until=until, overlap_days=self._overlap_days
        )

    async def rotate(self, request: SignedInRequest) -> Reply:
        """Make a key in place of another and show it; for a live one, what a new live key wants."""
        key, tenant = await self._key(request, "accepted")
        if key["mode"] == "live":
            request.require_scope("live:activate")
            if tenant["kyc_status"] != "approved":
                return await self.show(request, "live", {"mode": _NOT_APPROVED})
        await self._context.send_once(request)
        answer = await self._context.tenancy.rotate_key(
            request.tenant_id, request.arguments["key_id"], scopes=request.visitor.scopes
        )
        return await self._show_secret(request, "The key is rotated", answer, {"Old key": request.arguments["key_id"]})

    async def ask_deletion(self, request: SignedInRequest) -> Reply:
        """Ask before a key is deleted."""
        key, tenant = await self._key(request, "accepted", "lapsing", "lapsed")
        return await self._context.page(request, "key_delete.html", _SCREEN, tenant, key=key)

    async def delete(self, request: SignedInRequest) -> Reply:
        """Delete a key."""
        await self._context.tenancy.delete_key(request.tenant_id, request.arguments["key_id"])
        return redirect_to(screen_path(request, _SCREEN, "deleted"))

    async def _show_secret(
        self, request: SignedInRequest, title: str, answer: Mapping[str, Any], further: Mapping[str, str] | None = None
    ) -> Reply:
        facts = {"Key id": answer["key_id"], "Mode": str(answer["mode"]).capitalize(), **(further or {})}
        if "old_valid_until" in answer:
            facts["Old key valid until"] = readable_time(answer["old_valid_until"])
        back = screen_path(request, _SCREEN)
        secret = Secret(title, "The new key", answer["api_key"], _NOTE, facts, back, "Go on to the keys")
        return await self._context.secret(request, _SCREEN, secret)

    async def _key(self, request: SignedInRequest, *states: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return a key that is in one of some states, and its tenant."""
        tenant = await self._context.tenancy.record(request.tenant_id)
        key = find_row(tenant["keys"], "key_id", request.arguments["key_id"])
        if self._state(key) not in states:
            raise refusals.not_found()
        return {**key, "state": self._state(key)}, tenant

    def _state(self, key: Mapping[str, Any]) -> str:
        if key["revoked_at"] is not None:
            return "deleted"
        if key["valid_until"] is None:
            return "accepted"
        return "lapsing" if key["valid_until"] > utc_text(self._context.clock.now()) else "lapsed"
