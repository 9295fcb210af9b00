"""Every answer below /dashboard is a page: headers, refusals, bad input, logs (3.1, P-CV-12, P-CV-16)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from reference.gateway.dashboard.forms import MEDIA
from reference.gateway.dashboard.pages import readable_atomic
from reference.store.database import DatabaseUnavailable
from reference.store.sessions import Sessions
from reference.store.tenants import Tenants
from tests.reference.gateway.dashboard.administrator import COPY_SCRIPT, ROOT, SIGN_IN, Administrator
from tests.reference.gateway.gateway_process import GatewayProcess

HTML = "text/html; charset=utf-8"
ODD = ("%00", "x" * 3000, "%F0%9F%92%A9", "%FF%FE", "'%3B--", "..%2f", "%2e%2e", "-")


def is_page(answer: httpx.Response, *, copies: bool = False) -> None:
    """Hold that no frame, no other script and no cache has access to a page; `copies` if it has ids to copy."""
    policy = answer.headers["Content-Security-Policy"]
    assert set(policy.split("; ")) == {
        *("default-src 'none'", "img-src 'self'", "style-src 'self'", "form-action 'self'"),
        *("frame-ancestors 'none'", "base-uri 'none'"),
        *(["script-src 'self'"] if copies else []),
    }
    expected_values = {
        "content-type": HTML,
        "x-frame-options": "DENY",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }
    assert expected_values == {name: answer.headers[name] for name in expected_values}
    assert re.fullmatch(r"req_[0-9a-f]{32}", answer.headers["X-Request-Id"])


async def test_every_page_is_closed_to_others(admin: Administrator) -> None:
    """Policy, frames, referrer, cache, on pages and refusals; no style in them, nothing from elsewhere.

    Only the lists with ids run a script, which copies them. The pages that show a secret run none.
    """
    tenant, _ = await admin.make_tenant()
    (key,) = (await admin.shop.internal("GET", f"/{tenant}"))["keys"]
    base = f"{ROOT}/tenants/{tenant}"
    screens = ("links", "payments", "deliveries", "keys", "settings/networks", "settings/notifications", "trial")
    paths = [ROOT, f"{base}/keys/{key['key_id']}/rotate", f"{ROOT}/nothing", f"{base}/nothing", f"{base}/keys/x/rotate"]
    for path in [*paths, *(f"{base}/{node}" for node in screens)]:
        page = await admin.show(path)
        copies = path in {f"{base}/links", f"{base}/payments"}
        is_page(page.answer, copies=copies)
        assert page.scripts == ([COPY_SCRIPT] if copies else [])
        assert not page.has("style, [style], iframe, object, base")
        for node in page.tree.css("[src], link[href]"):
            assert str(node.attributes.get("src") or node.attributes.get("href")).startswith(f"{ROOT}/assets/")
        assert len(page.tree.css("main")) == len(page.tree.css("h1")) == 1
        assert page.has('a.skip[href="#main"]')
    answer = await admin.submit(await admin.show(f"{base}/keys"))
    is_page(answer.answer)
    assert (bool(answer.secret), answer.scripts) == (True, [])
    admin.http.cookies.clear()
    is_page((await admin.show(SIGN_IN)).answer)


async def test_the_files_of_a_page_may_be_kept(stranger: Administrator) -> None:
    """Style sheet, icon and script, by a name that changes with them; others are 404."""
    page = await stranger.show(SIGN_IN)
    await stranger.sign_in()
    tenant, _ = await stranger.make_tenant()
    (script,) = (await stranger.show(f"{ROOT}/tenants/{tenant}/payments")).tree.css("script")
    files = [str(one.attributes["href"]) for one in page.tree.css("link")] + [str(script.attributes["src"])]
    for file in files:
        answer = (await stranger.show(file)).answer
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "public, max-age=86400")
    for name in ("checkout.js", "..%2fpages.py", "x"):
        answer = (await stranger.show(f"{ROOT}/assets/{name}")).answer
        assert (answer.status_code, answer.headers["Content-Type"]) == (404, HTML)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/dashboard/", 404, "not_found"),
        ("GET", "/dashboard/x", 404, "not_found"),
        ("POST", "/dashboard/tenants/x/links", 405, "method_not_allowed"),
        ("PUT", ROOT, 405, "method_not_allowed"),
        ("OPTIONS", ROOT, 405, "method_not_allowed"),
        ("GET", f"{ROOT}/sign-out", 405, "method_not_allowed"),
        ("DELETE", SIGN_IN, 405, "method_not_allowed"),
        ("GET", f"{ROOT}?{'a' * 9000}", 414, "uri_too_long"),
    ],
)
async def test_what_no_route_answers_is_a_page_too(
    stranger: Administrator, method: str, path: str, status: int, code: str
) -> None:
    """With the codes and headers of the rest of the gateway."""
    answer = await stranger.http.request(method, path)
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, HTML)
    assert code in answer.text
    assert answer.headers["X-Request-Id"] in answer.text
    if status == 405:
        assert answer.headers["Allow"]


async def test_heads_and_bodies_have_their_limits(admin: Administrator) -> None:
    """413 and 431 with a page (P-CV-16)."""
    for content, headers, status in (
        (b"name=" + b"a" * 70_000, {"Content-Type": MEDIA}, 413),
        (b"name=a", {"Content-Type": MEDIA, "X-Long": "a" * 17_000}, 431),
    ):
        answer = await admin.http.post(ROOT, content=content, headers=headers)
        assert (answer.status_code, answer.headers["Content-Type"]) == (status, HTML)


async def test_other_paths_are_told_as_before(stranger: Administrator) -> None:
    """Only the dashboard's refusals are pages."""
    for path in ("/dashboardx", "/internal/x", "/"):
        answer = (await stranger.show(path)).answer
        assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/json")


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_odd_names_are_nobodys(tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    """In every place of every path and in every field: a page with a status below 500, on both databases."""
    from tests.reference.gateway.gateway_stack import gateway

    settings = {} if kind == "sqlite" else {"gateway_db": request.getfixturevalue("postgres_database")}
    async with gateway(tmp_path, **settings) as shop:
        admin = Administrator(shop)
        await admin.sign_in()
        tenant, _ = await admin.make_tenant()
        base = f"{ROOT}/tenants/{tenant}"
        token = (await admin.show(ROOT)).value("csrf")
        for odd in ODD:
            paths = [f"{ROOT}/tenants/{odd}", f"{ROOT}/tenants/{odd}/links", f"{base}/keys/{odd}/rotate"]
            paths += [f"{base}/keys/{odd}/delete", f"{base}/settings/notifications/{odd}/delete"]
            paths += [f"{base}/deliveries/{odd}/resend", f"{base}/links?after={odd}", f"{ROOT}?tenant={odd}"]
            for below in ("payments", "payments/export.csv"):
                paths += [f"{base}/{below}?{name}={odd}" for name in ("search", "from", "to", "after")]
            for path in paths:
                assert (await admin.http.get(path)).status_code < 500, path
                answer = await admin.http.post(path, data={"csrf": token, "form": "A" * 22})
                assert 400 <= answer.status_code < 500, path
        for below, names in {
            "": ("name", "form"),
            f"/tenants/{tenant}/keys": ("mode", "form"),
            f"/tenants/{tenant}/trial": ("status", "plan"),
            f"/tenants/{tenant}/settings/networks": ("address-base_sepolia", "place-base_sepolia"),
            f"/tenants/{tenant}/settings/notifications": ("url", "events"),
        }.items():
            for value in ("\x00", "a" * 60_000, "💩", "\ud7ff", "'; --", "<b>", "[]", "-1", "1e9", "²"):
                for name in names:
                    form_values: dict[str, Any] = {"csrf": token, "form": "B" * 22, name: value}
                    answer = await admin.http.post(ROOT + below, data=form_values)
                    assert answer.status_code in {303, 400, 409, 422} or (below, name) == ("", "name"), (below, name)
                    assert answer.status_code < 500
        await admin.http.aclose()


async def test_a_database_that_is_away_is_told(admin: Administrator, monkeypatch: pytest.MonkeyPatch) -> None:
    """503 with a page and Retry-After, whatever was asked; afterwards everything goes on."""

    async def away(*_: Any, **__: Any) -> Any:
        raise DatabaseUnavailable("gone")

    for place, name in ((Sessions, "find"), (Tenants, "list_page")):
        with monkeypatch.context() as patched:
            patched.setattr(place, name, away)
            page = await admin.show(ROOT)
            assert (page.status, page.text("h1"), page.answer.headers["Retry-After"]) == (503, "Not available now", "5")
            is_page(page.answer)
    assert (await admin.show(ROOT)).status == 200


async def test_an_unplanned_fault_tells_nothing(admin: Administrator, monkeypatch: pytest.MonkeyPatch) -> None:
    """500 with a page, the request's id and no word of what happened (P-CV-18)."""

    async def raise_fault(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the secret reason")

    monkeypatch.setattr(Tenants, "list_page", raise_fault)
    page = await admin.show(ROOT)
    assert (page.status, "internal_error" in page.answer.text) == (500, True)
    assert "secret reason" not in page.answer.text


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("8410000", "8.41 USDC"),
        ("1", "0.000001 USDC"),
        ("0", "0.00 USDC"),
        ("10" + "0" * 70, "10" + "0" * 64 + ".00 USDC"),
    ],
)
def test_money_is_told_to_the_last_digit(amount: str, shown: str) -> None:
    """Never by way of a float."""
    assert readable_atomic(amount, "base_sepolia") == shown


