"""The dashboard by keyboard alone: from a new tenant to a delivered webhook, and one that is sent again (3.9, P-WH)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
import stripe
from playwright.async_api import Browser

from conformance.lanes.checkout_request import USDC, CheckoutRequest
from tests.browser.conftest import NETWORKS, PAID_MS, Shop
from tests.browser.dashboard_desk import admin_key, dashboard
from tests.browser.keyboard import Keyboard
from tests.reference.webhooks.receiver import SIGNATURE, Receiver, ok, status

pytestmark = pytest.mark.asyncio(loop_scope="session")
NETWORK = NETWORKS["algorand"]


@pytest_asyncio.fixture(loop_scope="session")
async def keyboard(browser: Browser, shop: Shop) -> AsyncIterator[Keyboard]:
    """A keyboard user at the dashboard's first page."""
    context = await browser.new_context(viewport={"width": 1200, "height": 900})
    context.set_default_timeout(PAID_MS)
    page = await context.new_page()
    own_keyboard = Keyboard(page, await context.new_cdp_session(page))
    await page.goto(dashboard(shop))
    await own_keyboard.wait_until_drawn()
    yield own_keyboard
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def receiver() -> AsyncIterator[Receiver]:
    """A receiver of webhooks on loopback."""
    http_receiver = await Receiver().open()
    yield http_receiver
    await http_receiver.close()


async def sign_in(keyboard: Keyboard, shop: Shop) -> None:
    """Sign in: the field has the focus already."""
    assert (await keyboard.focus()).name == "Your key"
    await keyboard.page.keyboard.type(admin_key(shop))
    await keyboard.enter()


async def shown_secret(keyboard: Keyboard) -> str:
    """Return the secret that is shown: it has the focus, ready to be copied."""
    return (await keyboard.focus()).value


async def new_tenant(keyboard: Keyboard, shop: Shop, name: str, hook: str) -> tuple[str, str, str]:
    """Make a tenant with a payout address and a destination; return its id, its key and the destination's secret."""
    await keyboard.write("Name", name)
    await keyboard.enter()
    key = await shown_secret(keyboard)
    await keyboard.enter("link", "Go on to its payout addresses")
    tenant_id = keyboard.page.url.split("/")[5]
    await keyboard.write("Payout address on Algorand Testnet", shop.profile.tenants["first"].payout[NETWORK])
    await keyboard.write("Order on Algorand Testnet", "1")
    await keyboard.enter("button", "Save addresses")
    assert await keyboard.page.inner_text("[role=status]") == "Saved."
    await keyboard.enter("link", "Notifications")
    await keyboard.write("Address", hook)
    await keyboard.tick("payment.cancelled")
    await keyboard.enter("button", "Add destination")
    return tenant_id, key, await shown_secret(keyboard)


async def paid_link(shop: Shop, tenant_id: str, key: str, label: str) -> str:
    """Create a link through the API with the key that was shown, pay it on its chain, and return its token."""
    async with httpx.AsyncClient(trust_env=False, timeout=60, base_url=shop.url) as http:
        body = {"amount": 8.41, "currency": "USD", "label": label}
        headers = {"Authorization": f"Bearer {key}", "X-Tenant-Id": tenant_id}
        answer = await http.post("/v1/payment-links", json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    token, address = str(answer.json()["token"]), shop.profile.tenants["first"].payout[NETWORK]
    bill = CheckoutRequest(USDC[NETWORK], address, 8_410_000, f"weldproof:{token}")
    await (await shop.payer("algorand")).settle(bill)
    return token


async def refreshed_until(keyboard: Keyboard, word: str, attempts: int) -> str:
    """Press Enter on Refresh until the newest delivery stands so, with so many attempts; return what is said of it."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        await keyboard.enter("link", "Refresh")
        delivery = keyboard.page.locator(".deliveries > li").first
        if await delivery.count():
            text = await delivery.inner_text()
            if text.startswith(word) and text.count("UTC") == 2 + 2 * attempts:
                return text
        await asyncio.sleep(0.1)
    raise AssertionError(f"the delivery did not become {word}")


async def test_from_a_new_tenant_to_a_delivered_webhook(keyboard: Keyboard, shop: Shop, receiver: Receiver) -> None:
    """Signed in, tenant made, address and destination set, a link paid: delivered, signed with the secret shown."""
    await sign_in(keyboard, shop)
    tenant_id, key, secret = await new_tenant(keyboard, shop, "Corner shop", receiver.url)
    token = await paid_link(shop, tenant_id, key, "Order 7 · by keyboard")
    (delivery,) = await receiver.until(1)
    header = delivery.headers[SIGNATURE]
    assert stripe.WebhookSignature.verify_header(delivery.body.decode(), header, secret, tolerance=300)
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.WebhookSignature.verify_header(delivery.body.decode(), header, key, tolerance=300)
    assert delivery.json()["data"]["payment_link_token"] == token
    await keyboard.enter("link", "Deliveries")
    text = await refreshed_until(keyboard, "Delivered", 1)
    assert receiver.url in text
    assert delivery.event_id in text
    await keyboard.enter("link", "Links")
    row = await keyboard.page.inner_text("tbody tr")
    assert "Order 7 · by keyboard" in row
    assert "Paid" in row
    await keyboard.enter("button", "Sign out")
    assert (await keyboard.focus()).name == "Your key"


async def test_a_delivery_that_failed_is_sent_again(keyboard: Keyboard, shop: Shop, receiver: Receiver) -> None:
    """It waits for its next time; the button sends it at once, the same event, and it is delivered."""
    await sign_in(keyboard, shop)
    receiver.answer = status(503)
    tenant_id, key, _ = await new_tenant(keyboard, shop, "Second shop", receiver.url)
    await paid_link(shop, tenant_id, key, "Order 8")
    await receiver.until(1)
    await keyboard.enter("link", "Deliveries")
    assert "503" in await refreshed_until(keyboard, "Waiting", 1)
    receiver.answer = ok
    await keyboard.enter("button", "Send now")
    assert await keyboard.page.inner_text("[role=status]") == "It is being sent again."
    first, second = await receiver.until(2)
    assert (first.event_id, first.body) == (second.event_id, second.body)
    text = await refreshed_until(keyboard, "Delivered", 2)
    assert text.index("503") < text.index("200")


async def test_a_key_is_rotated_and_deleted_by_keyboard(keyboard: Keyboard, shop: Shop) -> None:
    """Each is asked before it is done; the skip link leads past the navigation; errors have the focus."""
    await sign_in(keyboard, shop)
    await keyboard.enter("button", "Create tenant")
    assert (await keyboard.focus()).role == "alert"
    assert (await keyboard.to("link", "Give a name")).role == "link"
    await keyboard.page.keyboard.press("Enter")
    assert (await keyboard.focus()).name == "Name"
    await keyboard.write("Name", "Third shop")
    await keyboard.enter()
    first = await shown_secret(keyboard)
    await keyboard.enter("link", "Keys")
    await keyboard.page.keyboard.press("Tab")
    assert (await keyboard.focus()).name == "Skip to the content"
    await keyboard.page.keyboard.press("Enter")
    await keyboard.page.keyboard.press("Tab")
    assert (await keyboard.focus()).role == "radio"
    await keyboard.enter("link", "Rotate key ")
    await keyboard.enter("button", "Rotate key")
    second = await shown_secret(keyboard)
    assert len({first, second}) == 2
    await keyboard.enter("link", "Go on to the keys")
    await keyboard.enter("link", "Delete key ")
    await keyboard.enter("button", "Delete key")
    assert "Deleted" in await keyboard.page.inner_text("[role=status]")
