"""The page, its status, its events and its code over HTTP (P-CK-01 to P-CK-05)."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import orjson
import pytest
import zxingcpp
from PIL import Image
from selectolax.lexbor import LexborHTMLParser, LexborNode

from reference.web.clock import WpClock
from tests.reference.gateway.checkout.checkout_shop import Shop, checkout_shop
from tests.reference.gateway.gateway_stack import PAYOUTS, Tenant, expect_refusal

ALGORAND, BASE, SOLANA = "algorand_testnet", "base_sepolia", "solana_devnet"


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    async with checkout_shop(tmp_path, now=int(time.time())) as shop:
        yield shop


@pytest.fixture
async def seller(shop: Shop) -> Tenant:
    return await shop.tenant()


def read(png: bytes) -> str:
    (barcode,) = zxingcpp.read_barcodes(
        Image.open(BytesIO(png)), formats=zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode)
    )
    return str(barcode.text)


def find_node(page: LexborHTMLParser, selector: str) -> LexborNode:
    """Return the element that a page has once."""
    (node,) = page.css(selector)
    return node


@pytest.mark.parametrize("network", [ALGORAND, BASE, SOLANA, "algorand_mainnet", "base_mainnet"])
async def test_an_active_page_shows_what_to_pay(shop: Shop, network: str) -> None:
    """Address, memo, amount, expiry, state and code stand where P-CK-01 puts them, and Paid nowhere."""
    live = network.endswith("mainnet")
    seller = await shop.tenant(kyc="approved", mode="live" if live else "test")
    link = await shop.on(network, seller, label='Tea & "Cake" <1>')
    answer = await shop.get(link)
    page = LexborHTMLParser(answer.text)

    def text(selector: str) -> str:
        return find_node(page, selector).text().strip()

    assert (text("#addr"), text("#memo")) == (PAYOUTS[network], shop.memo(link))
    assert (text("#amount"), find_node(page, "#amount").attributes["data-microunits"]) == ("8.41 USDC", "8410000")
    assert (text("#state"), find_node(page, "#state").attributes["data-state"]) == ("Waiting for payment", "active")
    assert find_node(page, "#expires time").attributes["datetime"] == link["expires_at"]
    assert find_node(page, "#qr").attributes["src"] == f"/checkout/{link['token']}/qr"
    assert text("h1") == 'Tea & "Cake" <1>'
    assert "Paid" not in answer.text
    assert find_node(page, "noscript meta[http-equiv=refresh]").attributes["content"] == "5"
    code = await shop.get(link, "/qr")
    assert (code.status_code, code.headers["content-type"]) == (200, "image/png")
    assert read(code.content) == find_node(page, "#qr").attributes["data-payload"]
    assert (page.css_first(".badge") is None) == live


async def test_nothing_on_the_page_is_inline(shop: Shop, seller: Tenant) -> None:
    """The policy of P-CK-04 allows no inline script, style or handler, and the page has none."""
    for network in (ALGORAND, BASE, SOLANA):
        page = LexborHTMLParser((await shop.get(await shop.on(network, seller))).text)
        assert all(script.attributes.get("src") and not script.text().strip() for script in page.css("script"))
        assert page.css("style, iframe, object, form, [style]") == []
        assert all(not name.startswith("on") for node in page.css("*") for name in node.attributes)
        for node in page.css("script, img, link"):
            address = str(node.attributes.get("src") or node.attributes["href"])
            answer = await shop.http.get(address)
            assert (answer.status_code, address.startswith("/checkout/")) == (200, True)


async def test_files_of_the_page(shop: Shop) -> None:
    """Files are named one by one: nothing else is served from their folder."""
    answer = await shop.http.get("/checkout/assets/checkout.js")
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "max-age" in answer.headers["cache-control"]
    for name in ("page.py", "..%2fpage.py", "checkout.html", ""):
        expect_refusal(await shop.http.get(f"/checkout/assets/{name}"), 404, "not_found")


@pytest.mark.parametrize("end", ["cancelled", "expired", "paid"])
async def test_a_page_that_is_over_asks_for_nothing(shop: Shop, seller: Tenant, end: str) -> None:
    """The state's word stands alone: no address, no memo, no code (P-CK-03)."""
    link = await shop.on(ALGORAND, seller, expires_in_seconds=60, redirect_url="https://shop.example/?a=1&b=2")
    if end == "cancelled":
        await shop.post(link, "/cancel", {"cancel_secret": link["cancel_secret"]})
    elif end == "paid":
        tx_id = shop.chains[ALGORAND].pay(1, shop.memo(link))
        assert (await shop.post(link, "/verify", {"tx_id": tx_id})).status_code == 200
    else:
        shop.pass_time(75)
        await shop.post(link, "/abandon")
    answer = await shop.get(link)
    page = LexborHTMLParser(answer.text)
    assert (answer.status_code, find_node(page, "#state").text()) == (200, end.capitalize())
    assert find_node(page, "#state").attributes["data-state"] == end
    assert page.css("#addr, #memo, #qr, #expires") == []
    assert PAYOUTS[ALGORAND] not in answer.text
    assert shop.memo(link) not in answer.text
    expect_refusal(await shop.get(link, "/qr"), 404, "not_found")
    refresh = page.css_first("noscript meta[http-equiv=refresh]")
    assert (None if refresh is None else refresh.attributes["content"]) == (
        "3;url=https://shop.example/?a=1&b=2" if end == "paid" else None
    )