def browse(worker: GatewayProcess, cookies: httpx.Cookies) -> httpx.Client:
    """Return a browser with a worker in front of it."""
    return httpx.Client(base_url=worker.http.base_url, cookies=cookies, trust_env=False)


def hidden_fields(page: httpx.Response) -> dict[str, str]:
    """Return the hidden fields of a page."""
    return dict(re.findall(r'name="(csrf|form)" value="([^"]*)"', page.text))


def test_two_workers_serve_one_session_and_log_no_secret(tmp_path: Path) -> None:
    """Signed in at one, a key made at the other, sent again to the first: 409; out at one, out at both."""
    settings = {"WP_LOG_LEVEL": "debug", "WP_GATEWAY_DATA_DIR": str(tmp_path / "data")}
    process = GatewayProcess(tmp_path / "one", settings)
    two = GatewayProcess(tmp_path / "two", settings, public=process.socket)
    try:
        process.start().ready()
        two.start().ready()
        key = (process.data / "admin_key").read_text("ascii")
        cookies = httpx.Cookies()
        first, second = browse(process, cookies), browse(two, cookies)
        form = first.get(SIGN_IN)
        wrong = "weldc_" + "W" * 43
        second.cookies = first.cookies
        assert second.post(SIGN_IN, data={**hidden_fields(form), "key": wrong}).status_code == 401
        assert second.post(SIGN_IN, data={**hidden_fields(form), "key": key}).status_code == 303
        first.cookies = second.cookies
        page = first.get(ROOT)
        sent = {**hidden_fields(page), "name": "Shop"}
        made = second.post(ROOT, data=sent)
        assert (made.status_code, first.post(ROOT, data=sent).status_code) == (201, 409)
        tenant_key = re.search(r"weld_[A-Za-z0-9_-]{43}", made.text)
        assert tenant_key is not None
        session = first.cookies["weldproof-session"]
        kept = httpx.Cookies(first.cookies)
        assert first.post(f"{ROOT}/sign-out", data=hidden_fields(page)).status_code == 303
        second.cookies = kept
        assert second.get(ROOT).status_code == 303
        first.close()
        second.close()
    finally:
        process.close()
        two.close()
    logs = process.log() + two.log()
    for secret in (key, wrong, tenant_key[0], session, sent["csrf"], sent["form"]):
        assert secret not in logs
