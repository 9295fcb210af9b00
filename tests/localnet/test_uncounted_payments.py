"""Real transfers on three simulated chains that pay no link: the gateway lists each with its reason (P-CK-10)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from conformance.http.client import Names
from conformance.lanes.checkout_request import USDC, CheckoutPayer, CheckoutRequest
from conformance.lanes.payers import open_checkout_payer, open_payer
from conformance.target import Profile, load
from tests.stack import running_stack

NETWORKS = {"algorand": "algorand_testnet", "base": "base_sepolia", "solana": "solana_devnet"}
AMOUNT = 8_410_000
LISTED_SECONDS = 240


@dataclass(frozen=True)
class Shop:
    """The first tenant of a gateway, and the administrator."""

    ready: dict[str, Any]
    profile: Profile

    async def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Call the gateway."""
        async with httpx.AsyncClient(trust_env=False, timeout=60, base_url=self.ready["gateway"]) as http:
            answer = await http.request(method, path, json=body, headers=headers)
        assert answer.status_code < 300, answer.text
        return answer.json()

    async def bill(self, lane: str) -> CheckoutRequest:
        """Make a link of 8.41 USDC and return what its payer is asked for."""
        tenant, network = self.profile.tenants["first"], NETWORKS[lane]
        body = {"amount": 8.41, "currency": "USD", "label": "Order", "preferred_network": network}
        headers = {"Authorization": f"Bearer {tenant.key.read()}", "X-Tenant-Id": tenant.id}
        link = await self.call("POST", "/v1/payment-links", body, **headers)
        return CheckoutRequest(USDC[network], tenant.payout[network], AMOUNT, f"weldproof:{link['token']}")

    async def wait_until_listed(self, state: str, tx_id: str) -> dict[str, Any]:
        """Wait until a transaction is listed in a state."""
        key = Path(self.ready["admin_key_file"]).read_text("ascii").strip()
        path = f"/internal/tenants/{self.profile.tenants['first'].id}/payments?state={state}"
        deadline = time.monotonic() + LISTED_SECONDS
        while time.monotonic() < deadline:
            payments = (await self.call("GET", path, Authorization=f"Bearer {key}"))["payments"]
            for payment in payments:
                if payment["tx_id"].lower() == tx_id.lower():
                    return dict(payment)
            await asyncio.sleep(0.2)
        raise AssertionError(f"{tx_id} is not listed as {state}")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A gateway over three simulated chains."""
    with running_stack(tmp_path_factory.mktemp("stack"), "--surface", "gateway") as ready:
        yield Shop(ready, load(Path(ready["profile"])))


async def way_of(payer: CheckoutPayer, bill: CheckoutRequest, way_name: str) -> str:
    """Pay a bill in one of the ways that pay another asset, and return the transaction."""
    ways = {one.name: one for one in await payer.list_other_assets(bill)}
    return await ways[way_name].pay(bill)


LOOK_ALIKE = {
    "algorand": "an asset of the same unit name",
    "base": "a look-alike token",
    "solana": "a look-alike token",
}


@pytest.mark.parametrize("lane", NETWORKS)
async def test_what_pays_no_link_is_listed(shop: Shop, lane: str) -> None:
    """A surplus, a look-alike asset and a memo within a longer text, each by a real transfer to the payout address."""
    below = await open_payer(lane, shop.profile, Names(), shop.profile.gateway_chains)
    try:
        payer = open_checkout_payer(below)
        way = "calldata" if lane == "base" else None
        more = (await shop.bill(lane)).with_changes(amount=AMOUNT + 1_590_000)
        surplus = await payer.settle(more)
        two, other_bill = await shop.bill(lane), await shop.bill(lane)
        unclear = await payer.settle(two.with_changes(memo=f"{two.memo} {other_bill.memo}"), way)
        fake = await way_of(payer, await shop.bill(lane), LOOK_ALIKE[lane])
        payment = await shop.wait_until_listed("surplus", surplus)
        assert (payment["reason"], payment["amount"], payment["surplus"]) == ("surplus", "10000000", "1590000")
        payment = await shop.wait_until_listed("ambiguous", unclear)
        assert (payment["reason"], payment["token"]) == ("ambiguous_memo", two.memo.partition(":")[2])
        payment = await shop.wait_until_listed("other_asset", fake)
        assert payment["reason"] == "wrong_asset"
        assert payment["asset_id"].lower() != USDC[NETWORKS[lane]].lower()
    finally:
        await below.close()
