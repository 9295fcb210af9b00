"""Access to pages: every route of the dashboard, called without a session, by two tenants and by an operator (3.9)."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest

from reference.gateway.dashboard import Dashboard
from reference.gateway.dashboard.forms import csrf_token
from reference.gateway.dashboard.signed_in_request import Route
from reference.gateway.settings import GatewaySettings
from reference.webhooks.dispatcher_runner import deliver
from tests.reference.gateway.checkout.checkout_shop import Shop, checkout_shop
from tests.reference.gateway.dashboard.administrator import ROOT, SIGN_IN, Administrator
from tests.reference.gateway.dashboard.merchant import SHOP, Merchant, paid_link
from tests.reference.gateway.gateway_stack import Tenant, gateway
from tests.reference.webhooks.receiver import Receiver

THING = "00000000-0000-4000-8000-000000000000"
# Every route that a tenant reaches. One that is added later is refused to it until it is named here.
TENANTS = {
    ("GET", "/shop"),
    ("GET", "/shop/links"),
    ("POST", "/shop/links"),
    ("GET", "/shop/links/<link_id>"),
    ("GET", "/shop/payments"),
    ("GET", "/shop/payments/export.csv"),
    ("GET", "/shop/payments/<payment_id>"),
    ("GET", "/shop/payments/<payment_id>/receipt.jws"),
    ("GET", "/shop/deliveries"),
    ("GET", "/shop/deliveries/<delivery_id>/resend"),
    ("POST", "/shop/deliveries/<delivery_id>/resend"),
    ("GET", "/shop/settings/checkout"),
    ("POST", "/shop/settings/checkout"),
    ("GET", "/shop/settings/checkout/logo"),
    ("POST", "/shop/settings/checkout/logo"),
    ("GET", "/shop/settings/checkout/logo/delete"),
    ("POST", "/shop/settings/checkout/logo/delete"),
    ("GET", "/shop/settings/networks"),
    ("GET", "/shop/trial"),
}


def routes() -> tuple[Route, ...]:
    """Return every route behind sign-in."""
    dashboard = Dashboard(GatewaySettings(), *(Mock() for _ in range(9)))
    return tuple(dashboard._routes._screens)


ROUTES = routes()
OPERATORS = [route for route in ROUTES if (route.method, route.below) not in TENANTS]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Shop]:
    """A gateway over chains that the test writes, with its dispatcher beside it."""
    async with checkout_shop(tmp_path, now=int(time.time()), beside=[deliver], webhook_schedule=(1000,)) as opened:
        yield opened


@pytest.fixture
async def seller(store: Shop) -> Tenant:
    """A tenant."""
    return await store.tenant()


@pytest.fixture
async def merchant(store: Shop, seller: Tenant) -> AsyncIterator[Merchant]:
    """That tenant, signed in."""
    new_merchant = Merchant(store)
    assert (await new_merchant.sign_in(key=seller.key)).answer.headers["Location"] == SHOP
    yield new_merchant
    await new_merchant.http.aclose()


@pytest.fixture
async def rival(store: Shop) -> AsyncIterator[Merchant]:
    """Another tenant, signed in."""
    new_merchant = Merchant(store)
    await new_merchant.sign_in(key=(await store.tenant()).key)
    yield new_merchant
    await new_merchant.http.aclose()


async def call(who: Administrator, route: Route, tenant_id: str) -> httpx.Response:
    """Call a route about a tenant, with the token of the caller's own session."""
    path = ROOT + re.sub(r"<[a-z_]+>", THING, route.below.replace("<tenant_id>", tenant_id))
    if route.method == "GET":
        return await who.http.get(path)
    token = csrf_token(str(who.http.cookies.get("weldproof-session") or "x" * 43))
    form_values: dict[str, Any] = {"csrf": token, "form": "A" * 22, "name": "x", "mode": "test", "status": "approved"}
    if route.takes_file:
        return await who.http.post(path, data=form_values, files={"logo": ("logo.png", b"x", "image/png")})
    return await who.http.post(path, data=form_values)


def test_every_route_has_an_owner() -> None:
    """What a tenant reaches is listed here, one by one; everything else is the operator's, by default."""
    assert {(one.method, one.below) for one in ROUTES if one.for_tenants} == TENANTS
    assert len(OPERATORS) > 30
    assert not any(one.below.startswith("/shop") for one in OPERATORS)


@pytest.mark.parametrize("route", ROUTES, ids=lambda one: f"{one.method} {one.below}")
async def test_nobody_reaches_anything(store: Shop, seller: Tenant, route: Route) -> None:
    """Without a session a page asks to sign in, and a form does nothing."""
    nobody = Administrator(store)
    answer = await call(nobody, route, seller.id)
    if route.method == "GET":
        assert (answer.status_code, answer.headers["Location"].partition("?")[0]) == (303, SIGN_IN)
    else:
        assert (answer.status_code, "session_over" in answer.text) == (403, True)
    await nobody.http.aclose()


