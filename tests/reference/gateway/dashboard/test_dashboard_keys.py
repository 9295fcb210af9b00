"""Tenants and keys at the dashboard: secrets once, the overlap, scopes of administrators (P-AU-02 to P-AU-04)."""

from __future__ import annotations

import re

import pytest

from reference.gateway.credentials import SCOPES
from tests.reference.gateway.dashboard.administrator import ROOT, Administrator, Shown
from tests.reference.gateway.gateway_stack import LINKS, Tenant

KEY = re.compile(r"weld_[A-Za-z0-9_-]{43}")
DAY = 86400


async def works(admin: Administrator, tenant: str, key: str) -> bool:
    """Return whether a key is accepted: without an amount the link is refused later."""
    answer = await admin.shop.http.post(LINKS, json={}, headers=Tenant(tenant, key).headers())
    assert answer.status_code in {401, 422}
    return answer.status_code == 422


async def everywhere(admin: Administrator, tenant: str) -> str:
    """Return all that the dashboard shows of a tenant."""
    below = ("links", "deliveries", "keys", "settings/networks", "settings/notifications", "trial")
    pages = [await admin.show(f"{ROOT}/tenants/{tenant}/{one}") for one in below]
    assert {page.status for page in pages} == {200}
    return "".join(page.answer.text for page in [*pages, await admin.show(ROOT)])


async def test_a_tenant_is_made_and_its_first_key_shown_once(admin: Administrator) -> None:
    """The key works; no later page has it, no address has it, and no store keeps the page."""
    answer = await admin.submit(await admin.show(ROOT), name="Bäckerei <Süß> & Co")
    assert (answer.status, answer.text("h1")) == (201, "The tenant is made")
    assert answer.answer.headers["Cache-Control"] == "no-store"
    key = answer.secret
    assert KEY.fullmatch(key)
    assert answer.answer.text.count(key) == 1
    assert key not in str(answer.answer.url)
    tenant = answer.texts(".facts dd")[0]
    assert (await admin.shop.internal("GET", f"/{tenant}"))["name"] == "Bäckerei <Süß> & Co"
    assert await works(admin, tenant, key)
    assert key not in await everywhere(admin, tenant)


@pytest.mark.parametrize("name", ["", "   ", "a" * 256, "a\nb", "a\x00b", "\x7f"])
async def test_a_name_is_one_line(admin: Administrator, name: str) -> None:
    """As at the API; what was written stays in the field."""
    page = await admin.submit(await admin.show(ROOT), name=name)
    assert (page.status, page.fault) == (422, {"name": "Give a name of 1 to 255 characters in one line."})
    assert (await admin.show(ROOT)).has(".empty")


async def test_keys_are_made_rotated_and_deleted(admin: Administrator) -> None:
    """A rotated key stays valid for thirty days, a deleted one not at all; each text is shown once."""
    tenant, first = await admin.make_tenant()
    path = f"{ROOT}/tenants/{tenant}/keys"
    second = await admin.submit(await admin.show(path), mode="test")
    assert (second.status, second.text("h1")) == (201, "The test key is made")
    keys = (await admin.shop.internal("GET", f"/{tenant}"))["keys"]
    (old,) = {one["key_id"] for one in keys} - {second.texts(".facts dd")[0]}
    asks = await admin.show(f"{path}/{old}/rotate")
    assert "30 more days" in asks.answer.text
    assert len((await admin.shop.internal("GET", f"/{tenant}"))["keys"]) == 2
    third = await admin.submit(asks)
    assert (third.status, third.text("h1")) == (201, "The key is rotated")
    assert "Old key valid until" in third.texts(".facts dt")
    assert len({first, second.secret, third.secret}) == 3
    for key in (first, second.secret, third.secret):
        assert await works(admin, tenant, key)
    page = await admin.show(path)
    assert sorted(page.texts(".badge")) == ["Accepted", "Accepted", "Rotated"]
    for key in (first, second.secret, third.secret):
        assert key not in await everywhere(admin, tenant)
    answer = await admin.submit(await admin.show(f"{path}/{second.texts('.facts dd')[0]}/delete"))
    assert (answer.status, answer.answer.headers["Location"]) == (303, f"{path}?done=deleted")
    assert (await admin.show(f"{path}?done=deleted")).text(".done") == "Deleted. It has ended at once."
    assert not await works(admin, tenant, second.secret)
    admin.shop.advance(30 * DAY + 5)
    await admin.sign_in()
    assert sorted((await admin.show(path)).texts(".badge")) == ["Accepted", "Deleted", "Lapsed"]
    assert not await works(admin, tenant, first)
    assert await works(admin, tenant, third.secret)


