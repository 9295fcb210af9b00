"""What a tenant shows payers of itself on the page, where they may go from there, and what they take along."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from PIL import Image
from selectolax.lexbor import LexborHTMLParser, LexborNode
from sqlalchemy import delete, select

from reference.gateway.merchant_branding import LOGO_BYTES, Unfit, check_contact, check_logo, check_name
from reference.protocol.networks import NETWORKS
from reference.store.checkout_tables import link_prices
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.merchants import Merchants
from tests.reference.gateway.checkout.checkout_shop import Shop, checkout_shop
from tests.reference.gateway.gateway_stack import PAYOUTS, Tenant, expect_refusal

LANES = ("algorand_testnet", "base_sepolia", "solana_devnet")
SHOP = "https://shop.example/cart"


def png(width: int = 8, height: int = 8) -> bytes:
    """Return a picture."""
    out = BytesIO()
    Image.new("RGB", (width, height), (10, 90, 200)).save(out, "png")
    return out.getvalue()


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    """A gateway over chains that the test writes."""
    async with checkout_shop(tmp_path, now=int(time.time())) as made:
        yield made


@pytest.fixture
async def merchants(shop: Shop) -> AsyncIterator[Merchants]:
    """What the tenants of that gateway show."""
    database = open_database(sqlite_dsn(shop.settings.gateway_data_dir / "gateway.sqlite3"))
    yield Merchants(database)
    await database.close()


@pytest.fixture
async def seller(shop: Shop) -> Tenant:
    """A tenant on trial."""
    return await shop.tenant()


async def page_of(shop: Shop, link: dict[str, object]) -> LexborHTMLParser:
    """Return a link's page."""
    return LexborHTMLParser((await shop.get(link)).text)


async def paid_page(shop: Shop, link: dict[str, object]) -> LexborHTMLParser:
    """Pay a link on Algorand and return its page."""
    amount = int(str(link["amount_microunits"]))
    tx_id = shop.chains["algorand_testnet"].pay(1, shop.memo(link), values=(amount,))
    assert (await shop.post(link, "/verify", {"tx_id": tx_id})).status_code == 200
    return await page_of(shop, link)


def find_node(page: LexborHTMLParser, selector: str) -> LexborNode:
    """Return the element that a page has once."""
    (node,) = page.css(selector)
    return node


def target(page: LexborHTMLParser, selector: str) -> str | None:
    """Return where a link of a page goes, None when the page has no such link."""
    node = page.css_first(selector)
    return None if node is None else node.attributes["href"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Corner <b>Shop</b>", "Corner <b>Shop</b>"),
        ("L" * 100, "L" * 63 + "…"),
        ("Already Paid", None),
        ("Corner\u202eShop", None),
    ],
)
async def test_a_tenant_without_a_name_for_payers_is_shown_by_its_own(
    shop: Shop, merchants: Merchants, name: str, shown: str | None
) -> None:
    """Cut to the length of names for payers; not where it could be taken for a state. Its own name comes first."""
    answer = await shop.internal("POST", "", {"name": name}, status=201)
    seller = Tenant(answer["tenant_id"], answer["api_key"])
    await shop.internal("PUT", f"/{seller.id}/networks", {key: {"payout_address": PAYOUTS[key]} for key in LANES})
    link = await shop.make_link(seller)
    page = await page_of(shop, link)
    assert [node.text() for node in page.css(".merchant")] == ([] if shown is None else [shown])
    assert page.css(".logo, #back") == []
    await merchants.save(seller.id, "Name for payers", ())
    assert find_node(await page_of(shop, link), ".merchant").text() == "Name for payers"


@pytest.mark.parametrize(
    ("amount", "currency", "total", "ordered", "rate"),
    [
        (12.5, "EUR", "13.50 USDC", "EUR 12.50", "1 EUR = 1.08 USDC"),
        (8.41, "usd", "8.41 USDC", "USD 8.41", "1 USD = 1 USDC"),
        (1.005, "GBP", "1.27635 USDC", "GBP 1.005", "1 GBP = 1.27 USDC"),
        (1000, "USD", "1000.00 USDC", "USD 1000.00", "1 USD = 1 USDC"),
        (8.41, "USDC", "8.41 USDC", None, None),
    ],
)
async def test_the_order_its_rate_and_when_that_was_fixed_are_shown(
    shop: Shop, seller: Tenant, amount: float, currency: str, total: str, ordered: str | None, rate: str | None
) -> None:
    """An order in the asset itself needs no second line. The line stays on the page of a paid link."""
    link = await shop.make_link(seller, amount=amount, currency=currency)
    for page in (await page_of(shop, link), await paid_page(shop, link)):
        assert find_node(page, "#amount").text() == total
        if ordered is None:
            assert page.css("#ordered") == []
            continue
        line = find_node(page, "#ordered")
        assert line.css_first("strong").text() == ordered  # type: ignore[union-attr]
        assert f"at {rate}" in line.text()
        assert line.css_first("time").attributes["datetime"] == link["created_at"]  # type: ignore[union-attr]


