"""Signing in and out of the dashboard: cookies, half an hour, any number of workers (3.9, P-RL-03, P-CV-12)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from reference.store.database_url import open_database, sqlite_dsn
from tests.reference.gateway.dashboard.administrator import ROOT, SIGN_IN, Administrator
from tests.reference.gateway.gateway_stack import Gateway, gateway

HALF_AN_HOUR = 1800


def cookie_of(answer: httpx.Response) -> tuple[str, str, set[str]]:
    """Return name, value and attributes of the one cookie that is set."""
    (cookie,) = answer.headers.get_list("set-cookie")
    pair, *attributes = cookie.split("; ")
    name, _, value = pair.partition("=")
    return name, value, {one for one in attributes if not one.startswith("Expires=")}


async def test_a_session_is_a_cookie_that_no_script_and_no_other_site_reaches(stranger: Administrator) -> None:
    """HttpOnly, SameSite=Strict, thirty minutes; its text is on no disk and contains nothing of the key."""
    answer = (await stranger.sign_in()).answer
    name, value, attributes = cookie_of(answer)
    assert (answer.status_code, answer.headers["Location"]) == (303, ROOT)
    assert (name, len(value)) == ("weldproof-session", 43)
    assert attributes == {"HttpOnly", "SameSite=Strict", f"Max-Age={HALF_AN_HOUR}", "Path=/dashboard"}
    folder = stranger.shop.settings.gateway_data_dir
    disk = b"".join(path.read_bytes() for path in folder.glob("gateway.sqlite3*"))
    assert value.encode() not in disk
    assert (await stranger.show(ROOT)).status == 200


async def test_cookies_are_secure_where_the_public_address_is(tmp_path: Path) -> None:
    """With https they have the prefix that keeps other hosts of the domain from planting them."""
    async with gateway(tmp_path, gateway_public_url="https://pay.example") as shop:
        http = shop.http
        shown = await http.get(SIGN_IN)
        name, guard, attributes = cookie_of(shown)
        assert (name, attributes) == (
            "__Host-weldproof-sign-in",
            {"HttpOnly", "SameSite=Strict", "Secure", "Max-Age=1800", "Path=/"},
        )
        token = shown.text.partition('name="csrf" value="')[2].partition('"')[0]
        form_values = {"csrf": token, "key": shop.admin_key}
        answer = await http.post(SIGN_IN, data=form_values, headers={"Cookie": f"{name}={guard}"})
        name, _, attributes = cookie_of(answer)
        assert (name, attributes) == (
            "__Host-weldproof-session",
            {"HttpOnly", "SameSite=Strict", "Secure", "Max-Age=1800", "Path=/"},
        )


async def test_a_session_is_over_after_thirty_minutes(admin: Administrator) -> None:
    """By its own clock, whatever the browser does with its cookie; what it was doing is not done."""
    page = await admin.show(ROOT)
    admin.shop.advance(HALF_AN_HOUR - 500)
    assert (await admin.show(ROOT)).status == 200
    admin.shop.advance(600)
    answer = (await admin.show(ROOT)).answer
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{SIGN_IN}?to=/dashboard")
    late = await admin.submit(page, name="Shop")
    assert (late.status, late.text("h1")) == (403, "Not allowed")
    await admin.sign_in()
    assert (await admin.show(ROOT)).has(".empty")


async def test_signing_out_ends_the_session_everywhere_at_once(tmp_path: Path) -> None:
    """A worker that never saw the sign-in takes the session, and none takes it after sign-out on another one."""
    async with gateway(tmp_path) as first, gateway(tmp_path) as second:
        admin, copy = Administrator(first), Administrator(second)
        await admin.sign_in()
        copy.http.cookies = admin.http.cookies
        page = await copy.show(ROOT)
        assert page.status == 200
        cookies = httpx.Cookies(admin.http.cookies)
        answer = await copy.submit(page, f"{ROOT}/sign-out")
        assert (answer.status, answer.answer.headers["Location"]) == (303, SIGN_IN)
        assert cookie_of(answer.answer)[1] == ""
        for one in (admin, copy):
            one.http.cookies = cookies
            assert (await one.show(ROOT)).answer.headers["Location"] == f"{SIGN_IN}?to=/dashboard"
        await admin.http.aclose()
        await copy.http.aclose()


async def test_a_session_ends_with_its_key(admin: Administrator) -> None:
    """A key that is taken out of the database opens nothing any more, nor does what it opened before."""
    database = open_database(sqlite_dsn(admin.shop.settings.gateway_data_dir / "gateway.sqlite3"))
    from sqlalchemy import delete

    from reference.store.tenant_tables import admin_keys

    await database.change(delete(admin_keys))
    await database.close()
    assert (await admin.show(ROOT)).status == 303


async def test_signing_in_again_ends_the_session_before(admin: Administrator) -> None:
    """A browser has one session, and each has a text of its own."""
    before = admin.http.cookies["weldproof-session"]
    page = await admin.show(ROOT)
    assert (await admin.show(SIGN_IN)).answer.headers["Location"] == ROOT
    fresh = Administrator(admin.shop)
    form = await fresh.show(SIGN_IN)
    fresh.http.cookies.set("weldproof-session", before, domain="localhost.local", path=ROOT)
    assert (await fresh.submit(form, key=admin.shop.admin_key)).status == 303
    assert fresh.http.cookies["weldproof-session"] != before
    assert (await admin.submit(page, name="Shop")).status == 403
    await fresh.http.aclose()


@pytest.mark.parametrize("key", ["", "x", "weldc_" + "A" * 43, "a" * 5000, "é\x00", " "])
async def test_a_wrong_key_is_told_beside_the_field(stranger: Administrator, key: str) -> None:
    """401 and no cookie; nothing of the key comes back."""
    page = await stranger.submit(await stranger.show(SIGN_IN), key=key)
    assert (page.status, page.answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert set(page.fault) == {"key"}
    assert page.value("key") == ""
    assert "weldproof-session" not in stranger.http.cookies


async def test_a_tenants_key_is_no_administrators(stranger: Administrator) -> None:
    """It opens the tenant's own pages and none of an administrator's."""
    tenant = await stranger.shop.tenant()
    entered = await stranger.sign_in(key=tenant.key)
    assert (entered.status, entered.answer.headers["Location"]) == (303, f"{ROOT}/shop")
    assert (await stranger.show(f"{ROOT}/tenants/{tenant.id}/keys")).status == 403


async def test_wrong_keys_are_limited_by_address(tmp_path: Path) -> None:
    """So many at once, then 429 with a page, Retry-After and the figures; a session is not charged (P-RL-03)."""
    async with gateway(tmp_path, rate_limits=True, ip_rate=1, ip_burst=12) as shop:
        admin, thief = Administrator(shop), Administrator(shop)
        await admin.sign_in()
        form = await thief.show(SIGN_IN)
        statuses = [(await thief.submit(form, key=f"weldc_{number}")).status for number in range(10)]
        assert statuses == [401] * 9 + [429]
        over = await thief.submit(form, key=shop.admin_key)
        assert (over.status, over.text("h1")) == (429, "Too many calls")
        assert int(over.answer.headers["Retry-After"]) >= 1
        assert over.answer.headers["X-RateLimit-Limit"] == "12"
        assert {(await admin.show(ROOT)).status for _ in range(20)} == {200}
        assert (await thief.show(ROOT)).status == 429
        await admin.http.aclose()
        await thief.http.aclose()


@pytest.mark.parametrize(
    ("to", "gone"),
    [
        ("/dashboard/tenants/x/links", "/dashboard/tenants/x/links"),
        *((to, ROOT) for to in ("", "//evil.example", "https://evil.example", "/dashboard//evil", "/checkout/x")),
        *((to, ROOT) for to in ("/dashboard/../x", "/dashboard\r\nSet-Cookie:a=b", "/dashboardx", "/dashboard?x")),
    ],
)
async def test_after_sign_in_one_comes_to_the_page_one_wanted(stranger: Administrator, to: str, gone: str) -> None:
    """To pages of the dashboard, and nowhere else."""
    page = await stranger.show(SIGN_IN)
    answer = (await stranger.submit(page, key=stranger.shop.admin_key, to=to)).answer
    assert (answer.status_code, answer.headers["Location"]) == (303, gone)


async def test_who_is_not_signed_in_is_asked_to(stranger: Administrator) -> None:
    """A page sends on to the form, which brings back; HEAD too."""
    for path in (ROOT, f"{ROOT}/tenants/{'0' * 36}/keys"):
        for method in ("GET", "HEAD"):
            answer = await stranger.http.request(method, path)
            assert (answer.status_code, answer.headers["Location"]) == (303, f"{SIGN_IN}?to={path}")
    page = await stranger.show(f"{SIGN_IN}?to={ROOT}/tenants/x/keys")
    assert page.value("to") == f"{ROOT}/tenants/x/keys"


@pytest.mark.parametrize(
    "cookie",
    ["", "weldproof-session=", "weldproof-session=x", "weldproof-session=" + "A" * 43, "=;;=", "a=b; \x7f", "é=é"],
)
async def test_a_cookie_that_is_none_of_ours_is_none(shop: Gateway, cookie: str) -> None:
    """Whatever it holds, it opens nothing and breaks nothing."""
    async with httpx.AsyncClient(transport=shop.http._transport, base_url="http://localhost:8090") as http:
        answer = await http.get(ROOT, headers=[(b"cookie", cookie.encode("latin-1"))])
    assert answer.status_code == 303


async def test_an_edge_host_has_no_dashboard(tmp_path: Path) -> None:
    """Nothing below it, not even the style sheet (P-GW-04)."""
    settings: dict[str, Any] = {"gateway_role": "edge"}
    async with gateway(tmp_path, **settings) as shop:
        for path in (ROOT, SIGN_IN, f"{ROOT}/assets/dashboard.css"):
            assert (await shop.http.get(path)).status_code == 404
