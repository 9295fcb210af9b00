"""A merchant's first hour in a browser: every page of a shop with the eyes of axe, by keyboard, and what payers see."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from PIL import Image
from playwright.async_api import Browser, expect

from conformance.lanes.checkout_request import USDC, CheckoutRequest
from tests.browser.conftest import NETWORKS, PAID_MS, PHONE, Shop
from tests.browser.dashboard_desk import DESKTOP, Walker, admin_key, dashboard
from tests.browser.keyboard import Keyboard

pytestmark = pytest.mark.asyncio(loop_scope="session")
NETWORK = NETWORKS["algorand"]
LONG = "A shop with a name that hardly ends, and goes on, and on, and on"
SCREENS = ("", "/links", "/payments", "/deliveries", "/settings/checkout", "/settings/networks", "/trial")


@dataclass(frozen=True, slots=True)
class Merchant:
    """A tenant with a payout address, and its first key."""

    id: str
    key: str


async def merchant_of(shop: Shop) -> Merchant:
    """Make a tenant that is paid on every lane."""
    payouts = shop.profile.tenants["first"].payout
    headers = {"Authorization": f"Bearer {admin_key(shop)}"}
    async with httpx.AsyncClient(trust_env=False, timeout=60, base_url=shop.url, headers=headers) as http:
        tenant = (await http.post("/internal/tenants", json={"name": f"{LONG} {LONG}"})).json()
        body = {key: {"payout_address": payouts[key]} for key in NETWORKS.values()}
        answer = await http.put(f"/internal/tenants/{tenant['tenant_id']}/networks", json=body)
        assert answer.status_code == 200, answer.text
    return Merchant(tenant["tenant_id"], tenant["api_key"])


@pytest_asyncio.fixture(loop_scope="session")
async def merchant(shop: Shop) -> Merchant:
    """A tenant that has nothing yet but its addresses and its key."""
    return await merchant_of(shop)


@pytest_asyncio.fixture(loop_scope="session")
async def keyboard(browser: Browser, shop: Shop) -> AsyncIterator[Keyboard]:
    """A keyboard user at the dashboard's first page."""
    clipboard = ["clipboard-read", "clipboard-write"]
    context = await browser.new_context(**DESKTOP, accept_downloads=True, permissions=clipboard)
    context.set_default_timeout(PAID_MS)
    page = await context.new_page()
    own_keyboard = Keyboard(page, await context.new_cdp_session(page))
    await page.goto(dashboard(shop))
    await own_keyboard.wait_until_drawn()
    yield own_keyboard
    await context.close()


def logo(folder: Path) -> Path:
    """Write a picture and return its file."""
    out = BytesIO()
    Image.new("RGB", (320, 96), (20, 110, 90)).save(out, "png")
    file = folder / "logo.png"
    file.write_bytes(out.getvalue())
    return file


async def test_the_first_hour_by_keyboard(keyboard: Keyboard, shop: Shop, merchant: Merchant, tmp_path: Path) -> None:
    """Signed in with its key, the shop names itself, makes a link, is paid, and keeps a receipt that verifies."""
    page = keyboard.page
    assert (await keyboard.focus()).name == "Your key"
    await page.keyboard.type(merchant.key)
    await keyboard.enter()
    await keyboard.enter("link", "Checkout")
    await keyboard.write("Name for payers", "Corner shop")
    await keyboard.write("Addresses of the shop", f"{shop.url}/health")
    await keyboard.enter("button", "Save")
    await expect(page.locator("[role=status]")).to_have_text("Saved.")
    await page.set_input_files("#logo", logo(tmp_path))
    await keyboard.enter("button", "Use this logo")
    await expect(page.locator(".shop-logo")).to_be_visible()
    await keyboard.enter("link", "Links")
    await keyboard.enter("button", "Make link")
    assert (await keyboard.focus()).role == "alert"
    await keyboard.write("Amount", "8.41")
    await keyboard.write("What for", "Order 7 by keyboard")
    await keyboard.enter("button", "Make link")
    await expect(page.locator("[role=status]")).to_contain_text("The link is made.")
    token = (await page.input_value("#address")).rpartition("/")[2]
    await keyboard.enter("link", "Open the checkout")
    await expect(page.locator(".merchant")).to_have_text("Corner shop")
    address = shop.profile.tenants["first"].payout[NETWORK]
    assert (await page.inner_text("#addr")).strip() == address
    await (await shop.payer("algorand")).settle(
        CheckoutRequest(USDC[NETWORK], address, 8_410_000, f"weldproof:{token}")
    )
    await page.wait_for_selector('#state[data-state="paid"]')
    await page.wait_for_selector("#tx")
    await page.goto(f"{dashboard(shop)}/shop/payments")
    await filter_and_copy(keyboard)
    await keyboard.enter("link", "Receipt of Order 7")
    await expect(page.locator("main .badge").first).to_have_text("Verified now")
    await keyboard.to("link", "Download receipt")
    async with page.expect_download() as download:
        await page.keyboard.press("Enter")
    jws = Path(await (await download.value).path()).read_text("ascii")
    async with httpx.AsyncClient(trust_env=False, timeout=60, base_url=shop.url) as http:
        assert (await http.post("/v1/receipt/verify", json={"jws": jws})).status_code == 200
    await keyboard.enter("link", "Start")
    await expect(page.locator(".steps h3").nth(3)).to_contain_text("Done")
    await keyboard.enter("button", "Sign out")
    await expect(page.locator("#key")).to_be_visible()