async def test_a_link_of_before_has_no_order(shop: Shop, seller: Tenant) -> None:
    """What was not kept is not made up, and a repeated call makes no second row."""
    link = await shop.make_link(seller, amount=12.5, currency="EUR")
    database = open_database(sqlite_dsn(shop.settings.gateway_data_dir / "gateway.sqlite3"))
    assert len(await database.rows(select(link_prices))) == 1
    await database.change(delete(link_prices))
    await database.close()
    page = await page_of(shop, link)
    assert (page.css("#ordered"), find_node(page, "#amount").text()) == ([], "13.50 USDC")


@pytest.mark.parametrize("ending", ["expired", "cancelled"])
async def test_a_page_that_is_over_is_no_dead_end(
    shop: Shop, seller: Tenant, merchants: Merchants, ending: str
) -> None:
    """It leads to the shop, else to the link's own address, names whom to ask, and shows the contact."""
    expected_values = {"redirect_url": "https://elsewhere.example/cart", "expires_in_seconds": 60}
    links = [await shop.make_link(seller, **expected_values), await shop.make_link(seller, expires_in_seconds=60)]
    for link in links:
        if ending == "cancelled":
            secret = {"cancel_secret": link["cancel_secret"]}
            assert (await shop.post(link, "/cancel", secret)).status_code == 200
    if ending == "expired":
        shop.pass_time(200)
        for link in links:
            assert (await shop.post(link, "/verify", {"tx_id": "B" * 51 + "A"})).status_code == 410
    first, second = [await page_of(shop, link) for link in links]
    assert find_node(first, "#state").attributes["data-state"] == ending
    assert (target(first, "#back"), target(second, "#back")) == (expected_values["redirect_url"], None)
    assert f"Ask {find_node(first, '.merchant').text()} for a new link" in " ".join(
        find_node(first, ".outcome").text().split()
    )
    await merchants.save(seller.id, "Corner shop", (SHOP,), "help@shop.example")
    page = await page_of(shop, links[1])
    assert (target(page, "#back"), target(page, "#contact")) == (SHOP, "mailto:help@shop.example")
    assert "Ask Corner shop for a new link" in " ".join(find_node(page, ".outcome").text().split())


@pytest.mark.parametrize("email", ["", "help@shop.example", "a.b+c@x-y.co.uk"])
def test_an_address_for_questions_passes(email: str) -> None:
    """A plain one, or none."""
    check_contact(email)


@pytest.mark.parametrize(
    "email",
    ["help", "a@b", "a b@c.de", "a@b.de?subject=x", "javascript:1@b.de", "a@b.de\n", "ä@b.de", "a" * 65 + "@b.de"],
)
def test_what_is_no_address_is_refused(email: str) -> None:
    """It stands in a link of the page."""
    with pytest.raises(Unfit):
        check_contact(email)


async def test_name_and_logo_come_from_the_gateway_itself(shop: Shop, seller: Tenant, merchants: Merchants) -> None:
    """Name as text, logo as a PNG by its hash, under the policy that lets nothing come from elsewhere."""
    name, logo = "<b>Corner & Sons</b>", png()
    await merchants.save(seller.id, name, ())
    await merchants.save_logo(seller.id, "d" * 64, logo)
    answer = await shop.get(await shop.make_link(seller))
    page = LexborHTMLParser(answer.text)
    assert find_node(page, ".merchant").text() == name
    where = str(find_node(page, ".logo").attributes["src"])
    logo_answer = await shop.http.get(where)
    assert (where, logo_answer.content, logo_answer.headers["content-type"]) == (
        f"/checkout/logos/{'d' * 64}",
        logo,
        "image/png",
    )
    assert logo_answer.headers["x-content-type-options"] == "nosniff"
    assert logo_answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert "img-src 'self';" in answer.headers["content-security-policy"]
    other_tenant = await page_of(shop, await shop.make_link(await shop.tenant()))
    assert other_tenant.css(".logo") == []
    await merchants.delete_logo(seller.id)
    expect_refusal(await shop.http.get(where), 404, "not_found")


