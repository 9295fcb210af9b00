"""Every screen of the dashboard: with the eyes of axe, on a phone, with long names, and without a script (3.9)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser

from conformance.lanes.checkout_request import USDC, CheckoutRequest
from tests.browser.conftest import NETWORKS, PAID_MS, PHONE, Shop
from tests.browser.dashboard_desk import DESKTOP, Walker, admin_key, dashboard
from tests.reference.webhooks.receiver import Receiver

pytestmark = pytest.mark.asyncio(loop_scope="session")
NETWORK = NETWORKS["algorand"]
SETTINGS = ("networks", "notifications", "checkout")
LONG = "A shop with a name that hardly ends, " * 6


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def stocked_tenant(shop: Shop) -> AsyncIterator[str]:
    """A tenant with a long name that has some of everything; its id."""
    receiver = await Receiver().open()
    headers = {"Authorization": f"Bearer {admin_key(shop)}"}
    payout = shop.profile.tenants["first"].payout[NETWORK]
    async with httpx.AsyncClient(trust_env=False, timeout=60, base_url=shop.url, headers=headers) as http:

        async def call(method: str, path: str, body: Any, **options: Any) -> Any:
            answer = await http.request(method, path, json=body, **options)
            assert answer.status_code < 300, answer.text
            return answer.json()

        tenant = await call("POST", "/internal/tenants", {"name": LONG})
        tenant_id = str(tenant["tenant_id"])
        base = f"/internal/tenants/{tenant_id}"
        await call("PUT", f"{base}/networks", {NETWORK: {"payout_address": payout}})
        url = f"http://127.0.0.1:{receiver.port}/{'hook' * 40}"
        await call("POST", f"{base}/webhooks", {"url": url, "events": ["payment.confirmed", "payment.cancelled"]})
        await call("POST", f"{base}/api-keys/{tenant['key_id']}/rotate", None)
        credentials = {"Authorization": f"Bearer {tenant['api_key']}", "X-Tenant-Id": tenant_id}
        for label in ("Order 1", "Wort" * 60):
            body = {"amount": 8.41, "currency": "USD", "label": label}
            link = await call("POST", "/v1/payment-links", body, headers=credentials)
        payer = await shop.payer("algorand")
        bill = CheckoutRequest(USDC[NETWORK], payout, 8_410_000, f"weldproof:{link['token']}")
        await payer.settle(bill)
        await receiver.until(1)
        await payer.settle(bill)
        deadline = time.monotonic() + 240
        while not (await call("GET", f"{base}/payments?state=late", None))["payments"]:
            assert time.monotonic() < deadline, "the second payment was not listed as late"
            await asyncio.sleep(0.1)
    yield tenant_id
    await receiver.close()


async def test_no_screen_has_a_fault(browser: Browser, shop: Shop, stocked_tenant: str) -> None:
    """On a phone each one, its errors and refusals: axe finds nothing, nothing overflows or comes from elsewhere."""
    await walk(browser, shop, stocked_tenant, PHONE, "light")


@pytest.mark.slow
async def test_no_wide_screen_has_a_fault(browser: Browser, shop: Shop, stocked_tenant: str) -> None:
    """The same walk on a desk."""
    await walk(browser, shop, stocked_tenant, DESKTOP, "light")


@pytest.mark.slow
async def test_no_screen_has_a_fault_in_the_dark(browser: Browser, shop: Shop, stocked_tenant: str) -> None:
    """The same walk in dark colours."""
    await walk(browser, shop, stocked_tenant, DESKTOP, "dark")


async def walk(browser: Browser, shop: Shop, stocked_tenant: str, device: dict[str, Any], scheme: str) -> None:
    """Open every screen on a device, in light or dark colours, and hold that nothing is wrong with any."""
    context = await browser.new_context(**device, reduced_motion="reduce")
    context.set_default_timeout(PAID_MS)
    page = await context.new_page()
    walker = Walker(page, shop.url, (scheme,))
    tenant = f"{dashboard(shop)}/tenants/{stocked_tenant}"
    await page.goto(dashboard(shop))
    await walker.look("sign-in")
    await walker.sign_in("wrong")
    await walker.look("sign-in refused")
    await walker.sign_in(admin_key(shop))
    await page.wait_for_selector("#name")
    await walker.look("tenants")
    await walker.submit(name="")
    await walker.look("tenants with an error")
    await walker.submit(name=f"New {LONG}")
    await walker.look("a tenant is made")
    first_url = page.url
    await page.reload()
    await walker.look("sent again")
    assert first_url == page.url == dashboard(shop)
    for screen in ("links", "payments", "deliveries", "keys", *(f"settings/{one}" for one in SETTINGS), "trial"):
        await page.goto(f"{tenant}/{screen}")
        await walker.look(screen)
    await page.goto(f"{tenant}/payments?search=%20&from=x&to=2026-02-30")
    await walker.look("payments with errors")
    await page.goto(f"{tenant}/settings/networks")
    await walker.submit(address__base_sepolia="0x1", place__solana_devnet="x", address__algorand_testnet="a" * 120)
    await walker.look("networks with errors")
    await page.goto(f"{tenant}/settings/notifications")
    await walker.submit(url="https://10.0.0.1/")
    await walker.look("notifications with an error")
    for screen in ("keys", "settings/notifications"):
        for link in ("Rotate", "Delete"):
            await page.goto(f"{tenant}/{screen}")
            await page.locator("td.actions a", has_text=link).first.click()
            await page.wait_for_url("**/rotate" if link == "Rotate" else "**/delete")
            await walker.look(f"{screen} {link.lower()}")
    await page.goto(f"{tenant}/settings/networks")
    await walker.submit()
    await walker.look("saved")
    await page.goto(f"{tenant}/nothing")
    await walker.look("nothing")
    empty_tenant = await _empty_tenant(shop)
    for screen in ("links", "payments", "payments?search=x", "deliveries", "settings/notifications"):
        await page.goto(f"{dashboard(shop)}/tenants/{empty_tenant}/{screen}")
        await walker.look(f"empty {screen}")
    await context.close()
    assert walker.faults == []
    assert walker.elsewhere == []
    assert len(walker.visits) == 28


async def _empty_tenant(shop: Shop) -> str:
    headers = {"Authorization": f"Bearer {admin_key(shop)}"}
    async with httpx.AsyncClient(trust_env=False, timeout=60, base_url=shop.url, headers=headers) as http:
        return str((await http.post("/internal/tenants", json={"name": "Empty"})).json()["tenant_id"])


async def test_everything_works_without_a_script(browser: Browser, shop: Shop) -> None:
    """Sign in, tenant, address, destination, key, decision, sign out, in a browser that runs none."""
    context = await browser.new_context(**DESKTOP, java_script_enabled=False)
    context.set_default_timeout(PAID_MS)
    page = await context.new_page()
    walker = Walker(page, shop.url)
    await page.goto(dashboard(shop))
    await walker.sign_in(admin_key(shop))
    await page.wait_for_selector("#name")
    await walker.submit(name="Without a script")
    first = await page.input_value("#secret")
    await page.click("text=Go on to its payout addresses")
    await page.wait_for_selector("form.card")
    await walker.submit(address__algorand_testnet=shop.profile.tenants["first"].payout[NETWORK])
    assert await page.inner_text("[role=status]") == "Saved."
    await page.click("nav >> text=Notifications")
    await page.wait_for_selector("#url")
    await walker.submit(url="http://127.0.0.1:9/hook")
    secret = await page.input_value("#secret")
    await page.click("nav >> text=Keys")
    await page.wait_for_selector("#mode")
    await walker.submit()
    second = await page.input_value("#secret")
    assert len({first, secret, second}) == 3
    await page.click("nav >> text=Trial")
    await page.select_option("#status", "approved")
    await walker.submit()
    assert await page.inner_text("[role=status]") == "The decision is in force."
    await page.click("text=Sign out")
    await page.wait_for_selector("#key")
    await page.go_back()
    assert await page.locator("#key").count() == 1, "a page that was left is not shown again after sign-out"
    assert walker.elsewhere == []
    await context.close()


async def test_ids_are_whole_without_a_script(browser: Browser, shop: Shop, stocked_tenant: str) -> None:
    """A browser that runs no script shows the whole id, wrapped in a narrow window, and no button that copies it."""
    context = await browser.new_context(**PHONE, java_script_enabled=False)
    context.set_default_timeout(PAID_MS)
    page = await context.new_page()
    walker = Walker(page, shop.url)
    await page.goto(dashboard(shop))
    await walker.sign_in(admin_key(shop))
    await page.goto(f"{dashboard(shop)}/tenants/{stocked_tenant}/payments")
    payment_id = page.locator('section[aria-label="Payments"] .copied-id .id').last
    text, box = (await payment_id.inner_text()).strip(), await payment_id.bounding_box()
    assert (len(text), await page.locator(".copy:visible").count()) == (52, 0)
    assert box is not None
    assert box["height"] > 30, "52 characters need several lines of a narrow window"
    assert box["x"] + box["width"] <= 390
    await context.close()
