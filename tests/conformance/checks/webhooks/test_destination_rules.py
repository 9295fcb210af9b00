"""Which destinations a tenant may have and which events each of them gets, at a shop in memory."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from multidict import CIMultiDictProxy

from conformance.checks.webhooks import destination_rules
from conformance.outcome import Verdict
from tests.conformance.checks.gateway.scripted_checkout import Link
from tests.conformance.checks.webhooks.scripted_sender import Flaws, Place, run_check
from tests.conformance.checks.webhooks.test_destination_selection import Administered

REFUSAL_CHECK, TYPE_CHECK = "forbidden_destinations_are_refused", "a_destination_gets_what_it_asks_for"
ROWS = {REFUSAL_CHECK: "WH-DELIV-15", TYPE_CHECK: "WH-DELIV-16"}
CONFIRMED, CANCELLED = "payment.confirmed", "payment.cancelled"
pytestmark = pytest.mark.usefixtures("quick_service")


@pytest.fixture(autouse=True)
def quick_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(destination_rules, "_SETTLE_SECONDS", 0.3)


@dataclass
class Ruled(Administered):
    """A shop that refuses addresses elsewhere than on this machine, and sends each destination its types.

    Attributes:
        allowed: An address that it allows although it is not public.
        refused: A public address that it refuses.
        loopback: Whether it allows destinations on this machine.
        plain: Whether it allows http also where it refuses destinations on this machine.
        usual: The types of a destination that names none.
        heeds: Whether the types matter.
        changed: Members of the cancelled event that it replaces.
    """

    allowed: str = ""
    refused: str = ""
    loopback: bool = True
    plain: bool = False
    usual: Sequence[str] = (CONFIRMED,)
    heeds: bool = True
    changed: Mapping[str, Any] = field(default_factory=dict)
    types: dict[str, Sequence[str]] = field(default_factory=dict)

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        path, members = urlsplit(url).path, json.loads(body or b"{}")
        if path.endswith("/cancel"):
            self._start(self._report_cancelled(self.links[path.split("/")[-2]]))
            return self._answer(200, {"status": "cancelled"})
        if path.startswith("/internal/tenants") and path.endswith("/webhooks"):
            host = urlsplit(members["url"]).netloc
            is_allowed = self._allows(urlsplit(members["url"]).scheme, host)
            if not is_allowed:
                return self._answer(422, {"error": "validation_error", "message": "Not a public address."})
            self.types[members["url"]] = members.get("events", self.usual)
        return await super().send(method, url, headers, body)

    def _allows(self, scheme: str, host: str) -> bool:
        if host.startswith(("127.", "[::1]")):
            return self.loopback
        if scheme == "http" and not (self.loopback or self.plain):
            return False
        with contextlib.suppress(ValueError):
            address = IPv4Address(host)
            return host == self.allowed or (address.is_global and not address.is_multicast and host != self.refused)
        return host == self.allowed

    def _create(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**super()._create(body), "cancel_secret": "s" * 43}

    def select_places(self, type_: str) -> list[Place]:
        """Return the destinations that get a type."""
        return [place for place in self.made if not self.heeds or type_ in self.types[place.url]]

    async def _report_cancelled(self, link: Link) -> None:
        event, places = self._event(link, 0), self.select_places(CANCELLED)
        label = event["data"]["tenant_label"]
        own: dict[str, str | None] = {"tx_id": None, "payer_address": None, "resource_id": None}
        own |= {"payment_link_token": link.token, "payment_link_label": label, **self.changed}
        event = {**event, "type": CANCELLED, "data": {**event["data"], **own}}
        self.to_tell, self.to_deliver = self.to_tell - 1, self.to_deliver + len(places)
        for place in places:
            await self._deliver_to_place(event, place, int(self.now))


async def judge(name: str, shop: Ruled, folder: Path) -> Verdict:
    """Return the verdict of a check on a shop whose profile claims the specification."""
    (folder / "admin").write_text("weldc_an-administrators-key")

    def change_profile(text: str) -> str:
        text = text.replace("http://gateway.test", "http://127.0.0.1").replace("paid = 120.0", "paid = 1.0")
        text += f'[gateway]\nadmin_key = {{ file = "{folder / "admin"}" }}\n'
        claims = 'lanes = ["algorand"]\noptions = ["gateway.tenants"]\nspecification = "1"'
        return text.replace('lanes = ["algorand"]', claims)

    flaws = Flaws(places=lambda link, places: shop.select_places(CONFIRMED))  # noqa: ARG005 - as the shop calls it
    return (await run_check(name, folder, flaws, shop=shop, changed=change_profile))[0][ROWS[name]]


@pytest.mark.parametrize("name", ROWS)
async def test_the_rules_of_the_specification_pass(name: str, tmp_path: Path) -> None:
    """Nine destinations at permitted addresses, and each gets its types; all of them are deleted in the end."""
    shop = Ruled()
    assert await judge(name, shop, tmp_path) is Verdict.PASS
    assert shop.deleted == {place.name for place in shop.made}


@pytest.mark.parametrize("address", ["169.254.169.254", "[2002:a00:1::1]", "100.64.0.1", "0xa9fea9fe"])
async def test_an_allowed_address_that_is_not_public_fails(address: str, tmp_path: Path) -> None:
    """Each address counts alone."""
    assert await judge(REFUSAL_CHECK, Ruled(allowed=address), tmp_path) is Verdict.FAIL


@pytest.mark.parametrize("most", [8, 10])
async def test_another_number_of_destinations_fails(most: int, tmp_path: Path) -> None:
    """A tenant has nine destinations, no fewer and no more."""
    assert await judge(REFUSAL_CHECK, Ruled(most=most), tmp_path) is Verdict.FAIL


async def test_a_gateway_that_refuses_this_machine_passes(tmp_path: Path) -> None:
    """Outside test mode, a loopback address is no public address either (P-WH-10)."""
    assert await judge(REFUSAL_CHECK, Ruled(loopback=False), tmp_path) is Verdict.PASS


@pytest.mark.parametrize(
    "shop",
    [
        Ruled(usual=(CONFIRMED, CANCELLED)),
        Ruled(usual=()),
        Ruled(heeds=False),
        Ruled(changed={"tx_id": "tx1"}),
        Ruled(changed={"payment_link_token": "tokenNumber999999"}),
    ],
    ids=["both by default", "none by default", "types ignored", "a transaction", "another token"],
)
async def test_another_choice_of_events_fails(shop: Ruled, tmp_path: Path) -> None:
    """A missing event, an unwanted event and wrong members each break the row."""
    assert await judge(TYPE_CHECK, shop, tmp_path) is Verdict.FAIL


async def test_a_public_address_that_is_refused_fails(tmp_path: Path) -> None:
    """A network with a mask that is too short takes in a neighbour."""
    assert await judge(REFUSAL_CHECK, Ruled(refused="11.0.0.1"), tmp_path) is Verdict.FAIL


async def test_http_outside_test_mode_fails(tmp_path: Path) -> None:
    """Where this machine is refused, http is refused, too (P-WH-10)."""
    assert await judge(REFUSAL_CHECK, Ruled(loopback=False, plain=True), tmp_path) is Verdict.FAIL