async def test_after_the_expiry_no_address_is_shown(shop: Shop, seller: Tenant) -> None:
    """Active still, because the chain could not be asked, the page says so and shows nothing to pay to."""
    link = await shop.on(ALGORAND, seller, expires_in_seconds=60)
    shop.pass_time(61)
    answer = await shop.get(link)
    page = LexborHTMLParser(answer.text)
    assert find_node(page, "#state").attributes["data-state"] == "active"
    assert page.css("#addr, #memo, #qr") == []
    assert PAYOUTS[ALGORAND] not in answer.text
    expect_refusal(await shop.get(link, "/qr"), 404, "not_found")


async def test_an_unknown_token(shop: Shop) -> None:
    """No page, no code, no action, no stream: 404 everywhere."""
    for token in ("A" * 22, "x", "..", "%00", "%F0%9F%98%80", "'; drop table gateway_links; --"):
        for below in ("", "/status", "/events", "/qr"):
            expect_refusal(await shop.http.get(f"/checkout/{token}{below}"), 404, "not_found")
        for below in ("/verify", "/cancel", "/abandon"):
            expect_refusal(await shop.http.post(f"/checkout/{token}{below}", json={}), 404, "not_found")


async def test_wrong_methods(shop: Shop, seller: Tenant) -> None:
    """A known path with another method names the right one; HEAD goes where GET goes, also on the stream."""
    link = await shop.on(ALGORAND, seller)
    expect_refusal(await shop.http.post(f"/checkout/{link['token']}"), 405, "method_not_allowed")
    expect_refusal(await shop.http.get(f"/checkout/{link['token']}/verify"), 405, "method_not_allowed")
    for below in ("", "/status", "/events", "/qr"):
        answer = await shop.http.head(f"/checkout/{link['token']}{below}")
        assert (answer.status_code, answer.content) == (200, b"")


async def test_reading_changes_nothing(shop: Shop, seller: Tenant) -> None:
    """A status read after the expiry does not end the link, and asks the chain nothing."""
    link = await shop.on(ALGORAND, seller, expires_in_seconds=60)
    shop.pass_time(700)
    before = shop.chains[ALGORAND].asked
    for below in ("", "/status", "/events"):
        if below != "/events":
            await shop.get(link, below)
    assert await shop.status(link) == {"status": "active", "redirect_url": None, "tx_id": None}
    assert shop.chains[ALGORAND].asked == before


async def test_events_of_a_link_that_is_over_are_one(shop: Shop, seller: Tenant) -> None:
    """A stream about a link that has ended says so and ends."""
    link = await shop.on(ALGORAND, seller)
    await shop.post(link, "/cancel", {"cancel_secret": link["cancel_secret"]})
    answer = await shop.get(link, "/events")
    expectation = {"status": "cancelled", "redirect_url": None, "tx_id": None}
    assert answer.text == f"event: status\ndata: {orjson.dumps(expectation).decode()}\n\n"


async def test_the_code_says_what_is_asked_only_where_that_is_on(shop: Shop, seller: Tenant, tmp_path: Path) -> None:
    """With WP_QR_DATA=off a `data` query is ignored; with on it is coded, up to 512 bytes."""
    link = await shop.on(ALGORAND, seller)
    assert read((await shop.get(link, "/qr", params={"data": "evil"})).content).startswith("algorand://")
    (tmp_path / "on").mkdir()
    async with checkout_shop(tmp_path / "on", now=int(time.time()), qr_data=True) as told:
        link = await told.on(ALGORAND, await told.tenant())
        for text in ("hello", "ü" * 256, "x" * 512):
            assert read((await told.get(link, "/qr", params={"data": text})).content) == text
        for text in ("", "x" * 513, "ü" * 257):
            expect_refusal(await told.get(link, "/qr", params={"data": text}), 422, "validation_error")
        assert read((await told.get(link, "/qr")).content).startswith("algorand://")


async def test_a_token_has_a_limit_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty calls about one token a minute, counted apart from other tokens and from the address (P-RL-04)."""
    # A second passes only when it is said so: nothing trickles into the bucket while sixty calls run.
    began = int(time.time())
    monkeypatch.setattr(WpClock, "seconds", lambda clock: began + 0.5 + clock._read_offset())
    async with checkout_shop(tmp_path, now=began, rate_limits=True) as shop:
        seller = await shop.tenant()
        first_link, other_link = await shop.on(ALGORAND, seller), await shop.on(ALGORAND, seller)
        for remaining_calls in range(59, -1, -1):
            answer = await shop.get(first_link, "/status")
            assert (answer.status_code, answer.headers["X-RateLimit-Remaining"]) == (200, str(remaining_calls))
        answer = await shop.get(first_link)
        expect_refusal(answer, 429, "rate_limited")
        assert int(answer.headers["Retry-After"]) >= 1
        assert (await shop.get(other_link, "/status")).status_code == 200
        shop.advance(2)
        assert (await shop.get(first_link, "/status")).status_code == 200
        codes = [(await shop.http.get(f"/checkout/{'x' * 22}/status")).status_code for _ in range(31)]
        assert (set(codes[:20]), codes[-1]) == ({404}, 429)
