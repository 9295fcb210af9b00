"""Browser for pages that need scripts or drawings; optional, from the extra `browser`.

Without it, such a page is inconclusive, and the reason says what to install. No target fails for a page that the suite
could not see.
"""

from __future__ import annotations

import asyncio
import importlib
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from conformance.outcome import Inconclusive
from programs import chromium

INSTALL_HINT = "pip install 'weldproof[browser]', and have chromium installed (or run: playwright install chromium)"
_SETTLE_MILLISECONDS = 1_500
_SIZE = {"width": 900, "height": 1400}


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page after its scripts ran: its document, its visible text, and a PNG of the whole page."""

    html: str
    text: str
    picture: bytes


class Browser:
    """The browser for all pages of a run, started at first use."""

    def __init__(self, seconds: float, *, insecure: bool = False) -> None:
        """Store the longest time of a page, and whether any certificate is accepted."""
        self._milliseconds = seconds * 1000
        self._insecure = insecure
        self._starting = asyncio.Lock()
        # Two pages at once. More pages would only compete for the processor.
        self._slots = asyncio.Semaphore(2)
        self._driver: Any = None
        self._browser: Any = None

    async def close(self) -> None:
        """End the browser."""
        # A browser that has already crashed must not fail the run.
        with suppress(Exception):
            if self._browser is not None:
                await self._browser.close()
            if self._driver is not None:
                await self._driver.stop()

    async def render(self, url: str) -> RenderedPage:
        """Open a page, let its scripts run and return the result.

        Raises:
            Inconclusive: No browser is installed, or the page cannot be opened in it.
        """
        browser = await self._open()
        async with self._slots:
            return await self._show(browser, url)

    async def _show(self, browser: Any, url: str) -> RenderedPage:
        context = await browser.new_context(viewport=_SIZE, device_scale_factor=2, ignore_https_errors=self._insecure)
        try:
            page = await context.new_page()
            await page.goto(url, timeout=self._milliseconds, wait_until="load")
            # A page that keeps a stream of events open never becomes idle. After the time it is read as it is.
            with suppress(Exception):
                await page.wait_for_load_state("networkidle", timeout=_SETTLE_MILLISECONDS)
            return RenderedPage(
                await page.content(),
                await page.evaluate("document.body ? document.body.innerText : ''"),
                await page.screenshot(full_page=True),
            )
        except Exception as fault:
            raise Inconclusive(f"the browser could not show {url}: {fault}"[:300]) from fault
        finally:
            await context.close()

    async def _open(self) -> Any:
        # Several checks may ask at the same time, and only one browser must start.
        async with self._starting:
            if self._browser is None:
                self._browser = await self._start()
            return self._browser

    async def _start(self) -> Any:
        try:
            playwright = importlib.import_module("playwright.async_api")
        except ImportError as fault:
            raise Inconclusive(f"that takes a browser: {INSTALL_HINT}") from fault
        # A run against an operator's server downloads nothing. Without an installed browser, Playwright's is used.
        executable = await asyncio.to_thread(chromium.find_installed)
        options = {} if executable is None else chromium.launch_options(executable)
        try:
            self._driver = await playwright.async_playwright().start()
            return await self._driver.chromium.launch(args=["--no-proxy-server"], **options)
        except Exception as fault:
            raise Inconclusive(f"that takes a browser, and none starts: {INSTALL_HINT}") from fault
