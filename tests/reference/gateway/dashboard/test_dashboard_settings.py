"""Settings at the dashboard: payout addresses in their order, webhook destinations with their secrets (3.9, P-WH)."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from reference.gateway.runtime import open_gateway_with_lanes
from tests.reference.gateway.checkout.scripted_chain import ScriptedChain
from tests.reference.gateway.dashboard.administrator import ROOT, Administrator
from tests.reference.gateway.gateway_stack import ALGORAND, EVM, PAYOUTS, SOLANA, URL, gateway

HOOK = "http://127.0.0.1:9/hook"


async def networks(admin: Administrator, tenant: str) -> list[tuple[str, str]]:
    """Return a tenant's payout addresses in their order."""
    networks_stored = (await admin.shop.internal("GET", f"/{tenant}"))["networks"]
    return [(key, one["payout_address"]) for key, one in networks_stored.items()]


async def destinations(admin: Administrator, tenant: str) -> Any:
    """Return a tenant's destinations."""
    return (await admin.shop.internal("GET", f"/{tenant}"))["destinations"]


async def test_addresses_are_set_in_an_order(admin: Administrator) -> None:
    """By place; those without one come last, in the order of the table; an empty field removes the network."""
    tenant, _ = await admin.make_tenant()
    path = f"{ROOT}/tenants/{tenant}/settings/networks"
    page = await admin.show(path)
    assert [page.value(f"address-{key}") for key in PAYOUTS] == [""] * 5
    options = {
        "address__solana_devnet": SOLANA,
        "address__base_sepolia": f"  {EVM} ",
        "address__algorand_testnet": ALGORAND,
    }
    answer = await admin.submit(page, **options, place__solana_devnet="2", place__base_sepolia="1")
    assert (answer.status, answer.answer.headers["Location"]) == (303, f"{path}?done=saved")
    assert await networks(admin, tenant) == [
        ("base_sepolia", EVM),
        ("solana_devnet", SOLANA),
        ("algorand_testnet", ALGORAND),
    ]
    page = await admin.show(f"{path}?done=saved")
    assert page.text(".done") == "Saved."
    assert [page.value(f"place-{key}") for key in ("base_sepolia", "solana_devnet", "algorand_testnet")] == list("123")
    await admin.submit(page, address__base_sepolia="", place__base_sepolia="")
    assert [key for key, _ in await networks(admin, tenant)] == ["solana_devnet", "algorand_testnet"]


async def test_every_wrong_field_is_told_and_nothing_is_saved(admin: Administrator) -> None:
    """Each beside its field, all at once; what was written stays."""
    tenant = (await admin.shop.tenant("base_sepolia")).id
    path = f"{ROOT}/tenants/{tenant}/settings/networks"
    options = {
        "address__algorand_testnet": ALGORAND[:-1] + "B",
        "address__solana_devnet": '"><script>1</script>',
        "address__base_mainnet": "a" * 129,
        "place__base_sepolia": "0",
        "place__algorand_mainnet": "1.5",
        "place__base_mainnet": "100",
    }
    page = await admin.submit(await admin.show(path), **options)
    assert page.status == 422
    assert set(page.fault) == {
        *("address-algorand_testnet", "address-solana_devnet", "address-base_mainnet"),
        *("place-base_sepolia", "place-algorand_mainnet", "place-base_mainnet"),
    }
    assert page.fault["address-solana_devnet"] == "This is no address of Solana Devnet."
    assert page.value("address-solana_devnet") == '"><script>1</script>'
    assert "<script>" not in page.answer.text
    assert await networks(admin, tenant) == [("base_sepolia", EVM)]


async def test_a_place_is_given_once(admin: Administrator) -> None:
    """Two first ones would leave open which is the default."""
    tenant = (await admin.shop.tenant("base_sepolia", "algorand_testnet")).id
    path = f"{ROOT}/tenants/{tenant}/settings/networks"
    page = await admin.submit(await admin.show(path), place__base_sepolia="1", place__algorand_testnet="1")
    assert page.fault == {"place-base_sepolia": "Algorand Testnet has this place; give another."}


async def test_a_network_that_is_not_offered_now_is_not_lost_without_a_word(tmp_path: Path) -> None:
    """The page shows its address, and that saving removes it."""
    async with gateway(tmp_path) as shop:
        tenant = (await shop.tenant("base_sepolia", "algorand_testnet")).id
        lanes = {"base_sepolia": ScriptedChain("base_sepolia", now=0).lane}
        async with open_gateway_with_lanes(shop.settings, lanes) as app:
            fewer = replace(shop, http=httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=URL))
            admin = Administrator(fewer)
            await admin.sign_in()
            page = await admin.show(f"{ROOT}/tenants/{tenant}/settings/networks")
            assert page.text(".notice li") == f"Algorand Testnet: {ALGORAND}"
            assert (page.value("address-base_sepolia"), page.has("#address-algorand_testnet")) == (EVM, False)
            assert (await admin.submit(page)).status == 303
            assert await networks(admin, tenant) == [("base_sepolia", EVM)]
            await admin.http.aclose()
            await fewer.http.aclose()


