"""Settings → Networks: where a tenant is paid on each chain, and in which order (P-NW, 3.9)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from reference.gateway.admin_api import Payouts
from reference.gateway.calls import fitted
from reference.gateway.dashboard.forms import Form
from reference.gateway.dashboard.screen_context import OPENS, ScreenContext, path_of
from reference.gateway.dashboard.signed_in_request import Route, SignedInRequest, gone_to
from reference.gateway.page_parts import network_name
from reference.protocol.networks import NETWORKS
from reference.web.errors import Unprocessable
from reference.web.http.exchange import Reply

_SCREEN = "settings/networks"
_PLACE = re.compile(r"[1-9][0-9]?")
_LAST = 100


@dataclass(frozen=True, slots=True)
class _Given:
    """What stands in the two fields of a network."""

    address: str = ""
    place: str = ""


class NetworkScreen:
    """Answers at …/settings/networks."""

    def __init__(self, desk: ScreenContext) -> None:
        self._desk = desk

    def routes(self) -> tuple[Route, ...]:
        """Return the routes."""
        path = f"/tenants/<tenant_id>/{_SCREEN}"
        return Route("GET", path, self.show, OPENS[_SCREEN]), Route("POST", path, self.save, OPENS[_SCREEN])

    async def show(self, visit: SignedInRequest) -> Reply:
        """Show the addresses as they are."""
        tenant = await self._desk.tenancy.record(visit.tenant_id)
        stored = enumerate(tenant["networks"].items(), 1)
        return await self._form(visit, {key: _Given(one["payout_address"], str(at)) for at, (key, one) in stored}, {})

    async def save(self, visit: SignedInRequest) -> Reply:
        """Replace the addresses, or show what is wrong beside each field and keep what was written."""
        given = {key: _given(visit.form, key) for key in self._desk.tenancy.offered()}
        wanted = {key: given[key].address for key in _ordered(given)}
        faults = _wrong_places(given) | self._wrong_addresses(wanted)
        if faults:
            names = [f"{field}-{key}" for key in given for field in ("address", "place")]
            return await self._form(visit, given, {name: faults[name] for name in names if name in faults})
        await self._desk.tenancy.set_payouts(visit.tenant_id, wanted)
        return gone_to(path_of(visit, _SCREEN, "saved"))

    def _wrong_addresses(self, wanted: Mapping[str, str]) -> dict[str, str]:
        """Return what is wrong with addresses, of every network that has a wrong one."""
        wrong: list[str] = []
        try:
            fitted(Payouts, {key: {"payout_address": address} for key, address in wanted.items()})
        except Unprocessable as fault:
            wrong = _networks_of(fault)
        try:
            self._desk.tenancy.check_payouts({key: text for key, text in wanted.items() if key not in wrong})
        except Unprocessable as fault:
            wrong += _networks_of(fault)
        return {f"address-{key}": f"This is no address of {network_name(NETWORKS[key])}." for key in wrong}

    async def _form(self, visit: SignedInRequest, given: Mapping[str, _Given], faults: Mapping[str, str]) -> Reply:
        tenant = await self._desk.tenancy.record(visit.tenant_id)
        offered = self._desk.tenancy.offered()
        rows = [(key, given.get(key, _Given())) for key in offered]
        # What was left out of the offer would be lost without a word.
        away = {key: one["payout_address"] for key, one in tenant["networks"].items() if key not in offered}
        return await self._desk.page(
            visit,
            "networks.html",
            _SCREEN,
            tenant,
            status=422 if faults else 200,
            rows=rows,
            away=away,
            faults=faults,
        )


def _given(form: Form, key: str) -> _Given:
    return _Given(form.one(f"address-{key}"), form.one(f"place-{key}"))


def _ordered(given: Mapping[str, _Given]) -> list[str]:
    """Return the networks that have an address, by place; those without a place come last, in the table's order."""
    named = [key for key, one in given.items() if one.address]
    return sorted(named, key=lambda key: int(given[key].place) if _PLACE.fullmatch(given[key].place) else _LAST)


def _wrong_places(given: Mapping[str, _Given]) -> dict[str, str]:
    faults: dict[str, str] = {}
    taken: dict[str, str] = {}
    for key, one in given.items():
        if not one.place:
            continue
        if _PLACE.fullmatch(one.place) is None:
            faults[f"place-{key}"] = "Give a whole number from 1 to 99, or nothing."
        elif one.address and one.place in taken:
            faults[f"place-{key}"] = f"{network_name(NETWORKS[taken[one.place]])} has this place; give another."
        elif one.address:
            taken[one.place] = key
    return faults


def _networks_of(fault: Unprocessable) -> list[str]:
    return [str(item["loc"][1]) for item in fault.detail]
