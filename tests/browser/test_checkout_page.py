"""The checkout page in a browser: scanned, paid on the chain, and seen to flip by itself (P-CK-01 to P-CK-05)."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.browser.conftest import NETWORKS, PAID_MS, PHONE, Door, Shop

pytestmark = pytest.mark.asyncio(loop_scope="session")
LANES = tuple(NETWORKS)


@pytest.mark.parametrize("lane", LANES)
async def test_a_page_is_scanned_and_paid_and_flips_without_a_reload(door: Door, shop: Shop, lane: str) -> None:
    """The code on the screen says what to pay; once that is on the chain, the same page shows Paid."""
    link = await shop.link(lane)
    visitor = await door.visit(link)
    assert await visitor.text("#state") == "Waiting for payment"
    assert await visitor.text("#addr") == link.address
    assert await visitor.text("#memo") == link.memo
    assert await visitor.text("#amount") == "8.41 USDC"
    assert await visitor.page.get_attribute("#amount", "data-microunits") == "8410000"
    assert "Paid" not in await visitor.page.content()
    barcode_urls = await visitor.scan()
    assert barcode_urls == await visitor.page.get_attribute("#qr", "data-payload")
    assert link.address in barcode_urls
    await visitor.keep(f"{lane}-waiting")
    tx_id = await shop.pay(link)
    await visitor.sees("paid")
    assert await visitor.text("#state") == "Paid"
    await visitor.page.wait_for_selector("#tx")
    assert (await visitor.text("#tx")).lower() == tx_id.lower()
    assert link.address not in await visitor.page.content()
    assert visitor.loads == 1
    visitor.is_content()
    await visitor.keep(f"{lane}-paid")


async def test_the_base_code_opens_the_page_first(door: Door, shop: Shop) -> None:
    """A wallet that scans the code comes to the page, for a bare transfer would carry no memo."""
    link = await shop.link("base")
    barcode_urls = await (await door.visit(link)).scan()
    assert barcode_urls.startswith(f"{link.url}#ethereum:0x036CbD53842c5426634e7929541eC2318f3dCF7e@84532/transfer?")
    assert f"address={link.address}&uint256=8410000" in barcode_urls


async def test_the_solana_code_is_solana_pay(door: Door, shop: Shop) -> None:
    """Recipient, amount, mint, reference, label and memo are written as Solana Pay defines them."""
    link = await shop.link("solana", label="Tea & Cake #3")
    parts = urlsplit(await (await door.visit(link)).scan())
    parameters = {name: values[0] for name, values in parse_qs(parts.query).items()}
    assert (parts.scheme, parts.path) == ("solana", link.address)
    assert (parameters["amount"], parameters["label"], parameters["memo"]) == ("8.41", "Tea & Cake #3", link.memo)


async def test_without_script_the_page_flips_by_refreshing_itself(door: Door, shop: Shop) -> None:
    """A browser that runs no script sees Paid within a refresh of five seconds, and the code and details before."""
    link = await shop.link()
    visitor = await door.visit(link, java_script_enabled=False)
    assert link.address in await visitor.scan()
    assert await visitor.text("#memo") == link.memo
    assert await visitor.page.locator(".copy:visible").count() == 0
    await shop.pay(link)
    await visitor.sees("paid")
    assert await visitor.text("#state") == "Paid"
    visitor.is_content()


async def test_times_are_those_of_the_device_and_utc_without_script(door: Door, shop: Shop) -> None:
    """The order and its rate are shown; both times are localised, and stay what the server said as their titles."""
    link = await shop.link(amount=12.5, currency="EUR")
    visitor = await door.visit(link, timezone_id="America/New_York")
    assert await visitor.text("#amount") == "13.50 USDC"
    assert "EUR 12.50 at 1 EUR = 1.08 USDC" in await visitor.text("#ordered")
    times = await visitor.page.locator("time").evaluate_all("all => all.map(one => [one.textContent, one.title])")
    assert len(times) == 2
    assert all(shown.endswith(("GMT-5", "GMT-4", "EST", "EDT")) for shown, _ in times)
    assert all(title.endswith(" UTC") for _, title in times)
    plain = await door.visit(link, timezone_id="America/New_York", java_script_enabled=False)
    assert (await plain.text("#expires")).endswith(" UTC")
    visitor.is_content()


async def test_without_an_event_stream_the_page_polls(door: Door, shop: Shop) -> None:
    """A proxy that lets no stream through does not keep the page from flipping."""
    link = await shop.link()
    visitor = await door.visit(link, script="delete window.EventSource")
    await shop.pay(link)
    await visitor.sees("paid")
    assert visitor.loads == 1
    visitor.is_content()


async def test_a_phone_shows_everything_without_scrolling_sideways(door: Door, shop: Shop) -> None:
    """On a narrow screen nothing overflows, and the wallet on the same phone is one tap away."""
    link = await shop.link("algorand", label="A long label " * 12)
    visitor = await door.visit(link, **PHONE)
    assert await visitor.page.evaluate("document.documentElement.scrollWidth") == 390
    assert link.address in await visitor.scan()
    payload = await visitor.page.get_attribute("#qr", "data-payload")
    assert await visitor.page.get_attribute("#open", "href") == payload
    button = await visitor.page.locator("#open").bounding_box()
    assert button is not None
    assert button["y"] + button["height"] < 844
    assert button["height"] >= 44
    await visitor.keep("phone-waiting")
    await shop.pay(link)
    await visitor.sees("paid")
    await visitor.keep("phone-paid")
    visitor.is_content()


NOTING_SCRIPT = """
const later = window.setTimeout;
window.setTimeout = (call, wait, ...rest) => {
  window.noted(wait);
  return later(call, wait, ...rest);
};
"""


async def test_a_paid_page_goes_on_to_the_shop(door: Door, shop: Shop) -> None:
    """Three seconds after Paid the page goes to the tenant's address."""
    target = f"{shop.url}/health"
    link = await shop.link(redirect_url=target)
    visitor = await door.visit(link)
    waits: list[int] = []

    def note_wait(wait: int) -> None:
        waits.append(wait)

    await visitor.page.expose_function("noted", note_wait)
    await visitor.page.add_init_script(NOTING_SCRIPT)
    await visitor.page.reload()
    assert 3_000 not in waits
    await shop.pay(link)
    await visitor.page.wait_for_url(target, timeout=PAID_MS)
    assert waits.count(3_000) == 1


