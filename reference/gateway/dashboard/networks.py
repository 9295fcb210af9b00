"""Settings → Networks: a tenant's payout address on each chain, and their order (P-NW, 3.9)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from reference.gateway.admin_api import Payouts
from reference.gateway.call_admission import fit_model
from reference.gateway.dashboard.forms import Form
from reference.gateway.dashboard.screen_context import OPENS, ScreenContext, screen_path
from reference.gateway.dashboard.signed_in_request import Route, SignedInRequest, redirect_to
from reference.gateway.page_parts import network_name
from reference.protocol.networks import NETWORKS
from reference.web.errors import Unprocessable
from reference.web.http.exchange import Reply

_SCREEN = "settings/networks"
_PLACE = re.compile(r"[1-9][0-9]?")
# Networks without a place come after all others; a place has at most two digits.
_LAST = 100


@dataclass(frozen=True, slots=True)
class _Fields:
    """The texts of the two fields of a network."""

    address: str = ""
    place: str = ""


class NetworkScreen:
    """Answers at …/settings/networks."""

    def __init__(self, context: ScreenContext) -> None:
        self._context = context

    def routes(self) -> tuple[Route, ...]:
        """Return the routes."""
        path = f"/tenants/<tenant_id>/{_SCREEN}"
        return Route("GET", path, self.show, OPENS[_SCREEN]), Route("POST", path, self.save, OPENS[_SCREEN])

    async def show(self, request: SignedInRequest) -> Reply:
        """Show the addresses as they are."""
        tenant = await self._context.tenancy.record(request.tenant_id)
        entries = enumerate(tenant["networks"].items(), 1)
        return await self._form(
            request, {key: _Fields(one["payout_address"], str(at)) for at, (key, one) in entries}, {}
        )

    async def save(self, request: SignedInRequest) -> Reply:
        """Replace the addresses, or show the fault next to each field and keep the texts."""
        fields_of = {key: _read_fields(request.form, key) for key in self._context.tenancy.list_offered_networks()}
        # The order of the list is the order in which a link without a preferred network chooses one (3.4).
        addresses = {key: fields_of[key].address for key in _order_networks(fields_of)}
        faults = _wrong_places(fields_of) | self._wrong_addresses(addresses)
        if faults:
            names = [f"{field}-{key}" for key in fields_of for field in ("address", "place")]
            return await self._form(request, fields_of, {name: faults[name] for name in names if name in faults})
        await self._context.tenancy.set_payouts(request.tenant_id, addresses)
        return redirect_to(screen_path(request, _SCREEN, "saved"))

    def _wrong_addresses(self, addresses: Mapping[str, str]) -> dict[str, str]:
        """Return what is wrong with addresses, of every network that has a wrong one."""
        wrong: list[str] = []
        try:
            fit_model(Payouts, {key: {"payout_address": address} for key, address in addresses.items()})
        except Unprocessable as fault:
            wrong = _networks_of(fault)
        try:
            self._context.tenancy.check_payouts({key: text for key, text in addresses.items() if key not in wrong})
        except Unprocessable as fault:
            wrong += _networks_of(fault)
        return {f"address-{key}": f"This is no address of {network_name(NETWORKS[key])}." for key in wrong}

    async def _form(
        self, request: SignedInRequest, fields_of: Mapping[str, _Fields], faults: Mapping[str, str]
    ) -> Reply:
        tenant = await self._context.tenancy.record(request.tenant_id)
        offered_keys = self._context.tenancy.list_offered_networks()
        rows = [(key, fields_of.get(key, _Fields())) for key in offered_keys]
        # Saving replaces the whole list. Addresses of networks that are not offered now are shown, as they would be
        # lost.
        away = {key: one["payout_address"] for key, one in tenant["networks"].items() if key not in offered_keys}
        return await self._context.page(
            request,
            "networks.html",
            _SCREEN,
            tenant,
            status=422 if faults else 200,
            rows=rows,
            away=away,
            faults=faults,
        )


def _read_fields(form: Form, key: str) -> _Fields:
    return _Fields(form.value_of(f"address-{key}"), form.value_of(f"place-{key}"))


def _order_networks(fields_of: Mapping[str, _Fields]) -> list[str]:
    """Return the networks that have an address, by place; those without a place come last, in the table's order."""
    keys = [key for key, one in fields_of.items() if one.address]
    return sorted(keys, key=lambda key: int(fields_of[key].place) if _PLACE.fullmatch(fields_of[key].place) else _LAST)


def _wrong_places(fields_of: Mapping[str, _Fields]) -> dict[str, str]:
    faults: dict[str, str] = {}
    network_by_place: dict[str, str] = {}
    for key, fields in fields_of.items():
        if not fields.place:
            continue
        if _PLACE.fullmatch(fields.place) is None:
            faults[f"place-{key}"] = "Give a whole number from 1 to 99, or nothing."
        elif fields.address and fields.place in network_by_place:
            faults[f"place-{key}"] = (
                f"{network_name(NETWORKS[network_by_place[fields.place]])} has this place; give another."
            )
        elif fields.address:
            network_by_place[fields.place] = key
    return faults


def _networks_of(fault: Unprocessable) -> list[str]:
    return [str(item["loc"][1]) for item in fault.detail]
