"""From a payment on the chain to a delivered event, through a whole gateway (P-WH-01, P-WH-02, P-WH-12)."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from reference.webhooks.dispatcher_runner import deliver
from tests.reference.gateway.checkout.checkout_shop import Shop, checkout_shop
from tests.reference.gateway.checkout.scripted_chain import AMOUNT, PAYER
from tests.reference.gateway.gateway_stack import Tenant
from tests.reference.webhooks.receiver import Receiver, status

CHAIN = {"algorand_testnet": "algorand:testnet", "base_sepolia": "eip155:84532"}


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    """A gateway over chains that the test writes, with its dispatcher beside it."""
    async with checkout_shop(tmp_path, now=int(time.time()), beside=[deliver]) as opened:
        yield opened


async def subscribe(shop: Shop, tenant: Tenant, receiver: Receiver, *types: str) -> str:
    """Add a destination and return its secret."""
    body = {"url": receiver.url, **({"events": list(types)} if types else {})}
    answer = await shop.internal("POST", f"/{tenant.id}/webhooks", body, status=201)
    return str(answer["secret"])


async def show(shop: Shop, link: dict[str, Any], network: str, number: int, **pays: Any) -> Any:
    """Pay a link on its chain and show the payment to the gateway."""
    tx_id = shop.chains[network].pay(number, shop.memo(link), **pays)
    return await shop.post(link, "/verify", {"tx_id": tx_id}), tx_id


@pytest.mark.parametrize("network", CHAIN)
async def test_a_confirmed_payment_is_told(shop: Shop, receiver: Receiver, network: str) -> None:
    """One event with the link's values and the payment's, signed, long before a second attempt, and listed as such."""
    tenant = await shop.tenant()
    secret = await subscribe(shop, tenant, receiver)
    link = await shop.on(network, tenant, label="Käse 🧀")
    before = int(time.time())
    answer, tx_id = await show(shop, link, network, 1, values=(AMOUNT + 5,))
    began = time.monotonic()
    assert answer.status_code == 200
    (request,) = await receiver.until(1)
    assert time.monotonic() - began < 25  # the second attempt would come 30 s after the first
    assert request.is_signed_by(secret)
    event = request.json()
    assert (event["type"], event["api_version"]) == ("payment.confirmed", "1")
    assert before <= event["created"] <= int(time.time())
    data = event["data"]
    assert (data["tenant_label"], data["chain"]) == ("Käse 🧀", CHAIN[network])
    assert data["amount_microunits"] == str(link["amount_microunits"])
    assert data["overpaid_microunits"] == "5"
    assert (data["tx_id"], data["payer_address"]) == (tx_id, PAYER[network.partition("_")[0]])
    assert data["payment_link_token"] == link["token"]
    listed = await until_delivered(shop, tenant)
    (delivery,) = listed
    assert (delivery["event_id"], delivery["type"], delivery["state"]) == (event["id"], event["type"], "delivered")
    assert [(one["number"], one["outcome"], one["status"]) for one in delivery["attempts"]] == [(1, "delivered", 200)]


async def until_delivered(shop: Shop, tenant: Tenant, attempts: int = 1) -> list[dict[str, Any]]:
    """Return a tenant's deliveries, once each has so many attempts behind it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        deliveries: list[dict[str, Any]] = (await shop.internal("GET", f"/{tenant.id}/deliveries"))["deliveries"]
        if deliveries and all(len(one["attempts"]) == attempts and one["state"] != "sending" for one in deliveries):
            return deliveries
    raise AssertionError("nothing was delivered")


async def test_the_watcher_tells_too_and_nobody_tells_twice(shop: Shop, receiver: Receiver) -> None:
    """A payment that is shown again, or seen by the watcher after it was shown, has one event."""
    tenant = await shop.tenant()
    await subscribe(shop, tenant, receiver)
    link = await shop.on("algorand_testnet", tenant)
    _, tx_id = await show(shop, link, "algorand_testnet", 1)
    await receiver.until(1)
    again = await shop.post(link, "/verify", {"tx_id": tx_id})
    assert again.status_code == 200  # the stored attestation, and no second event
    other_link = await shop.on("algorand_testnet", tenant)
    await show(shop, other_link, "algorand_testnet", 2)
    await receiver.until(2)
    await until_delivered(shop, tenant)
    assert [got.json()["data"]["payment_link_token"] for got in receiver.got] == [link["token"], other_link["token"]]
    assert len({got.event_id for got in receiver.got}) == 2


async def test_what_does_not_pay_is_not_told(shop: Shop, receiver: Receiver) -> None:
    """Too little, another memo, too late: no event of any kind."""
    tenant = await shop.tenant()
    await subscribe(shop, tenant, receiver, "payment.confirmed", "payment.cancelled")
    link = await shop.on("algorand_testnet", tenant, expires_in_seconds=60)
    chain = shop.chains["algorand_testnet"]
    for number, tx_id in enumerate(
        (chain.pay(1, shop.memo(link), values=(AMOUNT - 1,)), chain.pay(2, "weldproof:other")), start=1
    ):
        assert (await shop.post(link, "/verify", {"tx_id": tx_id})).status_code == 422, number
    shop.pass_time(120)
    answer, _ = await show(shop, link, "algorand_testnet", 3)
    assert answer.status_code in {410, 422}
    assert (await shop.internal("GET", f"/{tenant.id}/deliveries"))["deliveries"] == []
    assert not receiver.got


@pytest.mark.parametrize("way", ["cancel", "abandon"])
async def test_a_cancellation_is_told_to_those_who_asked(shop: Shop, receiver: Receiver, way: str) -> None:
    """By the tenant or the payer; a destination that asked for payments alone hears nothing."""
    tenant = await shop.tenant()
    quiet = await Receiver().open()
    await subscribe(shop, tenant, quiet)
    secret = await subscribe(shop, tenant, receiver, "payment.cancelled")
    link = await shop.on("algorand_testnet", tenant)
    body = {"cancel_secret": link["cancel_secret"]} if way == "cancel" else {}
    assert (await shop.post(link, f"/{way}", body)).status_code == 200
    (request,) = await receiver.until(1)
    assert request.is_signed_by(secret)
    event = request.json()
    assert event["type"] == "payment.cancelled"
    assert (event["data"]["tx_id"], event["data"]["payer_address"]) == (None, None)
    assert event["data"]["payment_link_token"] == link["token"]
    await until_delivered(shop, tenant)
    assert not quiet.got
    await quiet.close()


async def test_a_delivery_is_sent_again_when_the_tenant_asks(shop: Shop, receiver: Receiver) -> None:
    """202, and the same event arrives once more; after its destination is deleted it is not there any more."""
    tenant = await shop.tenant()
    receiver.answer = status(500)
    await subscribe(shop, tenant, receiver)
    await show(shop, await shop.on("algorand_testnet", tenant), "algorand_testnet", 1)
    (delivery,) = await until_delivered(shop, tenant)
    assert (delivery["state"], delivery["delivered_at"]) == ("pending", None)
    assert delivery["next_attempt_at"] is not None
    path = f"/{tenant.id}/deliveries/{delivery['delivery_id']}/retry"
    assert await shop.internal("POST", path, status=202) == {"delivery_id": delivery["delivery_id"]}
    await receiver.until(2)
    await until_delivered(shop, tenant, 2)
    assert len({got.body for got in receiver.got}) == 1
    (answer,) = (await shop.internal("GET", f"/{tenant.id}"))["destinations"]
    await shop.internal("DELETE", f"/{tenant.id}/webhooks/{answer['destination_id']}", status=204)
    await shop.internal("POST", path, status=404)