async def test_a_key_that_is_rotated_or_gone_is_not_rotated_again(admin: Administrator) -> None:
    """404 when it is asked for, and when the form was open already."""
    tenant, _ = await admin.make_tenant()
    (key,) = (await admin.shop.internal("GET", f"/{tenant}"))["keys"]
    path = f"{ROOT}/tenants/{tenant}/keys/{key['key_id']}"
    early, late = await admin.show(f"{path}/rotate"), await admin.show(f"{path}/rotate")
    leaves = await admin.show(f"{path}/delete")
    assert (await admin.submit(early)).status == 201
    assert ((await admin.submit(late)).status, (await admin.show(f"{path}/rotate")).status) == (404, 404)
    assert (await admin.submit(leaves)).status == 303
    assert ((await admin.submit(leaves)).status, (await admin.show(f"{path}/delete")).status) == (404, 404)
    assert len((await admin.shop.internal("GET", f"/{tenant}"))["keys"]) == 2


async def test_a_live_key_is_rotated_by_who_may_make_one(admin: Administrator) -> None:
    """Without the scope there is no link to the form, nor the form; and after a rejection nothing is made."""
    tenant, _ = await admin.make_tenant()
    path = f"{ROOT}/tenants/{tenant}/keys"
    await admin.shop.internal("POST", f"/{tenant}/kyc", {"status": "approved"})
    live = (await admin.shop.internal("POST", f"/{tenant}/api-keys", {"mode": "live"}, status=201))["key_id"]
    asks = await admin.show(f"{path}/{live}/rotate")
    await admin.shop.internal("POST", f"/{tenant}/kyc", {"status": "rejected"})
    assert set((await admin.submit(asks)).fault) == {"mode"}
    assert len((await admin.shop.internal("GET", f"/{tenant}"))["keys"]) == 2
    await admin.sign_in("apikeys:admin")
    page = await admin.show(path)
    assert f"{path}/{live}/rotate" not in {one.attributes["href"] for one in page.tree.css(".actions a")}
    assert (await admin.show(f"{path}/{live}/rotate")).status == 403


async def test_live_keys_are_for_approved_tenants(admin: Administrator) -> None:
    """Before that the form says so beside the choice, which stays; afterwards the key is made."""
    tenant, _ = await admin.make_tenant()
    path = f"{ROOT}/tenants/{tenant}"
    early = await admin.submit(await admin.show(f"{path}/keys"), mode="live")
    assert (early.status, set(early.fault)) == (422, {"mode"})
    assert early.has("#mode-live[checked]")
    assert (await admin.submit(await admin.show(f"{path}/keys"), mode="both")).fault == {"mode": "Choose test or live."}
    await admin.submit(await admin.show(f"{path}/trial"), status="approved")
    live = await admin.submit(early, mode="live")
    assert (live.status, live.text("h1")) == (201, "The live key is made")


# Screens below a tenant, and the scopes of which one opens each.
OPENS = {
    "/links": {"tenants:admin", "payments:read"},
    "/payments": {"payments:read"},
    "/payments/export.csv": {"payments:read"},
    "/deliveries": {"tenants:admin"},
    "/keys": {"tenants:admin", "apikeys:admin"},
    "/settings/networks": {"tenants:admin"},
    "/settings/notifications": {"tenants:admin"},
    "/settings/checkout": {"tenants:admin"},
    "/trial": {"tenants:admin", "kyb:write"},
}


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_key_opens_what_its_scopes_allow(stranger: Administrator, scope: str) -> None:
    """Every other screen is refused with a page of its own, and the navigation names none of them."""
    tenant = (await stranger.shop.tenant()).id
    await stranger.sign_in(scope)
    for below, scopes in OPENS.items():
        page = await stranger.show(f"{ROOT}/tenants/{tenant}{below}")
        if scope in scopes:
            assert page.status == 200, below
            if below.endswith(".csv"):
                continue
            names = {str(one.attributes["href"]).partition(tenant)[2] for one in page.tree.css("nav li a")}
            assert names == {path for path, some in OPENS.items() if scope in some and not path.endswith(".csv")}
        else:
            assert (page.status, page.text("h1")) == (403, "Not allowed"), below
            assert "forbidden_scope" in page.answer.text
    entered = await stranger.show(f"{ROOT}/tenants/{tenant}")
    assert entered.status == (303 if any(scope in scopes for scopes in OPENS.values()) else 403)


