"""What the dashboard lists: tenants, links, late payments, deliveries, standing; texts stay texts (3.9, 3.10)."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from reference.webhooks.dispatcher_runner import deliver
from tests.reference.gateway.checkout.checkout_shop import Shop, checkout_shop
from tests.reference.gateway.checkout.scripted_chain import AMOUNT
from tests.reference.gateway.dashboard.administrator import COPY_SCRIPT, ROOT, Administrator, Shown, fields
from tests.reference.gateway.gateway_stack import Gateway, Tenant
from tests.reference.webhooks.receiver import Receiver, status

HOSTILE_LABEL = "<script>alert(1)</script>\"'&amp;{{ 7*7 }}</table>"
HOSTILE = f"{HOSTILE_LABEL}\u202e"
DAY = 86400


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Shop]:
    """A gateway over chains that the test writes, with its dispatcher beside it."""
    async with checkout_shop(tmp_path, now=int(time.time()), beside=[deliver], webhook_schedule=(1000,)) as opened:
        yield opened


@pytest.fixture
async def keeper(store: Shop) -> AsyncIterator[Administrator]:
    """An administrator of that gateway, signed in."""
    administrator = Administrator(store)
    await administrator.sign_in()
    yield administrator
    await administrator.http.aclose()


async def pay(store: Shop, link: dict[str, Any], number: int, network: str = "algorand_testnet") -> str:
    """Pay a link on its chain and show the payment to the gateway."""
    tx_id = store.chains[network].pay(number, store.memo(link))
    assert (await store.post(link, "/verify", {"tx_id": tx_id})).status_code == 200
    return tx_id


async def below(admin: Administrator, tenant: Tenant | str, screen: str) -> Shown:
    """Open a screen of a tenant."""
    page = await admin.show(f"{ROOT}/tenants/{tenant if isinstance(tenant, str) else tenant.id}/{screen}")
    assert page.status == 200, page.answer.text
    return page


async def until_state(admin: Administrator, tenant: Tenant, word: str) -> Shown:
    """Open the deliveries until the first one has a state, with an attempt behind it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        page = await below(admin, tenant, "deliveries")
        if page.has(".deliveries summary") and page.text(".deliveries .badge") == word:
            return page
    raise AssertionError(f"no delivery became {word}")


async def test_tenants_have_pages(admin: Administrator) -> None:
    """Fifty a page, the newest first; each stands on one of them."""
    for number in range(53):
        await admin.shop.internal("POST", "", {"name": f"T{number}"}, status=201)
        if number % 20 == 19:
            admin.shop.advance(1)
    first = await admin.show(ROOT)
    (older,) = [one.attributes["href"] for one in first.tree.css(".pages a")]
    second = await admin.show(str(older))
    assert [len(page.texts("tbody th")) for page in (first, second)] == [50, 3]
    assert set(first.texts("tbody th") + second.texts("tbody th")) == {f"T{number}" for number in range(53)}
    assert set(first.texts("tbody th")[:13]) == {f"T{number}" for number in range(40, 53)}
    assert [one.attributes["href"] for one in second.tree.css(".pages a")] == [ROOT]


@pytest.mark.parametrize("after", ["x", "", "00000000-0000-4000-8000-000000000000", "'--"])
async def test_a_place_that_is_none_lists_nothing(admin: Administrator, after: str) -> None:
    """Nor does it break anything."""
    tenant, _ = await admin.make_tenant()
    assert (await admin.show(ROOT, params={"after": after})).has(".empty")
    for screen in ("links", "deliveries"):
        page = await admin.show(f"{ROOT}/tenants/{tenant}/{screen}", params={"after": after})
        assert (page.status, page.has(".empty")) == (200, True)


@pytest.mark.parametrize("query", ["after=%00", "after=a&after=b", "after=" + "a" * 65, "after=%ff", "done=%00"])
async def test_a_query_that_cannot_be_is_400(admin: Administrator, query: str) -> None:
    """NUL, several, too long; bytes that are no text are no id."""
    tenant, _ = await admin.make_tenant()
    page = await admin.show(f"{ROOT}/tenants/{tenant}/deliveries?{query}")
    assert page.status == (200 if query == "after=%ff" else 400)


