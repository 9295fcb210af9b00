"""The list of tenants, a new one, and the way into each."""

from __future__ import annotations

import re
from collections.abc import Mapping

from reference.gateway import refusals
from reference.gateway.admin_api import NewTenant
from reference.gateway.calls import fit_model
from reference.gateway.dashboard.forms import fresh_form_id
from reference.gateway.dashboard.screen_context import SCREENS, ScreenContext, Secret
from reference.gateway.dashboard.sign_in import ROOT
from reference.gateway.dashboard.signed_in_request import Route, SignedInRequest, redirect_to
from reference.web.errors import Unprocessable
from reference.web.http.exchange import Reply

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAME = "Give a name of 1 to 255 characters in one line."
_ID = "Give the id of a tenant, which looks like 0b8f2c1e-5d0a-4f3b-9c55-0a1b2c3d4e5f."


class TenantScreens:
    """Answers at /dashboard, and sends on from a tenant to its first screen."""

    def __init__(self, desk: ScreenContext) -> None:
        self._desk = desk

    def routes(self) -> tuple[Route, ...]:
        """Return the routes."""
        return (
            Route("GET", "", self.show),
            Route("POST", "", self.create, ("tenants:admin",)),
            Route("GET", "/tenants/<tenant_id>", self.enter),
        )

    async def show(self, visit: SignedInRequest) -> Reply:
        """Show the tenants; a key that may not list them is asked for the id of one."""
        if not visit.visitor.may("tenants:admin"):
            return await self._open(visit)
        return await self._list(visit)

    async def create(self, visit: SignedInRequest) -> Reply:
        """Make a tenant and show its first key."""
        name = visit.form.value_of("name")
        try:
            new_tenant = fit_model(NewTenant, {"name": name})
        except Unprocessable:
            return await self._list(visit, name=name, faults={"name": _NAME})
        await self._desk.send_once(visit)
        answer = await self._desk.tenancy.create(new_tenant.name)
        base = f"{ROOT}/tenants/{answer['tenant_id']}"
        secret = Secret(
            title="The tenant is made",
            label="Its first test key",
            text=answer["api_key"],
            note="Calls send it as Authorization: Bearer, with the tenant's id as X-Tenant-Id.",
            facts={"Tenant id": answer["tenant_id"], "Key id": answer["key_id"]},
            back=f"{base}/settings/networks",
            back_name="Go on to its payout addresses",
        )
        return await self._desk.secret(visit, "", secret, await self._desk.tenancy.record(answer["tenant_id"]))

    async def enter(self, visit: SignedInRequest) -> Reply:
        """Send on to the first screen that the key opens."""
        await self._desk.tenancy.find(visit.tenant_id)
        for path, _, scopes in SCREENS:
            if visit.visitor.may(*scopes):
                return redirect_to(f"{ROOT}/tenants/{visit.tenant_id}/{path}")
        raise refusals.forbidden_scope("tenants:admin")

    async def _list(self, visit: SignedInRequest, name: str = "", faults: Mapping[str, str] | None = None) -> Reply:
        after = visit.read_parameter("after")
        page = await self._desk.tenancy.list_tenants(after)
        return self._desk.pages.page(
            "tenants.html",
            visitor=visit.visitor,
            status=422 if faults else 200,
            page=page,
            is_first=after is None,
            name=name,
            faults=faults or {},
            form_id=fresh_form_id(),
        )

    async def _open(self, visit: SignedInRequest) -> Reply:
        tenant_id = (visit.read_parameter("tenant", 1000) or "").strip().lower()
        if _UUID.fullmatch(tenant_id):
            return redirect_to(f"{ROOT}/tenants/{tenant_id}")
        faults = {"tenant": _ID} if visit.read_parameter("tenant", 1000) is not None else {}
        return self._desk.pages.page(
            "open.html", visitor=visit.visitor, status=422 if faults else 200, given=tenant_id, faults=faults
        )
