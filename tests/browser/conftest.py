"""What browser tests stand on: a stack of our own, one Chromium for all of them, and payers with the official SDKs."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
import zxingcpp
from PIL import Image
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from conformance.http.client import Names
from conformance.lanes.checkout_request import USDC, CheckoutPayer, CheckoutRequest
from conformance.lanes.descriptor import Payer
from conformance.lanes.payers import open_checkout_payer, open_payer
from conformance.target import Profile, load
from programs import chromium
from tests.stack import running_stack

NETWORKS = {"algorand": "algorand_testnet", "base": "base_sepolia", "solana": "solana_devnet"}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True}
PAID_MS = 120_000


@dataclass(frozen=True, slots=True)
class Link:
    """A link as its tenant got it."""

    url: str
    token: str
    network: str
    amount: int
    address: str
    cancel_secret: str

    @property
    def memo(self) -> str:
        """The memo of its page."""
        return f"weldproof:{self.token}"

    @property
    def bill(self) -> CheckoutRequest:
        """What a payer pays."""
        return CheckoutRequest(USDC[self.network], self.address, self.amount, self.memo)


@dataclass(slots=True)
class Shop:
    """A tenant of the stack's gateway, and the wallets of its customers."""

    ready: dict[str, Any]
    profile: Profile
    payers: dict[str, CheckoutPayer] = field(default_factory=dict)
    opened: list[Payer] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The gateway's address."""
        return str(self.ready["gateway"])

    async def link(self, lane: str = "algorand", **members: Any) -> Link:
        """Create a link of 8.41 USD on a lane's test network."""
        tenant = self.profile.tenants["first"]
        headers = {"Authorization": f"Bearer {tenant.key.read()}", "X-Tenant-Id": tenant.id}
        body = {
            "amount": 8.41,
            "currency": "USD",
            "label": "Order 1047 · Ceramic pour-over set",
            "preferred_network": NETWORKS[lane],
            **members,
        }
        async with httpx.AsyncClient(trust_env=False, timeout=60, base_url=self.url) as http:
            answer = await http.post("/v1/payment-links", json=body, headers=headers)
        assert answer.status_code == 201, answer.text
        link = answer.json()
        return Link(
            url=link["checkout_url"],
            token=link["token"],
            network=NETWORKS[lane],
            amount=link["amount_microunits"],
            address=tenant.payout[NETWORKS[lane]],
            cancel_secret=link["cancel_secret"],
        )

    async def payer(self, lane: str) -> CheckoutPayer:
        """Return the funded payer of a lane."""
        if lane not in self.payers:
            self.opened.append(await open_payer(lane, self.profile, Names(), self.profile.gateway_chains))
            self.payers[lane] = open_checkout_payer(self.opened[-1])
        return self.payers[lane]

    async def pay(self, link: Link) -> str:
        """Pay a link on its chain and return the transaction's id."""
        return await (await self.payer(link.network.partition("_")[0])).settle(link.bill)

    async def cancel(self, link: Link) -> None:
        """Cancel a link as its tenant."""
        async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
            answer = await http.post(f"{link.url}/cancel", json={"cancel_secret": link.cancel_secret})
        assert answer.status_code == 200, answer.text

    def advance(self, seconds: int) -> None:
        """Move the stack's clock on, and the chains' with it."""
        clock = Path(self.ready["clock_file"])
        draft = clock.with_suffix(".draft")
        draft.write_text(f"{float(clock.read_text('ascii')) + seconds}\n", "ascii")
        draft.replace(clock)


@pytest.fixture(scope="module")
def stack() -> Iterator[dict[str, Any]]:
    """A stack with a gateway on simulated chains."""
    with tempfile.TemporaryDirectory() as folder, running_stack(Path(folder), "--surface", "gateway") as ready:
        yield ready


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shop(stack: dict[str, Any]) -> AsyncIterator[Shop]:
    """The tenant whose links are paid."""
    new_shop = Shop(stack, load(Path(stack["profile"])))
    yield new_shop
    for payer in new_shop.opened:
        await payer.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One Chromium for the whole session: the machine's, else that of our cache."""
    launch_options = chromium.launch_options(chromium.chromium())
    async with async_playwright() as playwright:
        chromium_browser = await playwright.chromium.launch(args=["--no-sandbox"], timeout=120_000, **launch_options)
        yield chromium_browser
        await chromium_browser.close()


class Visitor:
    """A visitor with a separate browser window, and the faults that the window reported."""

    def __init__(self, context: BrowserContext, page: Page, origin: str) -> None:
        self.context = context
        self.page = page
        self.elsewhere: list[str] = []
        self.complaints: list[str] = []
        self.loads = 0
        page.on("request", lambda request: self._note_request(request.url, origin))
        page.on("console", lambda message: self._note_message(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("load", lambda _: self._note_load())

    def _note_request(self, url: str, origin: str) -> None:
        if not url.startswith((f"{origin}/", "data:")):
            self.elsewhere.append(url)

    def _note_message(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.complaints.append(text)

    def _note_load(self) -> None:
        self.loads += 1

    async def sees(self, state: str, *, within_ms: int = PAID_MS) -> None:
        """Wait until the page stands in a state."""
        await self.page.wait_for_selector(f'#state[data-state="{state}"]', timeout=within_ms)

    async def text(self, selector: str) -> str:
        """Return what stands in an element."""
        return (await self.page.inner_text(selector)).strip()

    async def scan(self) -> str:
        """Return what a camera reads from the page's code."""
        shot = Image.open(BytesIO(await self.page.locator("#qr").screenshot()))
        # Modules of a dense code can be read as bars of another kind, too.
        barcodes = zxingcpp.read_barcodes(shot, formats=zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode))
        assert len(barcodes) == 1, "the code on the screen cannot be read"
        return barcodes[0].text

    async def keep(self, name: str) -> None:
        """Keep a picture of the page where WELDPROOF_SCREENSHOTS says."""
        folder = os.environ.get("WELDPROOF_SCREENSHOTS")
        if folder:
            await self.page.screenshot(path=Path(folder) / f"{re.sub(r'[^a-z0-9]+', '-', name)}.png", full_page=True)

    def is_content(self) -> None:
        """Hold that nothing was asked for elsewhere and the browser had nothing to complain about."""
        assert (self.elsewhere, self.complaints) == ([], [])


class Door:
    """Lets visitors in."""

    def __init__(self, browser: Browser, origin: str) -> None:
        self._browser = browser
        self._origin = origin
        self._contexts: list[BrowserContext] = []

    async def visit(self, link: Link, *, script: str | None = None, **options: Any) -> Visitor:
        """Open a link's page in a window of its own, with a script that runs before the page's."""
        context = await self._browser.new_context(**{"viewport": {"width": 1100, "height": 820}, **options})
        context.set_default_timeout(PAID_MS)
        self._contexts.append(context)
        page = await context.new_page()
        visitor = Visitor(context, page, self._origin)
        if script is not None:
            await page.add_init_script(script)
        await page.goto(link.url)
        return visitor

    async def close(self) -> None:
        """Close every window."""
        for context in self._contexts:
            await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def door(browser: Browser, shop: Shop) -> AsyncIterator[Door]:
    """Lets visitors in and sees them out."""
    new_door = Door(browser, shop.url)
    yield new_door
    await new_door.close()