@pytest.mark.parametrize(
    ("below", "scope", "sent"),
    [
        ("", "tenants:admin", {"name": "x"}),
        ("/tenants/{tenant}/keys", "apikeys:admin", {"mode": "test"}),
        ("/tenants/{tenant}/keys/{key}/rotate", "apikeys:admin", {}),
        ("/tenants/{tenant}/keys/{key}/delete", "apikeys:admin", {}),
        ("/tenants/{tenant}/settings/networks", "tenants:admin", {}),
        ("/tenants/{tenant}/settings/notifications", "tenants:admin", {"url": "http://127.0.0.1:9/", "events": "x"}),
        ("/tenants/{tenant}/trial", "kyb:write", {"status": "approved", "plan": "paid"}),
        ("/tenants/{tenant}/deliveries/x/resend", "tenants:admin", {}),
    ],
)
async def test_a_key_does_what_its_scopes_allow(
    stranger: Administrator, below: str, scope: str, sent: dict[str, str]
) -> None:
    """A key with every other scope is refused, with the right token too; one with that scope alone is not."""
    tenant = (await stranger.shop.tenant()).id
    before = await stranger.shop.internal("GET", f"/{tenant}")
    path = ROOT + below.format(tenant=tenant, key=before["keys"][0]["key_id"])
    await stranger.sign_in(*(one for one in SCOPES if one != scope))
    answer = await stranger.http.post(path, data={**sent, **await token(stranger)})
    assert (answer.status_code, "forbidden_scope" in answer.text, scope in answer.text) == (403, True, True)
    assert await stranger.shop.internal("GET", f"/{tenant}") == before
    await stranger.sign_in(scope)
    assert (await stranger.http.post(path, data={**sent, **await token(stranger)})).status_code != 403


async def token(admin: Administrator) -> dict[str, str]:
    """Return what every form carries."""
    page: Shown = await admin.show(ROOT)
    return {"csrf": page.value("csrf"), "form": "A" * 22}


async def test_a_live_key_wants_a_scope_of_its_own(stranger: Administrator) -> None:
    """Without it the choice is not shown, and a form that is made by hand is refused."""
    tenant = (await stranger.shop.tenant(kyc="approved")).id
    await stranger.sign_in("apikeys:admin")
    page = await stranger.show(f"{ROOT}/tenants/{tenant}/keys")
    assert not page.has("#mode-live")
    refusal = await stranger.submit(page, mode="live")
    assert (refusal.status, "live:activate" in refusal.answer.text) == (403, True)
    await stranger.sign_in("apikeys:admin", "live:activate")
    assert (await stranger.submit(await stranger.show(f"{ROOT}/tenants/{tenant}/keys"), mode="live")).status == 201


async def test_a_key_that_lists_no_tenants_opens_one_by_its_id(stranger: Administrator) -> None:
    """It is asked for the id; a malformed id is reported next to the field, an unknown id is 404."""
    tenant = (await stranger.shop.tenant()).id
    await stranger.sign_in("kyb:write")
    asks = await stranger.show(ROOT)
    assert asks.text("h1") == "Open a tenant"
    answer = (await stranger.show(ROOT, params={"tenant": f" {tenant.upper()} "})).answer
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{ROOT}/tenants/{tenant}")
    wrong = await stranger.show(ROOT, params={"tenant": '"><b>x'})
    assert (wrong.status, set(wrong.fault), wrong.value("tenant")) == (422, {"tenant"}, '"><b>x')
    assert (await stranger.show(f"{ROOT}/tenants/00000000-0000-4000-8000-000000000000")).status == 404
    assert (await stranger.show(f"{ROOT}/tenants/{tenant}")).answer.headers["Location"].endswith("/trial")
