"""A tenant's own links: a form that creates one by the same rules as the API, and a list with their states (3.4)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from reference.gateway.credentials import Caller
from reference.gateway.dashboard.screen_context import ScreenContext
from reference.gateway.dashboard.signed_in_request import Route, SignedInRequest, redirect_to
from reference.gateway.merchant_branding import Storefronts
from reference.gateway.payment_links import PaymentLinkRequest, PaymentLinks
from reference.gateway.settings import GatewaySettings
from reference.protocol.canonical_json import NumberText
from reference.protocol.networks import NETWORKS
from reference.protocol.trial_limits import mode_of
from reference.web.errors import Refused, Unprocessable
from reference.web.http.exchange import Reply

_SCREEN = "links"
_AMOUNT = re.compile(r"(0|[1-9][0-9]{0,14})(\.[0-9]{1,18})?", re.ASCII)
_FIELDS = ("amount", "currency", "label", "network", "lifetime", "redirect")
# A choice of lifetimes instead of a field for seconds. Those outside the operator's limits are not offered.
_LIFETIMES: Mapping[str, str] = {"900": "15 minutes", "3600": "1 hour", "28800": "8 hours", "86400": "24 hours"}
_SENTENCES: Mapping[str, str] = {
    "amount": "Give an amount greater than 0, written like 8.41, of at most a thousand million.",
    "currency": "Choose one of the currencies.",
    "label": "Say in one line of at most 255 characters, none of which turns the text, what the payment is for.",
    "network": "Choose one of the networks.",
    "lifetime": "Choose one of the times.",
    "redirect": "Choose one of the addresses that are registered for your shop.",
}
_FIELD_OF = {"preferred_network": "network", "expires_in_seconds": "lifetime", "redirect_url": "redirect"}
# The field next to which a refusal of the trial rules or of the settings is shown.
_ABOUT = {
    "unsupported_currency": "currency",
    "unsupported_network": "network",
    "kyb_required_for_mainnet": "network",
    "trial_expired": "network",
    "key_mode_mismatch": "network",
    "mainnet_allowance_exhausted": "amount",
}


class ShopLinks:
    """Answers at /dashboard/shop/links."""

    def __init__(
        self, context: ScreenContext, settings: GatewaySettings, storefronts: Storefronts, payment_links: PaymentLinks
    ) -> None:
        self._context = context
        self._storefronts = storefronts
        self._payment_links = payment_links
        self._currencies = list(settings.rates)
        least, most = settings.link_ttl_min, settings.link_ttl_max
        self._lifetimes = {text: name for text, name in _LIFETIMES.items() if least <= int(text) <= most}

    def routes(self) -> tuple[Route, ...]:
        """Return the routes."""
        path = f"/shop/{_SCREEN}"
        return (
            Route("GET", path, self.show, for_tenants=True),
            Route("POST", path, self.create, for_tenants=True),
            Route("GET", f"{path}/<link_id>", self.show_link, for_tenants=True),
        )

    async def show(
        self, request: SignedInRequest, values: Mapping[str, str] | None = None, faults: Mapping[str, str] | None = None
    ) -> Reply:
        """Show the links, and the form of a new one."""
        after = request.read_parameter("after")
        tenant = await self._context.tenancy.record(request.tenant_id)
        return await self._context.page(
            request,
            "shop_links.html",
            _SCREEN,
            tenant,
            status=422 if faults else 200,
            page=await self._context.tenancy.links(request.tenant_id, after),
            is_first=after is None,
            sees_payments=True,
            given={name: (values or {}).get(name, "") for name in _FIELDS},
            currencies=self._currencies,
            lifetimes=self._lifetimes,
            networks=self._reachable_networks(request, tenant),
            redirects=(await self._storefronts.of(request.tenant_id)).addresses,
            mode=request.visitor.mode,
            faults=faults or {},
        )

    async def create(self, request: SignedInRequest) -> Reply:
        """Create a link and show it, or show the fault next to each field."""
        values = {name: request.form.value_of(name) for name in _FIELDS}
        link_request, wrong = self._build_request(values)
        if link_request is None:
            return await self.show(request, values, wrong)
        # A reload of the form leads to the list instead of creating a second link for the same order.
        if not await self._context.entrance.accept_form_once(request.visitor, request.form.form_id()):
            return redirect_to(f"{request.base}/{_SCREEN}")  # the link that it made is the first of the list
        tenant = await self._context.tenancy.find(request.tenant_id)
        try:
            link = await self._payment_links.make(Caller(tenant, request.visitor.mode), link_request)
        except Unprocessable as fault:
            return await self.show(request, values, _faults(_fields(fault)))
        except Refused as refused:
            if refused.code not in _ABOUT:
                raise
            sentence = f"{refused.message[:1].upper()}{refused.message[1:]}."
            return await self.show(request, values, {_ABOUT[refused.code]: sentence})
        return redirect_to(f"{request.base}/{_SCREEN}/{link.id}?done=made")

    def _build_request(self, values: Mapping[str, str]) -> tuple[PaymentLinkRequest | None, dict[str, str]]:
        """Return the request that a form makes, or None and what is wrong with each field of it."""
        is_amount, is_time = _AMOUNT.fullmatch(values["amount"]) is not None, values["lifetime"] in self._lifetimes
        wrong = {name for name, holds in (("amount", is_amount), ("lifetime", is_time)) if not holds}
        members = {
            # The fault of this field is known already. A value in its place lets the other fields be checked, too.
            "amount": NumberText(values["amount"] if is_amount else "1"),
            "currency": values["currency"],
            "label": values["label"],
            "preferred_network": values["network"],
            "expires_in_seconds": int(values["lifetime"]) if is_time else None,
            "redirect_url": values["redirect"] or None,
        }
        try:
            link_request = self._payment_links.build_request(members)
        except Unprocessable as fault:
            wrong |= _fields(fault)
        return (None, _faults(wrong)) if wrong else (link_request, {})

    async def show_link(self, request: SignedInRequest) -> Reply:
        """Show a link, to be sent to its payer."""
        link = await self._context.tenancy.link(request.tenant_id, request.arguments["link_id"])
        return await self._context.page(request, "shop_link.html", _SCREEN, link=link)

    def _reachable_networks(self, request: SignedInRequest, tenant: Mapping[str, Any]) -> list[str]:
        """Return the networks on which the key that signed in makes links."""
        offered_keys = self._context.tenancy.list_offered_networks()
        return [
            key for key in tenant["networks"] if key in offered_keys and mode_of(NETWORKS[key]) == request.visitor.mode
        ]


def _fields(fault: Unprocessable) -> set[str]:
    """Return the fields of the form that the members of a link stand in."""
    names = {str(item["loc"][1]) for item in fault.detail}
    return {_FIELD_OF.get(name, name) for name in names}


def _faults(wrong: Collection[str]) -> dict[str, str]:
    """Return what is wrong with fields, in their order."""
    return {name: _SENTENCES[name] for name in _FIELDS if name in wrong}