async def test_a_tenant_reaches_no_page_of_the_operators(
    store: Shop, seller: Tenant, merchant: Merchant, rival: Merchant
) -> None:
    """Neither about itself nor about another tenant, one that is not there included; and nothing is changed by it."""
    before = await store.internal("GET", f"/{seller.id}")
    for visitor in (merchant, rival):
        for tenant_id in (seller.id, THING):
            for route in OPERATORS:
                answer = await call(visitor, route, tenant_id)
                if (route.method, route.below) == ("GET", ""):
                    assert (answer.status_code, answer.headers["Location"]) == (303, SHOP)
                    continue
                assert (answer.status_code, "operators_only" in answer.text) == (403, True), route
                assert seller.id not in answer.text
                assert "tenants:admin" not in answer.text
    assert await store.internal("GET", f"/{seller.id}") == before


async def test_an_operator_reaches_no_page_of_a_tenants_own(store: Shop, seller: Tenant) -> None:
    """These pages are about the signed-in user, who is no tenant."""
    operator = Administrator(store)
    await operator.sign_in()
    for route in ROUTES:
        answer = await call(operator, route, seller.id)
        assert ("tenants_only" in answer.text) == route.for_tenants, route
        if route.for_tenants:
            assert answer.status_code == 403
    await operator.http.aclose()


async def test_a_tenants_key_calls_no_internal_api(seller: Tenant, merchant: Merchant) -> None:
    """Neither by its session nor as a bearer."""
    for headers in ({}, {"Authorization": f"Bearer {seller.key}"}):
        answer = await merchant.http.get(f"/internal/tenants/{seller.id}", headers=headers)
        assert answer.status_code == 401


async def test_a_tenant_sees_its_own_things_alone(
    store: Shop, seller: Tenant, merchant: Merchant, rival: Merchant, receiver: Receiver
) -> None:
    """Another tenant's link, payment, receipt and delivery are not there for it: by list, by id, and by form."""
    await store.internal("POST", f"/{seller.id}/webhooks", {"url": receiver.url}, status=201)
    link, told = await paid_link(store, seller, label="Only the seller's")
    await receiver.until(1)
    (delivery,) = (await store.internal("GET", f"/{seller.id}/deliveries"))["deliveries"]
    things = {
        f"/links/{link['id']}": link["checkout_url"],
        f"/payments/{told['payment_ledger_id']}": told["tx_id"],
        f"/payments/{told['payment_ledger_id']}/receipt.jws": told["settlement_attestation_jws"],
    }
    for below, shown in things.items():
        own, theirs = await merchant.show(SHOP + below), await rival.show(SHOP + below)
        assert (own.status, shown in own.answer.text) == (200, True)
        assert (theirs.status, shown in theirs.answer.text) == (404, False)
    lists = ("", "/links", "/payments", "/deliveries", "/settings/checkout", "/settings/networks", "/trial")
    secret = (seller.id, link["token"], "Only the seller", told["tx_id"], receiver.url, delivery["delivery_id"])
    for below in (*lists, f"/links?after={link['id']}", f"/payments?after={told['payment_ledger_id']}"):
        page = await rival.show(SHOP + below)
        assert page.status == 200
        assert [one for one in secret if one in page.answer.text] == [], below
    assert "Only the seller" in (await merchant.show(f"{SHOP}/links")).answer.text
    again = Route("POST", f"/shop/deliveries/{delivery['delivery_id']}/resend", Mock())
    assert (await call(rival, again, "")).status_code == 404
    assert len(receiver.got) == 1
    assert (await call(merchant, again, "")).status_code == 303
    await receiver.until(2)


async def test_what_a_tenant_sets_is_its_own(seller: Tenant, merchant: Merchant, rival: Merchant) -> None:
    """A tenant's id in a form or a query changes no other tenant."""
    form = await rival.show(f"{SHOP}/settings/checkout?tenant_id={seller.id}")
    await rival.submit(form, f"{SHOP}/settings/checkout", name="Rival", tenant_id=seller.id)
    assert (await rival.show(f"{SHOP}/settings/checkout")).value("name") == "Rival"
    assert (await merchant.show(f"{SHOP}/settings/checkout")).value("name") == ""


