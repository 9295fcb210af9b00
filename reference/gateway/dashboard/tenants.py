"""The screen of all tenants: their list, a form for a new one, and the links to each."""

from __future__ import annotations

import re
from collections.abc import Mapping

from reference.gateway import refusals
from reference.gateway.admin_api import NewTenant
from reference.gateway.call_admission import fit_model
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

    def __init__(self, context: ScreenContext) -> None:
        self._context = context

    def routes(self) -> tuple[Route, ...]:
        """Return the routes."""
        return (
            Route("GET", "", self.show),
            Route("POST", "", self.create, ("tenants:admin",)),
            Route("GET", "/tenants/<tenant_id>", self.enter),
        )

    async def show(self, request: SignedInRequest) -> Reply:
        """Show the tenants; a key that may not list them is asked for the id of one."""
        if not request.visitor.may("tenants:admin"):
            return await self._open(request)
        return await self._list(request)

    async def create(self, request: SignedInRequest) -> Reply:
        """Make a tenant and show its first key."""
        name = request.form.value_of("name")
        try:
            new_tenant = fit_model(NewTenant, {"name": name})
        except Unprocessable:
            return await self._list(request, name=name, faults={"name": _NAME})
        await self._context.send_once(request)
        answer = await self._context.tenancy.create(new_tenant.name)
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
        return await self._context.secret(request, "", secret, await self._context.tenancy.record(answer["tenant_id"]))

    async def enter(self, request: SignedInRequest) -> Reply:
        """Send on to the first screen that the key opens."""
        await self._context.tenancy.find(request.tenant_id)
        # A key may open only some screens. It is sent to the first one that it opens.
        for path, _, scopes in SCREENS:
            if request.visitor.may(*scopes):
                return redirect_to(f"{ROOT}/tenants/{request.tenant_id}/{path}")
        raise refusals.forbidden_scope("tenants:admin")

    async def _list(self, request: SignedInRequest, name: str = "", faults: Mapping[str, str] | None = None) -> Reply:
        after = request.read_parameter("after")
        page = await self._context.tenancy.list_tenants(after)
        return self._context.pages.page(
            "tenants.html",
            visitor=request.visitor,
            status=422 if faults else 200,
            page=page,
            is_first=after is None,
            name=name,
            faults=faults or {},
            form_id=fresh_form_id(),
        )

    async def _open(self, request: SignedInRequest) -> Reply:
        tenant_id = (request.read_parameter("tenant", 1000) or "").strip().lower()
        if _UUID.fullmatch(tenant_id):
            return redirect_to(f"{ROOT}/tenants/{tenant_id}")
        faults = {"tenant": _ID} if request.read_parameter("tenant", 1000) is not None else {}
        return self._context.pages.page(
            "open.html", visitor=request.visitor, status=422 if faults else 200, given=tenant_id, faults=faults
        )
