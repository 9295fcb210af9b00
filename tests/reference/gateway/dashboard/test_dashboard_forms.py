"""Forms of the dashboard: their tokens, what they may be, and what a reload does (3.9, P-GW-01, P-AU-02)."""

from __future__ import annotations

import asyncio

import pytest

from reference.gateway.dashboard.forms import MEDIA, csrf_token
from tests.reference.gateway.dashboard.administrator import ROOT, SIGN_IN, Administrator, fields
from tests.reference.gateway.gateway_stack import Gateway

TENANT, THING = "{tenant}", "00000000-0000-4000-8000-000000000000"
FORMS = [
    "",
    "/sign-out",
    *(
        f"/tenants/{TENANT}{below}"
        for below in (
            *("/keys", f"/keys/{THING}/rotate", f"/keys/{THING}/delete", "/trial", "/settings/networks"),
            *("/settings/notifications", f"/settings/notifications/{THING}/rotate"),
            *(f"/settings/notifications/{THING}/delete", f"/deliveries/{THING}/resend", "/settings/checkout"),
            "/settings/checkout/logo/delete",
        )
    ),
]


@pytest.mark.parametrize("below", FORMS)
async def test_every_form_wants_the_token_of_its_session(admin: Administrator, below: str) -> None:
    """Missing, empty, another one's, one character off: 403, and nothing is done."""
    tenant, _ = await admin.make_tenant()
    path = ROOT + below.replace(TENANT, tenant)
    right = admin_token(admin)
    before = await admin.shop.internal("GET", f"/{tenant}")
    last = "A" if right[-1] != "A" else "B"
    for token in (None, "", csrf_token("x" * 43), right[:-1] + last, right + "A", "é"):
        form_values = {"name": "x", "mode": "test", "status": "approved", **({} if token is None else {"csrf": token})}
        answer = await admin.http.post(path, data=form_values)
        assert answer.status_code == 403, (path, token)
        assert "invalid_form_token" in answer.text
    assert await admin.shop.internal("GET", f"/{tenant}") == before
    assert (await admin.show(ROOT)).texts("tbody th") == ["Shop"]


def admin_token(admin: Administrator) -> str:
    """Return the token of an administrator's forms."""
    return csrf_token(str(admin.http.cookies["weldproof-session"]))


async def test_a_token_is_one_sessions(admin: Administrator, shop: Gateway) -> None:
    """That of another administrator, or of the session before, does nothing."""
    other_administrator = Administrator(shop)
    await other_administrator.sign_in()
    theirs = admin_token(other_administrator)
    assert theirs != admin_token(admin)
    for one, token in ((admin, theirs), (other_administrator, admin_token(admin))):
        assert (await one.http.post(ROOT, data={"csrf": token, "name": "x"})).status_code == 403
    await other_administrator.http.aclose()


async def test_signing_in_wants_a_token_too(stranger: Administrator) -> None:
    """Without the form's cookie, or with another token, no user is signed in with another user's key."""
    page = await stranger.show(SIGN_IN)
    form_values = {**fields(page.form()), "key": stranger.shop.admin_key}
    for wrong in (
        {**form_values, "csrf": ""},
        {**form_values, "csrf": csrf_token("A" * 43)},
        {"key": form_values["key"]},
    ):
        assert (await stranger.http.post(SIGN_IN, data=wrong)).status_code == 403
    stranger.http.cookies.clear()
    assert (await stranger.http.post(SIGN_IN, data=form_values)).status_code == 403
    assert "weldproof-session" not in stranger.http.cookies


async def test_without_a_session_a_form_does_nothing(stranger: Administrator) -> None:
    """403 with a page that says so; only signing out is never refused."""
    for below in FORMS:
        answer = await stranger.http.post(ROOT + below, data={"csrf": "x", "name": "x"})
        if below == "/sign-out":
            assert (answer.status_code, answer.headers["Location"]) == (303, SIGN_IN)
        else:
            assert answer.status_code == 403, below
            assert "session_over" in answer.text
    await stranger.sign_in()
    assert (await stranger.show(ROOT)).has(".empty")


async def test_a_form_is_urlencoded(admin: Administrator) -> None:
    """Another media type, none, another charset or a content coding: 415; what cannot be read: 400 (P-GW-01)."""
    token = admin_token(admin)
    body = f"csrf={token}&name=x&form={'A' * 22}".encode()
    for media, content_encoding, status in (
        ("application/json", "", 415),
        ("multipart/form-data; boundary=x", "", 415),
        ("", "", 415),
        (f"{MEDIA}; charset=latin-1", "", 415),
        (MEDIA, "gzip", 415),
        (f"{MEDIA}; charset=UTF-8", "identity", 201),
    ):
        headers = {
            name: value for name, value in (("Content-Type", media), ("Content-Encoding", content_encoding)) if value
        }
        answer = await admin.http.post(ROOT, content=body, headers=headers)
        assert (answer.status_code, answer.headers["Content-Type"]) == (status, "text/html; charset=utf-8"), media
    for data in (b"\xff\xfe", b"name=%ff%fe", b"name=%ED%A0%80", b"&".join(b"a%d=1" % n for n in range(300))):
        answer = await admin.http.post(ROOT, content=data, headers={"Content-Type": MEDIA})
        assert answer.status_code == 400, data[:20]
    twice = f"csrf={token}&csrf={token}&name=a&form={'B' * 22}".encode()
    assert (await admin.http.post(ROOT, content=twice, headers={"Content-Type": MEDIA})).status_code == 400


async def test_a_reload_of_an_answer_makes_nothing_again(admin: Administrator) -> None:
    """The same form sent twice: one tenant, one secret, and the second answer shows none."""
    page = await admin.show(ROOT)
    answer = await admin.submit(page, name="Shop")
    again = await admin.submit(page, name="Shop")
    assert (answer.status, again.status, again.text("h1")) == (201, 409, "Sent already")
    assert answer.secret not in again.answer.text
    assert (await admin.show(ROOT)).texts("tbody th") == ["Shop"]


async def test_ten_clicks_make_one_key(admin: Administrator) -> None:
    """Sent at the same moment, one is carried out."""
    tenant, _ = await admin.make_tenant()
    page = await admin.show(f"{ROOT}/tenants/{tenant}/keys")
    answers = await asyncio.gather(*(admin.submit(page) for _ in range(10)))
    assert sorted(one.status for one in answers) == [201] + [409] * 9
    assert len((await admin.shop.internal("GET", f"/{tenant}"))["keys"]) == 2


@pytest.mark.parametrize("form_id", ["", "A" * 21, "A" * 23, "é" * 22, None])
async def test_a_form_that_makes_a_secret_has_an_id(admin: Administrator, form_id: str | None) -> None:
    """Without one it could be sent again and again: 400."""
    page = await admin.submit(await admin.show(ROOT), name="Shop", form=form_id)
    assert page.status == 400
    assert (await admin.show(ROOT)).has(".empty")


async def test_what_was_wrong_may_be_put_right(admin: Administrator) -> None:
    """A form that was refused is no form that was sent: its answer carries one that works."""
    wrong = await admin.submit(await admin.show(ROOT), name="")
    assert (wrong.status, set(wrong.fault)) == (422, {"name"})
    assert wrong.title.startswith("Error: ")
    assert (await admin.submit(wrong, name="Shop")).status == 201
