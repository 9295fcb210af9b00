"""The checkout page with the eyes of axe: nothing serious or critical, in every state, light and dark."""

from __future__ import annotations

import pytest
from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped]

from tests.browser.conftest import NETWORKS, PHONE, Door, Shop, Visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def faults(visitor: Visitor) -> list[str]:
    """Return what axe finds in the page, whatever its impact, light and dark."""
    found = []
    for scheme in ("light", "dark"):
        await visitor.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        violations = (await Axe().run(visitor.page)).response["violations"]
        found += [f"{scheme} {one['impact']} {one['id']}: {at['html']}" for one in violations for at in one["nodes"]]
    return found


@pytest.mark.parametrize("lane", NETWORKS)
async def test_a_page_that_asks_for_money(door: Door, shop: Shop, lane: str) -> None:
    """An open page has no fault that axe knows, in light and in darkness."""
    assert await faults(await door.visit(await shop.link(lane), reduced_motion="reduce")) == []


async def test_a_page_on_a_phone(door: Door, shop: Shop) -> None:
    """The narrow page has no fault that axe knows."""
    assert await faults(await door.visit(await shop.link("base"), **PHONE)) == []


async def test_pages_that_are_over(door: Door, shop: Shop) -> None:
    """A paid page and a cancelled one have no fault that axe knows."""
    paid_link, cancelled_link = await shop.link(), await shop.link()
    await shop.pay(paid_link)
    await shop.cancel(cancelled_link)
    visitor = await door.visit(paid_link, reduced_motion="reduce")
    await visitor.sees("paid")
    await visitor.page.wait_for_selector("#tx")
    assert await faults(visitor) == []
    assert await faults(await door.visit(cancelled_link)) == []


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
