"""What a tenant does at its own pages: links, payments and receipts, totals, checkout, networks, trial (3.9)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.reference.gateway.checkout.checkout_shop import Shop, checkout_shop
from tests.reference.gateway.checkout.test_storefront import png
from tests.reference.gateway.dashboard.administrator import COPY_SCRIPT, ROOT, Administrator, fields
from tests.reference.gateway.dashboard.merchant import SHOP, Merchant, paid_link
from tests.reference.gateway.gateway_stack import PAYOUTS, Tenant

DAY = 86400


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Shop]:
    """A gateway over chains that the test writes."""
    async with checkout_shop(tmp_path, now=int(time.time())) as opened:
        yield opened


@pytest.fixture
async def seller(store: Shop) -> Tenant:
    """A tenant on trial."""
    return await store.tenant()


@pytest.fixture
async def merchant(store: Shop, seller: Tenant) -> AsyncIterator[Merchant]:
    """That tenant, signed in."""
    made = Merchant(store)
    await made.sign_in(key=seller.key)
    yield made
    await made.http.aclose()


async def signed_in(store: Shop, key: str) -> Merchant:
    """Return a tenant that has signed in with a key."""
    made = Merchant(store)
    assert (await made.sign_in(key=key)).status == 303
    return made


async def test_a_link_is_made_in_a_form(store: Shop, merchant: Merchant) -> None:
    """It is the link that the API would have made: exact amount, label, network, time; its address is shown."""
    made = await merchant.make_link(amount="1.005", label="Tee & Kuchen", network="solana_devnet", lifetime="3600")
    where = made.answer.headers["Location"]
    assert (made.status, where.startswith(f"{SHOP}/links/")) == (303, True)
    page = await merchant.show(where)
    assert page.text("[role=status]").startswith("The link is made.")
    address = page.text("#address")
    checkout = LexborHTMLParser((await store.http.get(address.removeprefix("http://localhost:8090"))).text)
    shown = {name: checkout.css_first(f"#{name}").text().strip() for name in ("addr", "amount")}  # type: ignore[union-attr]
    assert shown == {"addr": PAYOUTS["solana_devnet"], "amount": "1.005 USDC"}
    assert checkout.css_first("h1").text() == "Tee & Kuchen"  # type: ignore[union-attr]
    lasts = int(str(checkout.css_first("#countdown").attributes["data-seconds"]))  # type: ignore[union-attr]
    assert 3500 < lasts <= 3600
    (row,) = (await merchant.show(f"{SHOP}/links")).tree.css("tbody tr")
    assert row.css_first("th a").attributes["href"] == where.partition("?")[0]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"amount": ""}, {"amount"}),
        ({"amount": "8,41"}, {"amount"}),
        ({"amount": "0"}, {"amount"}),
        ({"amount": "-1"}, {"amount"}),
        ({"amount": "1e3"}, {"amount"}),
        ({"amount": "٣"}, {"amount"}),
        ({"amount": "1000000000.000001"}, {"amount"}),
        ({"label": ""}, {"label"}),
        ({"label": "a\nb"}, {"label"}),
        ({"label": "x" * 256}, {"label"}),
        ({"currency": "ZZZ"}, {"currency"}),
        ({"currency": ""}, {"currency"}),
        ({"network": "nowhere"}, {"network"}),
        ({"network": "algorand_mainnet"}, {"network"}),
        ({"lifetime": "60"}, {"lifetime"}),
        ({"lifetime": ""}, {"lifetime"}),
        ({"redirect": "javascript:alert(1)"}, {"redirect"}),
        ({"amount": "x", "lifetime": "x"}, {"amount", "lifetime"}),
        ({"amount": "x", "label": "", "currency": "?"}, {"amount", "label", "currency"}),
    ],
)
async def test_what_is_wrong_with_a_link_stands_beside_its_field(
    merchant: Merchant, given: dict[str, str], wrong: set[str]
) -> None:
    """What was written stays, and nothing is made."""
    page = await merchant.make_link(**given)
    assert (page.status, set(page.fault)) == (422, wrong)
    assert page.value("label") == given.get("label", "Order 7")[:256]
    assert page.has(".empty")


async def test_a_form_makes_one_link_however_often_it_is_sent(merchant: Merchant) -> None:
    """A second press of the button leads to the list."""
    page = await merchant.show(f"{SHOP}/links")
    form_values = {**fields(page.form(f"{SHOP}/links")), "amount": "1", "label": "Once"}
    answers = await asyncio.gather(*(merchant.http.post(f"{SHOP}/links", data=form_values) for _ in range(5)))
    assert sorted(one.headers["Location"] == f"{SHOP}/links" for one in answers) == [False] + [True] * 4
    assert (await merchant.show(f"{SHOP}/links")).texts("tbody th") == ["Once"]


async def test_a_link_is_of_the_key_that_signed_in(store: Shop) -> None:
    """A live key makes links on mainnet, a test key on test networks; the form offers those alone (P-TR-04)."""
    seller = await store.tenant(kyc="approved")
    live = (await store.internal("POST", f"/{seller.id}/api-keys", {"mode": "live"}, status=201))["api_key"]
    offered = {}
    for mode, key in (("test", seller.key), ("live", live)):
        merchant = await signed_in(store, key)
        page = await merchant.show(f"{SHOP}/links")
        offered[mode] = {str(one.attributes["value"]) for one in page.tree.css("#network option")}
        assert (await merchant.make_link()).status == 303
        await merchant.http.aclose()
    assert offered == {
        "test": {"algorand_testnet", "base_sepolia", "solana_devnet"},
        "live": {"algorand_mainnet", "base_mainnet"},
    }


async def test_a_trial_that_is_over_makes_no_link(store: Shop, seller: Tenant) -> None:
    """The form says so beside the network, as the API says it (P-TR-03)."""
    store.advance(60 * DAY + 1)
    merchant = await signed_in(store, seller.key)
    page = await merchant.make_link()
    assert page.fault == {"network": "The trial is over; complete the verification to go on."}
    assert page.has(".empty")
    await merchant.http.aclose()


async def test_payments_and_totals_are_shown(store: Shop, seller: Tenant, merchant: Merchant) -> None:
    """Each with payer, transaction and receipt; sums by network, over all and the last thirty days."""
    assert (await merchant.show(SHOP)).has(".empty")
    _, told = await paid_link(store, seller, 1, label="Order 1")
    await paid_link(store, seller, 2, label="Order 2")
    await store.on("base_sepolia", seller, label="Not paid")
    page = await merchant.show(f"{SHOP}/payments")
    assert sorted(page.texts('section[aria-label="Payments"] tbody th')) == ["Order 1", "Order 2"]
    assert told["tx_id"] in page.text('section[aria-label="Payments"]')
    explorers = {str(one.attributes["href"]) for one in page.tree.css('td a[rel="noopener noreferrer"]')}
    assert f"https://lora.algokit.io/testnet/transaction/{told['tx_id']}" in explorers
    for where in ("", "/payments"):
        totals = (await merchant.show(SHOP + where)).texts('section[aria-labelledby="totals"] tbody tr > *')
        assert totals == ["Algorand Testnet Test network", "2", "16.82 USDC", "16.82 USDC"]
    store.advance(31 * DAY)
    later = await signed_in(store, seller.key)
    totals = (await later.show(SHOP)).texts('section[aria-labelledby="totals"] tbody tr > *')
    assert totals[2:] == ["0.00 USDC", "16.82 USDC"]
    await later.http.aclose()


async def test_a_receipt_is_shown_verified_and_downloaded(store: Shop, seller: Tenant, merchant: Merchant) -> None:
    """The file is the attestation that the payer got, and passes POST /v1/receipt/verify."""
    _, told = await paid_link(store, seller)
    where = f"{SHOP}/payments/{told['payment_ledger_id']}"
    page = await merchant.show(where)
    assert (page.text("#jws"), "Verified now" in page.text("main")) == (told["settlement_attestation_jws"], True)
    assert "did:web:localhost%3A8090" in page.text('section[aria-labelledby="signed"] dl')
    (download,) = [str(one.attributes["href"]) for one in page.tree.css("a.button") if "Download" in one.text()]
    file = await merchant.http.get(download)
    assert (file.text, file.headers["content-type"]) == (told["settlement_attestation_jws"], "application/jose")
    assert file.headers["content-disposition"] == f'attachment; filename="receipt-{told["payment_ledger_id"]}.jws"'
    assert (file.headers["cache-control"], file.headers["x-content-type-options"]) == ("no-store", "nosniff")
    verified = await store.http.post("/v1/receipt/verify", json={"jws": file.text})
    assert (verified.status_code, verified.json()["verified"]) == (200, True)
    assert (await merchant.show(f"{SHOP}/payments/x")).status == 404


async def test_a_payment_that_the_chain_has_undone_has_no_receipt(
    store: Shop, seller: Tenant, merchant: Merchant
) -> None:
    """Nothing is signed for it, and it counts for nothing."""
    _, told = await paid_link(store, seller)
    from reference.store.database_url import open_database, sqlite_dsn
    from reference.store.link_payments import Payments

    database = open_database(sqlite_dsn(store.settings.gateway_data_dir / "gateway.sqlite3"))
    (payment,) = await Payments(database).of_tenant(seller.id, "paid")
    await Payments(database).record_recheck(payment, reversed_at=1, recheck_at=None)
    await database.close()
    where = f"{SHOP}/payments/{told['payment_ledger_id']}"
    page = await merchant.show(where)
    assert ("Undone by the chain" in page.text("main"), page.has("#jws")) == (True, False)
    assert (await merchant.show(f"{where}/receipt.jws")).status == 404
    assert (await merchant.show(SHOP)).has(".empty")


async def test_the_checkout_is_set_by_the_tenant(store: Shop, seller: Tenant, merchant: Merchant) -> None:
    """Name, addresses and logo are what the next payer sees; links go to those addresses alone."""
    path = f"{SHOP}/settings/checkout"
    given = {"name": "Corner shop", "addresses": "https://shop.example/a\r\nhttps://shop.example/a https://b.example"}
    saved = await merchant.submit(await merchant.show(path), path, **given)
    assert saved.answer.headers["Location"] == f"{path}?done=saved"
    assert (await merchant.send_logo(png())).status_code == 303
    link = await store.make_link(seller)
    page = LexborHTMLParser((await store.get(link)).text)
    assert page.css_first(".merchant").text() == "Corner shop"  # type: ignore[union-attr]
    logo = str(page.css_first(".logo").attributes["src"])  # type: ignore[union-attr]
    assert (await store.http.get(logo)).content == png()
    shown = await merchant.show(path)
    assert shown.text("#addresses") == "https://shop.example/a https://b.example"
    offered = {
        str(node.attributes["value"]) for node in (await merchant.show(f"{SHOP}/links")).tree.css("#redirect option")
    }
    assert offered == {"", "https://shop.example/a", "https://b.example"}
    assert (await merchant.make_link(redirect="https://b.example")).status == 303
    assert set((await merchant.make_link(redirect="https://elsewhere.example")).fault) == {"redirect"}
    removed = await merchant.submit(shown, f"{path}/logo/delete")
    assert removed.status == 303
    assert (await store.http.get(logo)).status_code == 404


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"name": "Paid"}, {"name"}),
        ({"name": "x" * 65}, {"name"}),
        ({"addresses": "http://shop.example"}, {"addresses"}),
        ({"addresses": "https://user@shop.example"}, {"addresses"}),
        ({"addresses": "javascript:alert(1)"}, {"addresses"}),
        ({"addresses": " ".join(f"https://{at}.example" for at in range(10))}, {"addresses"}),
        ({"name": "\x00", "addresses": "//shop.example"}, {"name", "addresses"}),
    ],
)
async def test_what_no_payer_may_see_is_refused(merchant: Merchant, given: dict[str, str], wrong: set[str]) -> None:
    """Beside its field, and nothing of the form is kept."""
    path = f"{SHOP}/settings/checkout"
    page = await merchant.submit(await merchant.show(path), path, **{"name": "Good", **given})
    assert (page.status, set(page.fault)) == (422, wrong)
    shown = await merchant.show(path)
    assert (shown.value("name"), shown.text("#addresses")) == ("", "")


async def test_a_file_that_is_no_logo_is_refused(merchant: Merchant) -> None:
    """Markup, nothing, or a form of the other kind; the page says why."""
    path = f"{SHOP}/settings/checkout"
    for data in (b"", b"<svg/>", b"x" * 60_000):
        answer = await merchant.send_logo(data)
        assert (answer.status_code, 'id="logo-fault"' in answer.text) == (422, True)
    form_values = fields((await merchant.show(path)).form(f"{path}/logo"))
    assert (await merchant.http.post(f"{path}/logo", data=form_values)).status_code == 415
    boundary = {"Content-Type": "multipart/form-data; boundary=x"}
    for body in (b"", b"--x\r\n", b"--x\r\nno header", b"x" * 100):
        broken = await merchant.http.post(f"{path}/logo", content=body, headers=boundary)
        assert broken.status_code in {400, 403}, body
    many = {f"f{number}": "x" for number in range(20)}
    flood = await merchant.http.post(
        f"{path}/logo", data={**form_values, **many}, files={"logo": ("a", b"x", "image/png")}
    )
    assert flood.status_code == 400
    assert not (await merchant.show(path)).has(".shop-logo")


async def test_an_operator_sets_a_tenants_checkout_too(store: Shop, seller: Tenant) -> None:
    """On the tenant's screens, with the scope that opens its other settings."""
    operator = Merchant(store)
    await operator.sign_in()
    base = f"{ROOT}/tenants/{seller.id}"
    path = f"{base}/settings/checkout"
    last_attempt = await operator.submit(await operator.show(path), path, name="By the operator")
    assert last_attempt.answer.headers["Location"] == f"{path}?done=saved"
    assert (await operator.send_logo(png(), base)).status_code == 303
    page = LexborHTMLParser((await store.get(await store.make_link(seller))).text)
    assert (page.css_first(".merchant").text(), len(page.css(".logo"))) == ("By the operator", 1)  # type: ignore[union-attr]
    gone = f"{ROOT}/tenants/{'0' * 36}/settings/checkout"
    assert (await operator.show(gone)).status == 404
    form_values = {**fields((await operator.show(path)).form(path)), "name": "x"}
    assert (await operator.http.post(gone, data=form_values)).status_code == 404
    await operator.http.aclose()