async def test_links_are_listed_with_what_became_of_them(store: Shop, keeper: Administrator) -> None:
    """State, amount, network, label, the way to the checkout, and the transaction that paid."""
    tenant = await store.tenant()
    waits = await store.on("base_sepolia", tenant, label="Waits")
    paid_link = await store.on("algorand_testnet", tenant, label=HOSTILE_LABEL)
    tx_id = await pay(store, paid_link, 1)
    page = await below(keeper, tenant, "links")
    rows = {row.css_first("th").text().strip(): row for row in page.tree.css("tbody tr")}  # type: ignore[union-attr]
    cells = {label: [" ".join(cell.text().split()) for cell in row.css("td")] for label, row in rows.items()}
    assert cells["Waits"][:3] == ["Active", "8.41 USDC", "Base Sepolia"]
    assert cells["Waits"][4] == "none"
    state, _, network, _, transaction = cells[HOSTILE_LABEL][:5]
    assert (state, network, transaction) == ("Paid", "Algorand Testnet", f"{tx_id} Copy transaction {tx_id[:8]}")
    hrefs = {str(one.attributes["href"]) for one in page.tree.css("tbody a")}
    assert hrefs == {waits["checkout_url"], paid_link["checkout_url"]}
    assert page.scripts == [COPY_SCRIPT]
    assert page.text("#late + .lead").startswith("None.")


async def test_late_payments_are_listed_with_their_reason(store: Shop, keeper: Administrator) -> None:
    """The link was paid or cancelled before, or the block came after its expiry."""
    tenant = await store.tenant()
    links = {name: await store.on("algorand_testnet", tenant, label=name) for name in ("paid", "cancelled", "expired")}
    await pay(store, links["paid"], 1)
    secret = {"cancel_secret": links["cancelled"]["cancel_secret"]}
    assert (await store.post(links["cancelled"], "/cancel", secret)).status_code == 200
    from reference.gateway.settings import GatewaySettings
    from reference.store.database_url import open_database, sqlite_dsn
    from reference.store.link_payments import Payment, Payments, PaymentState
    from reference.store.links import Links

    settings: GatewaySettings = store.settings
    database = open_database(sqlite_dsn(settings.gateway_data_dir / "gateway.sqlite3"))
    links_store, payments = Links(database, settings.word), Payments(database)
    for number, (name, link) in enumerate(links.items()):
        of = await links_store.by_token(link["token"])
        assert of is not None
        after = of.expires_at + 1 if name == "expired" else of.created_at
        late = Payment(
            *(f"p-{number}", of.id, tenant.id, of.network, str(number) * 52, 0, PaymentState.LATE, AMOUNT, "payer"),
            *(after, of.created_at),
        )
        assert await payments.note(late)
    await database.close()
    page = await below(keeper, tenant, "links")
    told = {
        " ".join(row.css_first("th").text().split()): row.css("td")[0].text().strip()  # type: ignore[union-attr]
        for row in page.tree.css('section[aria-labelledby="late"] tbody tr')
    }
    assert told == {
        "paid": "The link was paid already",
        "cancelled": "The link had been cancelled",
        "expired": "Its block came after the link's expiry",
    }
    await keeper.sign_in("tenants:admin")
    unseen = await below(keeper, tenant, "links")
    assert ("payments:read" in unseen.answer.text, unseen.has("#late")) == (True, False)
    assert "Transaction" not in unseen.texts("thead th")
    await keeper.sign_in("payments:read")
    money = await below(keeper, tenant, "links")
    assert (money.has('section[aria-label="Links"]'), len(money.texts('section[aria-label="Payments"] tbody tr'))) == (
        False,
        1,
    )


