"""Settings → Checkout: what the checkout page shows of a tenant, and the addresses of its shop (P-CK-04, 3.9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference.gateway.dashboard.screen_context import OPENS, ScreenContext, screen_path
from reference.gateway.dashboard.signed_in_request import Route, SignedInRequest, redirect_to
from reference.gateway.merchant_branding import (
    LOGO_BYTES,
    LOGO_PIXELS,
    LONGEST_CONTACT,
    LONGEST_NAME,
    MOST_ADDRESSES,
    Storefronts,
    Unfit,
    check_contact,
    check_logo,
    check_name,
)
from reference.web.http.exchange import Reply

_SCREEN = "settings/checkout"


class StorefrontScreen:
    """Answers at …/settings/checkout, for the tenant itself and for administrators."""

    def __init__(self, context: ScreenContext, storefronts: Storefronts) -> None:
        self._context = context
        self._storefronts = storefronts

    def routes(self) -> tuple[Route, ...]:
        """Return the routes."""
        routes: list[Route] = []
        for path, access in (
            (f"/tenants/<tenant_id>/{_SCREEN}", {"scopes": OPENS[_SCREEN]}),
            (f"/shop/{_SCREEN}", {"for_tenants": True}),
        ):
            options: dict[str, Any] = access
            routes += [
                Route("GET", path, self.show, **options),
                Route("POST", path, self.save, **options),
                Route("GET", f"{path}/logo", self.back, **options),
                Route("POST", f"{path}/logo", self.save_logo, **options, takes_file=True),
                Route("GET", f"{path}/logo/delete", self.back, **options),
                Route("POST", f"{path}/logo/delete", self.delete_logo, **options),
            ]
        return tuple(routes)

    async def show(self, request: SignedInRequest) -> Reply:
        """Show what payers see."""
        merchant = await self._storefronts.of(request.tenant_id)
        return await self._form(request, merchant.name, "\n".join(merchant.addresses), merchant.contact, {})

    async def back(self, request: SignedInRequest) -> Reply:
        """Redirect a browser that opens the address of a form to its screen."""
        return redirect_to(screen_path(request, _SCREEN))

    async def save(self, request: SignedInRequest) -> Reply:
        """Replace name, contact and addresses, or show the fault next to each field."""
        name, addresses_text, contact = (
            request.form.value_of("name"),
            request.form.value_of("addresses"),
            request.form.value_of("contact"),
        )
        addresses = list(dict.fromkeys(addresses_text.split()))
        faults: dict[str, str] = {}
        try:
            check_name(name)
        except Unfit as unfit:
            faults["name"] = unfit.sentence
        try:
            check_contact(contact)
        except Unfit as unfit:
            faults["contact"] = unfit.sentence
        try:
            self._storefronts.check_addresses(addresses)
        except Unfit as unfit:
            faults["addresses"] = unfit.sentence
        if faults:
            return await self._form(request, name, addresses_text, contact, faults)
        await self._context.tenancy.find(request.tenant_id)
        await self._storefronts.save(request.tenant_id, name, addresses, contact)
        return redirect_to(screen_path(request, _SCREEN, "saved"))

    async def save_logo(self, request: SignedInRequest) -> Reply:
        """Replace the logo, or say what is wrong with the file."""
        png = request.form.file("logo")
        try:
            check_logo(png)
        except Unfit as unfit:
            merchant = await self._storefronts.of(request.tenant_id)
            addresses = "\n".join(merchant.addresses)
            return await self._form(request, merchant.name, addresses, merchant.contact, {"logo": unfit.sentence})
        await self._context.tenancy.find(request.tenant_id)
        await self._storefronts.save_logo(request.tenant_id, png)
        return redirect_to(screen_path(request, _SCREEN, "saved"))

    async def delete_logo(self, request: SignedInRequest) -> Reply:
        """Drop the logo."""
        await self._storefronts.delete_logo(request.tenant_id)
        return redirect_to(screen_path(request, _SCREEN, "saved"))

    async def _form(
        self, request: SignedInRequest, name: str, addresses: str, contact: str, faults: Mapping[str, str]
    ) -> Reply:
        return await self._context.page(
            request,
            "checkout.html",
            _SCREEN,
            status=422 if faults else 200,
            name=name,
            contact=contact,
            addresses=addresses,
            logo=(await self._storefronts.of(request.tenant_id)).logo,
            most={
                "name": LONGEST_NAME,
                "contact": LONGEST_CONTACT,
                "addresses": MOST_ADDRESSES,
                "kb": LOGO_BYTES // 1024,
                "pixels": LOGO_PIXELS,
            },
            faults=faults,
        )