async def test_networks_and_trial_are_told_in_plain_words(store: Shop, seller: Tenant, merchant: Merchant) -> None:
    """Where the money goes, what is open and what is not, and that a key of the shop cannot move it."""
    page = await merchant.show(f"{SHOP}/settings/networks")
    text = page.text("main")
    assert {address in text for address in PAYOUTS.values()} == {True}
    assert ("worth nothing" in text, "cannot change them" in text, page.has("main form")) == (True, True, False)
    trial = (await merchant.show(f"{SHOP}/trial")).text("main")
    assert ("60 more days" in trial, "verified your business" in trial) == (True, True)
    await store.internal("POST", f"/{seller.id}/kyc", {"status": "approved"})
    assert "1000.00 USD are left" in (await merchant.show(f"{SHOP}/trial")).text("main")
    await store.internal("POST", f"/{seller.id}/kyc", {"status": "rejected"})
    assert "was not approved" in (await merchant.show(f"{SHOP}/trial")).text("main")


async def test_the_first_page_says_what_is_next(store: Shop) -> None:
    """Each step is done when it is, not when it was clicked."""
    answer: dict[str, Any] = await store.internal("POST", "", {"name": "New"}, status=201)
    seller = Tenant(answer["tenant_id"], answer["api_key"])
    merchant = await signed_in(store, seller.key)

    async def steps() -> list[str]:
        return [one.split()[-1] for one in (await merchant.show(SHOP)).texts(".steps h3")]

    assert await steps() == ["do"] * 5
    assert (await merchant.show(f"{SHOP}/links")).has(".card.empty")
    await store.internal(
        "PUT", f"/{seller.id}/networks", {"algorand_testnet": {"payout_address": PAYOUTS["algorand_testnet"]}}
    )
    path = f"{SHOP}/settings/checkout"
    await merchant.submit(await merchant.show(path), path, name="New shop")
    await merchant.make_link()
    assert await steps() == ["Done"] * 3 + ["do"] * 2
    await paid_link(store, seller)
    assert await steps() == ["Done"] * 4 + ["do"]
    await merchant.http.aclose()


