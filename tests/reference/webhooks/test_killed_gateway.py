"""Two hundred payments while the gateway is killed: two hundred paid links, two hundred events, each delivered."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web
from algosdk import account
from algosdk.transaction import AssetTransferTxn

from tests.algorand_signing import opt_in
from tests.reference.gateway.gateway_process import GatewayProcess
from tests.reference.rail.rail_stack import Payer, SimulatedChain
from tests.reference.webhooks.receiver import Receiver, ok

USDC = 10458941
NETWORK = "algorand_testnet"
PAYMENTS, KILLS = 200, 3
PATIENCE_SECONDS = 600.0


@pytest.fixture(scope="module")
def chain() -> Iterator[SimulatedChain]:
    """A simulated Algorand."""
    new_chain = SimulatedChain(block_seconds=0.3)
    yield new_chain
    new_chain.stop()


@pytest.fixture
def shop(chain: SimulatedChain, tmp_path: Path) -> Iterator[GatewayProcess]:
    """A gateway that watches that chain, and gives a claim back soon."""
    token = tmp_path / "algod_token"
    token.write_text(chain.token, "ascii")
    settings = {
        "WP_NODE_ALGORAND_TESTNET": chain.algod,
        "WP_INDEXER_ALGORAND_TESTNET": chain.indexer,
        "WP_NODE_TOKEN_ALGORAND_TESTNET_FILE": str(token),
        "WP_CHAIN_POLL_SECONDS": "0.2",
        "WP_WEBHOOK_TIMEOUT": "3",
        "WP_WEBHOOK_SCHEDULE": ",".join(["1"] * 20),  # a receiver that is held up is no dead letter
    }
    process = GatewayProcess(tmp_path, settings)
    yield process
    if process.is_running:
        process.stop()
    process.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A receiver that takes its time, so that a kill finds attempts under way."""

    async def slow(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.1)
        return await ok(request)

    new_receiver = await Receiver(answer=slow).open()
    yield new_receiver
    await new_receiver.close()


class Seller:
    """A tenant with one destination, and its links."""

    def __init__(self, shop: GatewayProcess, chain: SimulatedChain, url: str) -> None:
        key, self.address = account.generate_account()
        chain.control("fund", address=self.address, amount="1000000")
        opt_in(chain.client, key, USDC)
        self.shop = shop
        answer = shop.internal("POST", "", {"name": "shop"})
        self.id, self.key = answer["tenant_id"], answer["api_key"]
        shop.internal("PUT", f"/{self.id}/networks", {NETWORK: {"payout_address": self.address}})
        shop.internal("POST", f"/{self.id}/webhooks", {"url": url})

    def link(self, number: int) -> dict[str, Any]:
        """Make a link."""
        headers = {"Authorization": f"Bearer {self.key}", "X-Tenant-Id": self.id}
        body = {"amount": 0.01, "currency": "USD", "label": f"Order {number}"}
        answer: dict[str, Any] = self.shop.http.post("/v1/payment-links", json=body, headers=headers).json()
        return answer

    def deliveries(self) -> list[dict[str, Any]]:
        """Return the deliveries, none while the gateway is away."""
        try:
            deliveries: list[dict[str, Any]] = self.shop.internal("GET", f"/{self.id}/deliveries")["deliveries"]
        except httpx.TransportError:
            return []
        return deliveries


def killed_and_started(shop: GatewayProcess) -> None:
    """Kill the gateway without warning, and start it again."""
    assert shop.process is not None
    shop.process.send_signal(signal.SIGKILL)
    shop.process.wait(120)
    shop.start().ready()


@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_two_hundred_payments_while_the_gateway_is_killed_three_times(
    chain: SimulatedChain, shop: GatewayProcess, receiver: Receiver
) -> None:
    """Each link is paid by its own payment and reported with one event id, which arrives after any number of kills."""
    await asyncio.to_thread(lambda: shop.start().ready())
    seller = await asyncio.to_thread(Seller, shop, chain, receiver.url)
    links = [await asyncio.to_thread(seller.link, number) for number in range(PAYMENTS)]
    payer = await asyncio.to_thread(Payer, chain)
    opt_in(chain.client, payer.key, USDC)
    chain.control("mint", address=payer.address, amount=str(10**9), asset=str(USDC))
    for number, link in enumerate(links):
        params = await asyncio.to_thread(chain.client.suggested_params)  # good for a thousand rounds and no longer
        note = f"weldproof:{link['token']}".encode()
        transfer = AssetTransferTxn(payer.address, params, seller.address, 10_000, USDC, note=note)
        await asyncio.to_thread(payer.send, transfer, wait=False)
        if number % (PAYMENTS // KILLS) == PAYMENTS // KILLS - 1:
            await receiver.until(number // 2, PATIENCE_SECONDS)
            await asyncio.to_thread(killed_and_started, shop)
    deadline = time.monotonic() + PATIENCE_SECONDS
    entries: list[dict[str, Any]] = []
    while time.monotonic() < deadline and [one["state"] for one in entries] != ["delivered"] * PAYMENTS:
        await asyncio.sleep(0.5)
        entries = await asyncio.to_thread(seller.deliveries)
    assert Counter(one["state"] for one in entries) == {"delivered": PAYMENTS}
    paid_link = (await asyncio.to_thread(shop.internal, "GET", f"/{seller.id}/payments?state=paid"))["payments"]
    assert {one["link_id"] for one in paid_link} == {link["id"] for link in links}
    assert len({one["tx_id"] for one in paid_link}) == PAYMENTS
    told = {(got.event_id, got.json()["data"]["payment_link_token"]) for got in receiver.got}
    assert len(told) == len({event_id for event_id, _ in told}) == PAYMENTS
    assert {token for _, token in told} == {link["token"] for link in links}
    assert {event_id for event_id, _ in told} == {one["event_id"] for one in entries}
    assert {len({got.body for got in receiver.got if got.event_id == event_id}) for event_id, _ in told} == {1}