async def test_a_destination_is_added_and_its_secret_shown_once(admin: Administrator) -> None:
    """With the events that were chosen; no later page has the secret."""
    tenant, _ = await admin.make_tenant()
    path = f"{ROOT}/tenants/{tenant}/settings/notifications"
    page = await admin.show(path)
    assert page.has('input[value="payment.confirmed"][checked]')
    answer = await admin.submit(page, url=f" {HOOK} ", events=["payment.confirmed", "payment.cancelled"])
    assert (answer.status, answer.text("h1")) == (201, "The destination is added")
    assert re.fullmatch(r"weldw_[A-Za-z0-9_-]{43}", answer.secret)
    (destination,) = await destinations(admin, tenant)
    assert (destination["url"], destination["events"]) == (HOOK, ["payment.cancelled", "payment.confirmed"])
    again = await admin.submit(page, url=HOOK)
    assert (again.status, answer.secret in again.answer.text) == (409, False)
    listed = await admin.show(path)
    assert (listed.texts("tbody th"), answer.secret in listed.answer.text) == ([HOOK], False)
    asks = await admin.show(f"{path}/{destination['destination_id']}/rotate")
    rotated = await admin.submit(asks)
    assert (rotated.status, rotated.text("h1")) == (201, "The secret is replaced")
    assert rotated.secret != answer.secret
    assert (await admin.submit(asks)).status == 409
    (now,) = await destinations(admin, tenant)
    assert now["rotated_at"] is not None
    leaves = await admin.show(f"{path}/{destination['destination_id']}/delete")
    assert (await admin.submit(leaves)).answer.headers["Location"] == f"{path}?done=deleted"
    assert await destinations(admin, tenant) == []
    assert (await admin.submit(leaves)).status == 404


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("https://10.0.0.1/x", "The host has an address that is not public (private)."),
        ("https://169.254.169.254/", "The host has an address that is not public (link-local)."),
        ("https://[::ffff:127.0.0.1]/", "The host has an address that is not public (IPv4-mapped)."),
        *(
            (url, "Give an absolute https address without a user name, a password or a part after #.")
            for url in ("", "x", "javascript:alert(1)", "https://u:p@a.test/", "https://a.test/#x", "https://é.test/")
        ),
        (
            "https://a.test/" + "a" * 2048,
            "Give an absolute https address without a user name, a password or a part after #.",
        ),
    ],
)
async def test_an_address_that_is_refused_is_told_beside_the_field(
    admin: Administrator, url: str, sentence: str
) -> None:
    """Why, and what was written stays, the events too."""
    tenant, _ = await admin.make_tenant()
    page = await admin.show(f"{ROOT}/tenants/{tenant}/settings/notifications")
    wrong = await admin.submit(page, url=url, events="payment.cancelled")
    assert (wrong.status, wrong.fault, wrong.value("url")) == (422, {"url": sentence}, url)
    assert wrong.has('input[value="payment.cancelled"][checked]')
    assert not wrong.has('input[value="payment.confirmed"][checked]')
    assert await destinations(admin, tenant) == []


@pytest.mark.parametrize("events", [None, "payment.failed", ["payment.confirmed", "x"]])
async def test_at_least_one_known_event_is_chosen(admin: Administrator, events: Any) -> None:
    """No event or an unknown one is reported next to the choice."""
    tenant, _ = await admin.make_tenant()
    page = await admin.show(f"{ROOT}/tenants/{tenant}/settings/notifications")
    wrong = await admin.submit(page, url=HOOK, events=events)
    assert (wrong.status, wrong.fault) == (422, {"events": "Choose at least one type of event."})


async def test_a_tenth_destination_is_not_offered_nor_added(admin: Administrator) -> None:
    """With nine the form is gone; one that was open before is refused beside the field."""
    tenant, _ = await admin.make_tenant()
    path = f"{ROOT}/tenants/{tenant}/settings/notifications"
    early = await admin.show(path)
    for number in range(9):
        body = {"url": f"{HOOK}/{number}"}
        await admin.shop.internal("POST", f"/{tenant}/webhooks", body, status=201)
    page = await admin.show(path)
    assert (len(page.texts("tbody th")), page.has("#url")) == (9, False)
    late = await admin.submit(early, url=HOOK)
    assert late.status == 422
    assert "up to 9 destinations" in late.answer.text


async def test_a_thing_of_another_tenant_is_not_there(admin: Administrator) -> None:
    """Neither its keys nor its destinations, at any form."""
    mine, theirs = (await admin.make_tenant())[0], (await admin.make_tenant("Other"))[0]
    answer = await admin.shop.internal("POST", f"/{theirs}/webhooks", {"url": HOOK}, status=201)
    key = (await admin.shop.internal("GET", f"/{theirs}"))["keys"][0]["key_id"]
    page = await admin.show(f"{ROOT}/tenants/{mine}/keys")
    form_values = {"csrf": page.value("csrf"), "form": page.value("form")}
    for below in (f"keys/{key}", f"settings/notifications/{answer['destination_id']}"):
        for verb in ("rotate", "delete"):
            path = f"{ROOT}/tenants/{mine}/{below}/{verb}"
            assert (await admin.show(path)).status == 404
            assert (await admin.http.post(path, data=form_values)).status_code == 404
    assert len(await destinations(admin, theirs)) == 1