async def test_hostile_texts_stay_texts(store: Shop, seller: Tenant, merchant: Merchant) -> None:
    """Labels and names are escaped wherever they are shown, and no page runs anything."""
    hostile = "<script>alert(1)</script>\"'&amp;{{ 7*7 }}</table>"
    _, told = await paid_link(store, seller, label=hostile)
    path = f"{SHOP}/settings/checkout"
    await merchant.submit(await merchant.show(path), path, name=hostile)
    for below in ("", "/links", "/payments", f"/payments/{told['payment_ledger_id']}", "/settings/checkout"):
        page = await merchant.show(SHOP + below)
        copies = below.startswith(("/links", "/payments"))
        assert page.scripts == ([COPY_SCRIPT] if copies else [])
        assert not page.has("[style]")
        policy = page.answer.headers["content-security-policy"]
        script = " script-src 'self';" if copies else ""
        assert policy.startswith(f"default-src 'none'; img-src 'self';{script} style-src 'self';")


async def test_an_administrator_is_shown_none_of_it(store: Shop) -> None:
    """The operator's navigation is as it was, with the checkout's settings among a tenant's screens."""
    operator = Administrator(store)
    await operator.sign_in()
    seller = await store.tenant()
    page = await operator.show(f"{ROOT}/tenants/{seller.id}/links")
    named = [str(one.attributes["href"]).partition(seller.id)[2] for one in page.tree.css("nav li a")]
    assert "/settings/checkout" in named
    assert not any("shop" in one for one in named)
    await operator.http.aclose()
