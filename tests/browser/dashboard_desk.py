"""What tests of the dashboard share: the administrator's key, its address, and who looks at its screens."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped]
from playwright.async_api import Page

from tests.browser.conftest import Shop

DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}}


def admin_key(shop: Shop) -> str:
    """Return the first administrator's key of a shop's gateway."""
    return Path(shop.ready["admin_key_file"]).read_text("ascii").strip()


def dashboard(shop: Shop) -> str:
    """Return the address of a shop's dashboard."""
    return f"{shop.url}/dashboard"


@dataclass
class Walker:
    """A visitor of every screen, and the faults of the screens."""

    page: Page
    origin: str
    schemes: tuple[str, ...] = ("light", "dark")
    faults: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    visits: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("request", lambda request: self._note_request(request.url))

    def _note_request(self, url: str) -> None:
        if not url.startswith(f"{self.origin}/"):
            self.elsewhere.append(url)

    async def look(self, name: str) -> None:
        """Look at the screen that is open, in each colour scheme."""
        self.visits.append(name)
        width = await self.page.evaluate("document.documentElement.scrollWidth")
        viewport = self.page.viewport_size
        assert viewport is not None
        if width > viewport["width"]:
            self.faults.append(f"{name}: {width} pixels wide")
        for scheme in self.schemes:
            await self.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            violations = (await Axe().run(self.page)).response["violations"]
            places = [(one, at) for one in violations for at in one["nodes"]]
            self.faults += [f"{name} {scheme} {one['impact']} {one['id']}: {at['html']}" for one, at in places]
            await self._keep(f"{name}-{scheme}-{viewport['width']}")

    async def _keep(self, name: str) -> None:
        folder = os.environ.get("WELDPROOF_SCREENSHOTS")
        if folder:
            path = Path(folder) / f"dashboard-{re.sub(r'[^a-z0-9]+', '-', name)}.png"
            await self.page.screenshot(path=path, full_page=True)

    async def sign_in(self, key: str) -> None:
        """Fill in the form of sign-in."""
        await self.page.fill("#key", key)
        async with self.page.expect_navigation():
            await self.page.click("main button")

    async def submit(self, **fields: str) -> None:
        """Fill in the form of the screen and send it."""
        for name, value in fields.items():
            await self.page.fill(f'[id="{name.replace("__", "-")}"]', value)
        async with self.page.expect_navigation():
            await self.page.locator("main form button").first.click()