async def test_a_late_payment_is_noted_as_given_back(store: Shop, keeper: Administrator) -> None:
    """By a transaction of its network that did not pay it, once; who only reads sees no form."""
    tenant = await store.tenant()
    link = await store.on("algorand_testnet", tenant, label="Twice")
    await pay(store, link, 1)
    late = await listed_late(store, link, "1" * 52)
    page = await below(keeper, tenant, "links")
    action = f"{ROOT}/tenants/{tenant.id}/links/payments/{late}/refunded"
    for wrong in ("", "no id", "1" * 52):
        answer = await keeper.submit(page, action, transaction=wrong)
        assert (answer.status, list(answer.fault)) == (422, [f"transaction-{late}"])
    given_back = "B" * 51 + "A"
    answer = await keeper.submit(page, action, transaction=given_back)
    assert answer.answer.headers["Location"] == f"{ROOT}/tenants/{tenant.id}/links?done=refunded"
    assert (await keeper.submit(page, action, transaction=given_back)).status == 409
    form_values = {**fields(page.form(action)), "transaction": given_back}
    assert (await keeper.http.post(action.replace(late, "p-none"), data=form_values)).status_code == 404
    page = await below(keeper, tenant, "links")
    assert given_back in page.text('section[aria-labelledby="late"]')
    assert not page.has('section[aria-labelledby="late"] form')
    back = await keeper.show(action)
    assert back.answer.headers["Location"] == f"{ROOT}/tenants/{tenant.id}/links"
    await listed_late(store, link, "2" * 52)
    await keeper.sign_in("payments:read")
    page = await below(keeper, tenant, "links")
    assert not page.has('section[aria-labelledby="late"] form')
    assert page.texts('td[data-label="Given back"]').count("no") == 1


async def listed_late(store: Shop, link: dict[str, Any], tx_id: str) -> str:
    """List a late payment of a link beside the gateway, and return its id."""
    from reference.store.database_url import open_database, sqlite_dsn
    from reference.store.link_payments import Payment, Payments, PaymentState
    from reference.store.links import Links

    database = open_database(sqlite_dsn(store.settings.gateway_data_dir / "gateway.sqlite3"))
    of = await Links(database, store.settings.word).by_token(link["token"])
    assert of is not None
    payment = Payment(
        *(f"p-{tx_id[:9]}", of.id, of.tenant_id, of.network, tx_id, 0, PaymentState.LATE, AMOUNT, "payer"),
        *(of.created_at, of.created_at),
    )
    assert await Payments(database).note(payment)
    await database.close()
    return payment.id


async def test_a_delivery_is_listed_with_its_attempts_and_sent_again(
    store: Shop, keeper: Administrator, receiver: Receiver
) -> None:
    """Refused at first, sent again by its button before its time, and delivered."""
    tenant = await store.tenant()
    receiver.answer = status(500)
    body = {"url": receiver.url}
    await store.internal("POST", f"/{tenant.id}/webhooks", body, status=201)
    await pay(store, await store.on("algorand_testnet", tenant), 1)
    page = await until_state(keeper, tenant, "Waiting")
    assert page.texts("details tbody tr > *")[:3] == ["Attempt 1", "Refused", "500"]
    assert "next attempt" in page.text(".deliveries")
    receiver.answer = status(204)
    (form,) = page.tree.css(".deliveries form")
    answer = await keeper.submit(page, str(form.attributes["action"]))
    assert answer.answer.headers["Location"] == f"{ROOT}/tenants/{tenant.id}/deliveries?done=resent"
    page = await until_state(keeper, tenant, "Delivered")
    assert page.texts("summary") == ["2 attempts"]
    assert [one for one in page.texts("details td") if one in {"500", "204"}] == ["500", "204"]
    assert len({one.event_id for one in receiver.got}) == 1
    assert page.text(".deliveries button").startswith("Resend")
    back = await keeper.show(str(form.attributes["action"]))
    assert back.answer.headers["Location"] == f"{ROOT}/tenants/{tenant.id}/deliveries"


async def test_what_cannot_be_sent_again_has_no_button(store: Shop, keeper: Administrator, receiver: Receiver) -> None:
    """A delivery whose destination is deleted says so, and its form is 404."""
    tenant = await store.tenant()
    answer = await store.internal("POST", f"/{tenant.id}/webhooks", {"url": receiver.url}, status=201)
    await pay(store, await store.on("algorand_testnet", tenant), 1)
    page = await until_state(keeper, tenant, "Delivered")
    action = str(page.tree.css(".deliveries form")[0].attributes["action"])
    where = f"{ROOT}/tenants/{tenant.id}/settings/notifications/{answer['destination_id']}/delete"
    await keeper.submit(await keeper.show(where))
    after = await below(keeper, tenant, "deliveries")
    assert (after.has(".deliveries form"), after.texts(".deliveries .badge")) == (False, ["Delivered", "Deleted"])
    assert (await keeper.submit(page, action)).status == 404