@pytest.mark.parametrize("name", ["Paid", "You have PAID!", "x" * 65, "a\nb", "a\u202eb", "\x00"])
def test_a_name_that_could_mislead_is_refused(name: str) -> None:
    """The state's word stands nowhere on an open page (P-CK-01), and a name is one plain line."""
    with pytest.raises(Unfit):
        check_name(name)


@pytest.mark.parametrize("name", ["", "Prepaid phones", "Café Ünïcode 株式会社", "x" * 64])
def test_an_honest_name_passes(name: str) -> None:
    """Words that only hold those letters are no state."""
    check_name(name)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"GIF89a" + png(),
        png()[:-4],
        png() + b"<script>",
        png(1025, 1),
        png(1, 1025),
        png()[:-12] + b"\0" * LOGO_BYTES + png()[-12:],
    ],
)
def test_a_logo_is_a_small_png_and_nothing_else(data: bytes) -> None:
    """What a browser could take for something else, or would not like to hold, is no logo."""
    check_logo(png(1024, 1024))
    with pytest.raises(Unfit):
        check_logo(data)


async def test_a_payer_goes_back_to_registered_addresses_alone(
    shop: Shop, seller: Tenant, merchants: Merchants
) -> None:
    """To the link's own address where it is the shop's, else to the first that is registered, else nowhere."""
    elsewhere = await shop.make_link(seller, redirect_url="https://elsewhere.example/")
    own = await shop.make_link(seller, redirect_url="https://shop.example/thanks?order=7")
    plain = await shop.make_link(seller)
    assert {target(await page_of(shop, one), "#back") for one in (elsewhere, own, plain)} == {None}
    await merchants.save(seller.id, "", (SHOP, "https://second.example/"))
    assert target(await page_of(shop, elsewhere), "#back") == SHOP
    assert target(await page_of(shop, own), "#back") == "https://shop.example/thanks?order=7"
    page = await page_of(shop, plain)
    assert (target(page, "#back"), find_node(page, "#back").text()) == (SHOP, "Back to shop.example")
    assert find_node(page, "#back").attributes["rel"] == "noreferrer"
    await merchants.save(seller.id, "", ())
    assert target(await page_of(shop, own), "#back") is None


async def test_no_parameter_sends_a_payer_anywhere(shop: Shop, seller: Tenant, merchants: Merchants) -> None:
    """What stands in the page's address changes nothing of where it leads."""
    await merchants.save(seller.id, "", (SHOP,))
    link = await shop.make_link(seller)
    parameters = dict.fromkeys(("back", "redirect_url", "return", "url", "next"), "https://evil.example/")
    answer = await shop.get(link, params=parameters)
    assert answer.status_code == 200
    assert "evil.example" not in answer.text


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/cart",
        "https://shop.example.evil.example/",
        "https://evil.example/?https://shop.example/",
        "https://evil.example#@shop.example",
        "https://shop.example:444/cart",
        "https://shop.example:0/",
        "https://sub.shop.example/cart",
        "http://127.0.0.1/cart",
    ],
)
async def test_a_shop_that_registered_addresses_makes_links_to_those_alone(
    shop: Shop, seller: Tenant, merchants: Merchants, url: str
) -> None:
    """Scheme, host and port decide; a tenant that registered none may name any, as before."""
    await shop.make_link(seller, redirect_url=url)
    await merchants.save(seller.id, "", (SHOP,))
    answer = await shop.link(seller, redirect_url=url)
    expect_refusal(answer, 422, "validation_error")
    (fault,) = answer.json()["detail"]
    assert (fault["loc"], fault["type"]) == (["body", "redirect_url"], "return_address")
    for fine in ("https://shop.example", "https://SHOP.example:443/other?a=b#c"):
        await shop.make_link(seller, redirect_url=fine)
    await shop.make_link(await shop.tenant(), redirect_url=url)