async def test_a_tenants_session_has_the_rules_of_an_administrators(store: Shop, seller: Tenant) -> None:
    """One cookie that no script reaches, half an hour, over with sign-out, with the next sign-in, and with its key."""
    merchant = Merchant(store)
    entered = (await merchant.sign_in(key=seller.key)).answer
    (cookie,) = entered.headers.get_list("set-cookie")
    assert {"HttpOnly", "SameSite=Strict", "Max-Age=1800", "Path=/dashboard"} <= set(cookie.split("; "))
    value = cookie.partition("=")[2].partition(";")[0]
    disk = b"".join(path.read_bytes() for path in store.settings.gateway_data_dir.glob("gateway.sqlite3*"))
    assert (value.encode() in disk, seller.key.encode() in disk) == (False, False)
    kept = httpx.Cookies(merchant.http.cookies)
    page = await merchant.show(SHOP)
    assert (await merchant.submit(page, f"{ROOT}/sign-out")).answer.headers["Location"] == SIGN_IN
    merchant.http.cookies = kept
    assert (await merchant.show(SHOP)).status == 303
    await merchant.sign_in(key=seller.key)
    kept = httpx.Cookies(merchant.http.cookies)
    operator = Administrator(store)
    form = await operator.show(SIGN_IN)
    operator.http.cookies.set("weldproof-session", kept["weldproof-session"], domain="localhost.local", path=ROOT)
    assert (await operator.submit(form, key=store.admin_key)).answer.headers["Location"] == ROOT
    merchant.http.cookies = kept
    assert (await merchant.show(SHOP)).status == 303
    await merchant.sign_in(key=seller.key)
    store.advance(1790)  # the machine's clock goes on meanwhile
    assert (await merchant.show(SHOP)).status == 200
    store.advance(11)
    assert (await merchant.show(SHOP)).answer.headers["Location"] == f"{SIGN_IN}?to={SHOP}"
    for one in (merchant, operator):
        await one.http.aclose()


async def test_a_tenants_session_ends_with_its_key(store: Shop, seller: Tenant) -> None:
    """Deleted at once; rotated with its overlap."""
    merchant = Merchant(store)
    (key,) = (await store.internal("GET", f"/{seller.id}"))["keys"]
    base = f"/{seller.id}/api-keys/{key['key_id']}"
    fresh = (await store.internal("POST", f"{base}/rotate", status=201))["api_key"]
    await merchant.sign_in(key=seller.key)
    assert (await merchant.show(SHOP)).status == 200
    await store.internal("DELETE", base, status=204)
    assert (await merchant.show(SHOP)).status == 303
    assert (await merchant.sign_in(key=seller.key)).status == 401
    assert (await merchant.sign_in(key=fresh)).status == 303
    await merchant.http.aclose()


@pytest.mark.parametrize(
    ("to", "gone"),
    [(f"{SHOP}/links", f"{SHOP}/links"), (ROOT, SHOP), (f"{ROOT}/tenants/x/keys", SHOP), ("//evil.example", SHOP)],
)
async def test_a_tenant_comes_to_its_own_pages(store: Shop, seller: Tenant, to: str, gone: str) -> None:
    """Whatever address the form names."""
    merchant = Merchant(store)
    answer = await merchant.submit(await merchant.show(SIGN_IN), key=seller.key, to=to)
    assert answer.answer.headers["Location"] == gone
    await merchant.http.aclose()


@pytest.mark.parametrize(
    "below",
    ["/links", f"/deliveries/{THING}/resend", "/settings/checkout", "/settings/checkout/logo/delete"],
)
async def test_every_form_of_a_tenant_wants_its_token(merchant: Merchant, rival: Merchant, below: str) -> None:
    """Missing, another session's: 403, and nothing is made."""
    theirs = csrf_token(str(rival.http.cookies["weldproof-session"]))
    for token in (None, "", theirs):
        sent = {"amount": "1", "label": "x", "name": "x", **({} if token is None else {"csrf": token})}
        answer = await merchant.http.post(SHOP + below, data=sent)
        assert (answer.status_code, "invalid_form_token" in answer.text) == (403, True)
    assert (await merchant.send_logo(b"x", csrf=theirs)).status_code == 403
    assert (await merchant.show(f"{SHOP}/links")).has(".empty")


async def test_a_tenants_pages_count_against_its_limit(tmp_path: Path) -> None:
    """As its calls of the API do, and no other tenant's (P-RL-01); wrong keys count against the address (P-RL-03)."""
    async with gateway(tmp_path, rate_limits=True, tenant_rate=1, tenant_burst=12, ip_rate=1, ip_burst=60) as shop:
        new_merchant = await shop.tenant()
        merchant, rival = Merchant(shop), Merchant(shop)
        await merchant.sign_in(key=new_merchant.key)
        await rival.sign_in(key=(await shop.tenant()).key)
        statuses = [(await merchant.show(f"{SHOP}/trial")).status for _ in range(14)]
        assert (statuses[:12], statuses[-1]) == ([200] * 12, 429)
        assert (await shop.link(new_merchant)).status_code == 429
        assert (await rival.show(f"{SHOP}/trial")).status == 200
        form = await merchant.show(SIGN_IN)
        assert form.status == 303
        thief = Merchant(shop)
        page = await thief.show(SIGN_IN)
        tried = [(await thief.submit(page, key=f"weld_{number}")).status for number in range(70)]
        assert (tried[0], tried[-1]) == (401, 429)
        for one in (merchant, rival, thief):
            await one.http.aclose()