async def read_trial_page(admin: Administrator, tenant: str) -> tuple[str, list[str]]:
    """Return whether test networks and mainnet are open, and all that the two say."""
    page = await below(admin, tenant, "trial")
    return " ".join(page.texts(".two .badge")), page.texts(".two p")


async def test_the_trial_screen_says_what_is_allowed(admin: Administrator) -> None:
    """On trial, over, approved, paid: the rules of 3.10 in words, as the API applies them."""
    tenant, _ = await admin.make_tenant()
    assert (await read_trial_page(admin, tenant))[0] == "Open Closed"
    admin.shop.advance(60 * DAY + 1)
    await admin.sign_in()
    words, sentences = await read_trial_page(admin, tenant)
    assert (words, any("trial is over" in one for one in sentences)) == ("Closed Closed", True)
    page = await admin.show(f"{ROOT}/tenants/{tenant}/trial")
    last_attempt = await admin.submit(page, status="approved")
    assert last_attempt.answer.headers["Location"] == f"{ROOT}/tenants/{tenant}/trial?done=judged"
    words, sentences = await read_trial_page(admin, tenant)
    assert (words, any("free up to 1000.00 USD" in one for one in sentences)) == ("Open Open", True)
    await admin.submit(await admin.show(f"{ROOT}/tenants/{tenant}/trial"), plan="paid")
    words, sentences = await read_trial_page(admin, tenant)
    assert (words, any("Without limit" in one for one in sentences)) == ("Open Open", True)
    record = await admin.shop.internal("GET", f"/{tenant}")
    assert (record["kyc_status"], record["plan"]) == ("approved", "paid")


@pytest.mark.parametrize(("name", "value"), [("status", "maybe"), ("status", ""), ("plan", "free"), ("plan", "")])
async def test_a_decision_is_one_of_those_offered(admin: Administrator, name: str, value: str) -> None:
    """Another one is reported next to its field, and nothing is decided."""
    tenant, _ = await admin.make_tenant()
    before = await admin.shop.internal("GET", f"/{tenant}")
    page = await admin.submit(await admin.show(f"{ROOT}/tenants/{tenant}/trial"), **{name: value})
    assert (page.status, set(page.fault)) == (422, {name})
    assert await admin.shop.internal("GET", f"/{tenant}") == before


async def test_hostile_texts_stay_texts(admin: Administrator, shop: Gateway) -> None:
    """Names, labels and addresses of destinations are escaped wherever they are shown."""
    answer = await admin.submit(await admin.show(ROOT), name=HOSTILE)
    tenant, key = Tenant(answer.texts(".facts dd")[0], answer.secret), answer.secret
    await shop.internal("PUT", f"/{tenant.id}/networks", {"base_sepolia": {"payout_address": "0x" + "1" * 40}})
    await shop.make_link(tenant, label=HOSTILE_LABEL)
    url = "http://127.0.0.1:9/'&q=%3Cb%3E"
    await shop.internal("POST", f"/{tenant.id}/webhooks", {"url": url}, status=201)
    pages = [answer, await admin.show(ROOT)]
    pages += [await below(admin, tenant, one) for one in ("links", "keys", "settings/notifications", "trial")]
    for page in pages:
        assert set(page.scripts) <= {COPY_SCRIPT}
        assert "49" not in page.title
        assert HOSTILE in " ".join(page.tree.text().split()) or page.has("bdi")
        assert key not in page.answer.text or page is answer
    assert pages[-2].text("tbody th") == url
    wrong = await admin.submit(await admin.show(ROOT), name=HOSTILE + "\x00")
    assert wrong.value("name").startswith("<script>")
    assert "<script" not in wrong.answer.text