async def filter_and_copy(keyboard: Keyboard) -> None:
    """Search for the payment, copy its transaction, and keep the file of what is listed."""
    page = keyboard.page
    await keyboard.to("searchbox", "Search")
    await page.keyboard.type("ORDER 7 by")
    await keyboard.enter()
    tx_id = str(await page.get_attribute("[data-name^=transaction]", "data-copy"))
    copied_id = page.locator(".copied-id", has_text=tx_id)
    width = await copied_id.locator(".id").evaluate("element => element.getBoundingClientRect().width")
    assert width < 200, "the id is not shortened"
    await keyboard.to("button", f"Copy transaction {tx_id[:8]}")
    for key in ("Enter", "Space"):
        await page.evaluate("navigator.clipboard.writeText('')")
        await page.keyboard.press(key)
        await expect(page.locator("#copied")).to_have_text(f"Copied transaction {tx_id[:8]}")
        assert await page.evaluate("navigator.clipboard.readText()") == tx_id
        assert (await keyboard.focus()).role == "button"
        await page.evaluate("document.getElementById('copied').textContent = ''")
    await page.evaluate("void (navigator.clipboard.writeText = async () => { throw new Error('refused'); })")
    await page.evaluate("void (document.execCommand = () => false)")
    await page.keyboard.press("Enter")
    await expect(page.locator("#copied")).to_contain_text("is selected")
    assert "".join((await page.evaluate("getSelection().toString()")).split()) == tx_id
    await page.reload()
    await keyboard.to("link", "Export as CSV")
    async with page.expect_download() as downloading:
        await page.keyboard.press("Enter")
    download = await downloading.value
    lines = Path(await download.path()).read_text("utf-8").splitlines()
    assert (download.suggested_filename, len(lines), tx_id in lines[1]) == ("payments.csv", 2, True)


async def test_no_page_of_a_shop_has_a_fault(browser: Browser, shop: Shop, merchant: Merchant, tmp_path: Path) -> None:
    """Empty, with errors and with things in it: axe finds nothing, nothing overflows or comes from elsewhere."""
    await walk(browser, shop, merchant, PHONE, "light", tmp_path)


@pytest.mark.slow
async def test_no_page_of_a_shop_has_a_fault_in_the_dark(
    browser: Browser, shop: Shop, merchant: Merchant, tmp_path: Path
) -> None:
    """The same walk on a desk, in dark colours."""
    await walk(browser, shop, merchant, DESKTOP, "dark", tmp_path)


