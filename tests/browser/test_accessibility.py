"""The checkout page with the eyes of axe: nothing serious or critical, in every state, light and dark."""

from __future__ import annotations

import pytest
from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped]

from tests.browser.conftest import NETWORKS, PHONE, Door, Shop, Visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def faults(visitor: Visitor) -> list[str]:
    """Return what axe finds, whatever its impact."""
    results = await Axe().run(visitor.page)
    return [
        f"{one['impact']}: {one['id']}: {node['html']}"
        for one in results.response["violations"]
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("lane", NETWORKS)
async def test_a_page_that_asks_for_money(door: Door, shop: Shop, lane: str, scheme: str) -> None:
    """An open page has no fault that axe knows."""
    visitor = await door.visit(await shop.link(lane), color_scheme=scheme, reduced_motion="reduce")
    assert await faults(visitor) == []


async def test_a_page_on_a_phone(door: Door, shop: Shop) -> None:
    """The narrow page has no fault that axe knows."""
    visitor = await door.visit(await shop.link("base"), **PHONE)
    assert await faults(visitor) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_pages_that_are_over(door: Door, shop: Shop, scheme: str) -> None:
    """A paid page and a cancelled one have no fault that axe knows."""
    paid, cancelled = await shop.link(), await shop.link()
    await shop.pay(paid)
    await shop.cancel(cancelled)
    seen = await door.visit(paid, color_scheme=scheme)
    await seen.sees("paid")
    await seen.page.wait_for_selector("#tx")
    await seen.keep(f"paid-{scheme}")
    assert await faults(seen) == []
    assert await faults(await door.visit(cancelled, color_scheme=scheme)) == []


async def test_the_flip_is_said_aloud(door: Door, shop: Shop) -> None:
    """The state stands in a live region, which stays the same element when its text becomes Paid."""
    link = await shop.link()
    visitor = await door.visit(link)
    state = visitor.page.locator("#state")
    assert await state.get_attribute("aria-live") == "polite"
    await state.evaluate("element => { element.kept = true; }")
    await shop.pay(link)
    await visitor.sees("paid")
    await visitor.page.wait_for_selector("#tx")
    assert await state.evaluate("element => element.kept") is True