@pytest.mark.parametrize("lane", LANES)
async def test_each_wallet_link_says_what_the_page_charges(shop: Shop, seller: Tenant, lane: str) -> None:
    """Address, asset, amount and memo (on Base: the page that has it signed) are those that stand on the page."""
    link = await shop.on(lane, seller, amount=1234.56789)
    page = await page_of(shop, link)
    texts = {name: find_node(page, f"#{name}").text().strip() for name in ("addr", "memo", "amount")}
    microunits = int(str(find_node(page, "#amount").attributes["data-microunits"]))
    assert (texts, microunits) == (
        {"addr": PAYOUTS[lane], "memo": shop.memo(link), "amount": "1234.56789 USDC"},
        1_234_567_890,
    )
    wallet_links = [str(node.attributes["href"]) for node in page.css('a[id^="open"]')]
    asset, family = NETWORKS[lane].asset_id, NETWORKS[lane].family
    if family == "evm":
        assert [one.partition("://")[0] for one in wallet_links] == ["metamask", "cbwallet"]
        pages = [
            "http://" + wallet_links[0].removeprefix("metamask://dapp/"),
            unquote(wallet_links[1].partition("=")[2]),
        ]
        assert set(pages) == {str(find_node(page, "#qr").attributes["data-payload"])}
        where, _, request = pages[0].partition("#")
        url = urlsplit(request)
        assert where == link["checkout_url"]
        assert (url.scheme, url.path) == ("ethereum", f"{asset}@84532/transfer")
        assert parse_qs(url.query) == {"address": [texts["addr"]], "uint256": [str(microunits)]}
        wallet_node = find_node(page, "#wallet").attributes
        assert (wallet_node["data-to"], wallet_node["data-value"], wallet_node["data-asset"]) == (
            texts["addr"],
            str(microunits),
            asset,
        )
        return
    (wallet,) = wallet_links
    url = urlsplit(wallet)
    query_values = {name: values for name, values in parse_qs(url.query).items() if name not in {"reference", "label"}}
    if family == "algorand":
        assert (url.scheme, url.netloc) == ("algorand", texts["addr"])
        assert query_values == {"amount": [str(microunits)], "asset": [asset], "xnote": [texts["memo"]]}
    else:
        assert (url.scheme, url.path) == ("solana", texts["addr"])
        assert query_values == {"amount": ["1234.56789"], "spl-token": [asset], "memo": [texts["memo"]]}


async def test_a_paid_page_is_a_receipt(shop: Shop, seller: Tenant, merchants: Merchants) -> None:
    """Who was paid, for what, how much, when, where on the chain; and the signed receipt to take along."""
    await merchants.save(seller.id, "Corner shop", (SHOP,))
    link = await shop.make_link(seller, label="Order 7")
    page = await paid_page(shop, link)
    status = await shop.status(link)
    lines = {node.css_first("dt").text(): node.css_first("dd").text() for node in page.css(".line")}  # type: ignore[union-attr]
    assert (lines["Amount"], lines["Network"]) == ("8.41 USDC", "Algorand Testnet (test network)")
    assert lines["Time"].endswith(" UTC")
    assert (find_node(page, ".merchant").text(), find_node(page, "h1").text()) == ("Corner shop", "Order 7")
    assert target(page, "#explorer") == f"https://lora.algokit.io/testnet/transaction/{status['tx_id']}"
    assert find_node(page, "#explorer").attributes["rel"] == "noopener noreferrer"
    wallet_node = find_node(page, "#signed")
    assert (wallet_node.attributes["href"], wallet_node.attributes["download"]) == (
        f"/checkout/{link['token']}/status",
        f"receipt-{lines['Receipt']}.json",
    )
    answer = (await shop.post(link, "/verify", {"tx_id": status["tx_id"]})).json()
    assert lines["Receipt"] == answer["payment_ledger_id"]
    assert target(page, "#back") == SHOP


@pytest.mark.parametrize(
    ("network", "address"),
    [
        ("base_mainnet", "https://basescan.org/tx/0x12"),
        ("base_sepolia", "https://sepolia.basescan.org/tx/0x12"),
        ("solana_devnet", "https://explorer.solana.com/tx/0x12?cluster=devnet"),
        ("algorand_mainnet", "https://lora.algokit.io/mainnet/transaction/0x12"),
        ("voi_mainnet", None),
    ],
)
def test_a_transaction_is_looked_at_on_its_own_network(network: str, address: str | None) -> None:
    """Test networks have explorers of their own, and a network without one has no link."""
    from reference.protocol.explorer_links import explorer_link

    assert explorer_link(NETWORKS[network], "0x12") == address