async def walk(
    browser: Browser, shop: Shop, merchant: Merchant, device: dict[str, Any], scheme: str, folder: Path
) -> None:
    """Go through every page of a shop, from its first hour to its first payment, and look at each."""
    context = await browser.new_context(**device, reduced_motion="reduce")
    context.set_default_timeout(PAID_MS)
    page = await context.new_page()
    walker, base = Walker(page, shop.url, (scheme,)), f"{dashboard(shop)}/shop"
    await page.goto(base)
    await walker.sign_in(merchant.key)
    await expect(page.locator(".steps")).to_be_visible()
    for screen in SCREENS:
        await page.goto(base + screen)
        await walker.look(f"shop empty {screen}")
    await page.goto(f"{base}/links")
    await walker.submit(amount="x", label="")
    await walker.look("shop links with errors")
    await walker.submit(amount="8.41", label="Wort" * 60)
    await expect(page.locator("#address")).to_be_visible()
    await walker.look("shop link")
    checkout = await page.input_value("#address")
    await page.goto(f"{base}/settings/checkout")
    await walker.submit(name="Paid", addresses="x")
    await walker.look("shop checkout with errors")
    await walker.submit(name=LONG, addresses="https://shop.example/cart")
    await expect(page.locator("[role=status]")).to_have_text("Saved.")
    await page.set_input_files("#logo", logo(folder))
    async with page.expect_navigation():
        await page.click("text=Use this logo")
    await expect(page.locator(".shop-logo")).to_be_visible()
    await walker.look("shop checkout with logo")
    await page.goto(checkout)
    await walker.look("checkout with logo")
    address = shop.profile.tenants["first"].payout[NETWORK]
    bill = CheckoutRequest(USDC[NETWORK], address, 8_410_000, f"weldproof:{checkout.rpartition('/')[2]}")
    await (await shop.payer("algorand")).settle(bill)
    await page.wait_for_selector('#state[data-state="paid"]')
    await page.wait_for_selector("#print")
    await walker.look("checkout paid")
    for screen in ("", "/links", "/payments"):
        await page.goto(base + screen)
        await walker.look(f"shop stocked {screen}")
    await look_at_filters(walker)
    async with page.expect_navigation():
        await page.click("td >> text=Receipt")
    await expect(page.locator("#jws")).to_be_visible()
    await walker.look("shop receipt")
    await page.goto(dashboard(shop) + "/tenants/x/keys")
    await expect(page.locator("h1")).to_have_text("Not allowed")
    await walker.look("shop refused")
    await context.close()
    assert walker.faults == []
    assert walker.elsewhere == []
    assert len(walker.visits) == 20


async def look_at_filters(walker: Walker) -> None:
    """Look at a filter of payments without a match and with an error, and go back to all payments."""
    payments = walker.page.url
    await walker.submit(search="Nothing")
    await walker.look("shop payments without a match")
    await walker.page.goto(f"{payments}?from=x")
    await walker.look("shop payments with an error")
    await walker.page.goto(payments)


async def test_a_receipt_prints_on_paper(browser: Browser, shop: Shop, merchant: Merchant, tmp_path: Path) -> None:
    """Black on white, without buttons and links, whatever the colours of the screen; one page."""
    link = await shop.link("algorand")
    context = await browser.new_context(**DESKTOP, color_scheme="dark")
    context.set_default_timeout(PAID_MS)
    page = await context.new_page()
    await page.add_init_script("window.print = () => { window.printed = (window.printed || 0) + 1; };")
    await shop.pay(link)
    await page.goto(link.url)
    await page.wait_for_selector('#state[data-state="paid"]')
    await page.wait_for_selector("#print:not([hidden])")
    await page.click("#print")
    await page.wait_for_function("window.printed === 1")
    await page.emulate_media(media="print")
    for selector in ("#print", "#signed", "#explorer", ".copy"):
        await expect(page.locator(selector).first).to_be_hidden()
    for shown in ("h1", "#amount", "#tx", ".receipt", "#state"):
        await expect(page.locator(shown).first).to_be_visible()
    colours = await page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.documentElement).backgroundColor]"
    )
    assert colours == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    paper = await page.pdf(format="A4")
    assert paper.count(b"/Type /Page\n") == 1
    del merchant, tmp_path
    await context.close()


async def test_a_phone_without_a_wallet_in_its_browser_opens_one(browser: Browser, shop: Shop) -> None:
    """On Base wallets are opened at this very page, which goes away where the browser has a wallet itself."""
    link = await shop.link("base")
    for script, is_shown in ((None, True), ("window.ethereum = { request: async () => [] };", False)):
        context = await browser.new_context(**PHONE)
        context.set_default_timeout(PAID_MS)
        page = await context.new_page()
        if script is not None:
            await page.add_init_script(script)
        await page.goto(link.url)
        await expect(page.locator("#pay")).to_be_visible(visible=not is_shown)
        await expect(page.locator("#open")).to_be_visible(visible=is_shown)
        payload = str(await page.get_attribute("#qr", "data-payload"))
        assert await page.get_attribute("#open", "href") == f"metamask://dapp/{payload.partition('://')[2]}"
        assert await page.evaluate("document.documentElement.scrollWidth") == 390
        await context.close()