async def test_a_link_that_is_called_off_asks_for_nothing_any_more(door: Door, shop: Shop) -> None:
    """Cancelled by its tenant, the open page loses address, memo and code by itself."""
    link = await shop.link("solana")
    visitor = await door.visit(link)
    await shop.cancel(link)
    await visitor.sees("cancelled")
    assert await visitor.text("#state") == "Cancelled"
    await visitor.page.wait_for_selector("#qr", state="detached")
    content = await visitor.page.content()
    assert link.address not in content
    assert link.memo not in content
    visitor.is_content()
    await visitor.keep("cancelled")


async def test_a_link_whose_time_is_over_expires_on_the_open_page(door: Door, shop: Shop) -> None:
    """After its expiry the page asks for nothing and says Expired by itself; other browsers see the same."""
    link = await shop.link("base", expires_in_seconds=60)
    visitor = await door.visit(link)
    assert "left" in await visitor.text("#countdown")
    shop.advance(75)
    await visitor.sees("expired")
    await visitor.page.wait_for_selector("#qr", state="detached")
    assert link.address not in await visitor.page.content()
    later = await door.visit(link, color_scheme="dark")
    assert await later.text("#state") == "Expired"
    visitor.is_content()
    await later.keep("expired-dark")


# A button says for 1.6 seconds that it has copied; here it says so for ever, however late the test looks.
STAYING_SCRIPT = """
const later = window.setTimeout;
window.setTimeout = (call, wait, ...rest) => (wait === 1600 ? 0 : later(call, wait, ...rest));
"""


async def test_details_are_copied_with_a_button(door: Door, shop: Shop) -> None:
    """The buttons copy exactly the address, the memo, and the amount without its unit."""
    link = await shop.link()
    visitor = await door.visit(link, script=STAYING_SCRIPT, permissions=["clipboard-read", "clipboard-write"])
    for name, value in (("addr", link.address), ("memo", link.memo), ("exact", "8.41")):
        await visitor.page.click(f'.copy[data-copy="{name}"]')
        await visitor.page.wait_for_selector(f'.copy[data-copy="{name}"][data-done]')
        assert await visitor.page.evaluate("navigator.clipboard.readText()") == value
    visitor.is_content()


async def test_what_a_tenant_writes_stays_text(door: Door, shop: Shop) -> None:
    """A label of markup is shown as it is, in the page and in the code, and runs nothing."""
    label = "<img src=x onerror=\"document.title='owned'\"></title><script>document.title='owned'</script> & 'so on'"
    link = await shop.link("solana", label=label)
    visitor = await door.visit(link)
    assert await visitor.text("h1") == label
    assert "owned" not in (await visitor.page.title()).replace(label, "")
    assert parse_qs(urlsplit(await visitor.scan()).query)["label"] == [label]
    visitor.is_content()


async def test_the_policy_of_the_page_leaves_nothing_open(shop: Shop) -> None:
    """The page may load from its own origin alone, is not stored, and sends no referrer (P-CK-04)."""
    link = await shop.link()
    async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
        headers: Any = (await http.get(link.url)).headers
    assert headers["content-security-policy"] == (
        "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["content-type"] == "text/html; charset=utf-8"
