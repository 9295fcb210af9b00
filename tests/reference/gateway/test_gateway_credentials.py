"""Tenants by key and id, administrators by key and scope; keys are kept as hashes (P-AU-01 to P-AU-04)."""

from __future__ import annotations

import re
import secrets
import uuid
from pathlib import Path
from typing import Any

import httpx

from reference.gateway.credentials import SCOPES, digest_of
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.tenants import Tenants
from tests.reference.gateway.gateway_stack import LINK, LINKS, RESOURCES, Gateway, Tenant, expect_refusal

DAY = 86400


def read_stored(shop: Gateway) -> bytes:
    """Return everything that the gateway has on its disk but the files of secrets."""
    folder = shop.settings.gateway_data_dir
    return b"".join(path.read_bytes() for path in sorted(folder.glob("gateway.sqlite3*")))


NOT_ACCEPTED = [
    None,
    "",
    "{key}",
    "Basic {key}",
    "Bearer",
    "Bearer ",
    "Bearer {key} {key}",
    "Bearer {key}x",
    "Bearer weld_" + "A" * 43,
    "Bearer \xe9",
    "bearer={key}",
]


async def test_without_an_accepted_key_it_is_401(shop: Gateway, seller: Tenant) -> None:
    """Missing, another scheme, unknown, malformed: one code, and the scheme is named (P-AU-01)."""
    for authorization in NOT_ACCEPTED:
        fields = [("X-Tenant-Id", seller.id)]
        if authorization is not None:
            fields.append(("Authorization", authorization.format(key=seller.key)))
        raw_headers = [(name.encode(), value.encode("latin-1")) for name, value in fields]
        for path in (LINKS, RESOURCES):
            answer = await shop.http.post(path, json=LINK, headers=raw_headers)
            expect_refusal(answer, 401, "invalid_api_key")
            assert answer.headers["WWW-Authenticate"] == "Bearer"


async def test_two_authorization_headers_are_none(shop: Gateway, seller: Tenant) -> None:
    """It is unclear which one counts."""
    fields = [*seller.headers().items(), ("Authorization", f"Bearer {seller.key}")]
    expect_refusal(await shop.http.post(LINKS, json=LINK, headers=fields), 401, "invalid_api_key")


async def test_the_scheme_is_not_case_sensitive(shop: Gateway, seller: Tenant) -> None:
    """RFC 9110 says so; an id in capitals is the same id."""
    headers = {"Authorization": f"bEARER {seller.key}", "X-Tenant-Id": seller.id.upper()}
    assert (await shop.http.post(LINKS, json=LINK, headers=headers)).status_code == 201


async def test_a_key_wants_its_own_tenants_id(shop: Gateway, seller: Tenant) -> None:
    """Missing, malformed, unknown, another tenant's, or twice: 403 (P-AU-01)."""
    other_tenant = await shop.tenant()
    bearer = ("Authorization", f"Bearer {seller.key}")
    for ids in ([], [""], ["x"], [seller.id + "0"], [str(uuid.uuid4())], [other_tenant.id], [seller.id, seller.id]):
        fields = [bearer, *(("X-Tenant-Id", one) for one in ids)]
        expect_refusal(await shop.http.post(LINKS, json=LINK, headers=fields), 403, "tenant_id_mismatch")


async def test_an_administrators_key_is_no_tenants_and_the_other_way_round(shop: Gateway, seller: Tenant) -> None:
    """Keys are of one kind."""
    headers = {**seller.headers(), "Authorization": f"Bearer {shop.admin_key}"}
    expect_refusal(await shop.http.post(LINKS, json=LINK, headers=headers), 401, "invalid_api_key")
    expect_refusal(
        await shop.http.get(f"/internal/tenants/{seller.id}", headers=seller.headers()), 401, "invalid_api_key"
    )
    expect_refusal(await shop.http.get(f"/internal/tenants/{seller.id}"), 401, "invalid_api_key")


async def test_a_rotated_key_is_valid_for_the_overlap(shop: Gateway, seller: Tenant) -> None:
    """The new key at once, the old one 30 more days, then no more (P-AU-04)."""
    old = (await shop.internal("GET", f"/{seller.id}"))["keys"][0]["key_id"]
    answer = await shop.internal("POST", f"/{seller.id}/api-keys/{old}/rotate", status=201)
    fresh = Tenant(seller.id, answer["api_key"])
    keys = {key["key_id"]: key for key in (await shop.internal("GET", f"/{seller.id}"))["keys"]}
    assert (answer["mode"], keys[old]["valid_until"]) == ("test", answer["old_valid_until"])
    await shop.make_link(fresh)
    shop.advance(30 * DAY - 500)
    await shop.make_link(seller)
    shop.advance(1000)
    expect_refusal(await shop.link(seller), 401, "invalid_api_key")
    await shop.make_link(fresh)
    await shop.internal("DELETE", f"/{seller.id}/api-keys/{old}", status=204)
    await shop.internal("DELETE", f"/{seller.id}/api-keys/{old}", status=404)


async def test_a_key_is_rotated_once(shop: Gateway, seller: Tenant) -> None:
    """A key that lapses already is not prolonged by another rotation."""
    old = (await shop.internal("GET", f"/{seller.id}"))["keys"][0]["key_id"]
    await shop.internal("POST", f"/{seller.id}/api-keys/{old}/rotate", status=201)
    await shop.internal("POST", f"/{seller.id}/api-keys/{old}/rotate", status=404)


async def test_a_deleted_key_is_refused_at_once(shop: Gateway, seller: Tenant) -> None:
    """Nothing of the overlap holds for a deletion; another key goes on (P-AU-04)."""
    first = (await shop.internal("GET", f"/{seller.id}"))["keys"][0]["key_id"]
    other_answer = await shop.internal("POST", f"/{seller.id}/api-keys", {"mode": "test"}, status=201)
    await shop.internal("DELETE", f"/{seller.id}/api-keys/{first}", status=204)
    expect_refusal(await shop.link(seller), 401, "invalid_api_key")
    await shop.internal("DELETE", f"/{seller.id}/api-keys/{first}", status=404)
    await shop.make_link(Tenant(seller.id, other_answer["api_key"]))


async def test_keys_have_their_form_and_are_not_stored(shop: Gateway, seller: Tenant) -> None:
    """A prefix and 43 characters; on the disk there are hashes (P-AU-02, P-SW-03)."""
    link = await shop.make_link(seller)
    assert re.fullmatch(r"weld_[A-Za-z0-9_-]{43}", seller.key)
    assert re.fullmatch(r"weldc_[A-Za-z0-9_-]{43}", shop.admin_key)
    assert shop.settings.admin_key_file.stat().st_mode & 0o777 == 0o600
    assert shop.settings.seal_key_file.stat().st_mode & 0o777 == 0o600
    on_disk = read_stored(shop)
    assert digest_of(seller.key).encode() in on_disk
    for secret in (seller.key, shop.admin_key, link["cancel_secret"]):
        assert secret.encode() not in on_disk


async def test_an_administrators_key_does_what_its_scopes_say(shop: Gateway, seller: Tenant) -> None:
    """Each call wants its scope; a live key wants the one to activate it too (3.9)."""
    database = open_database(sqlite_dsn(shop.settings.gateway_data_dir / "gateway.sqlite3"))
    tenants = Tenants(database)
    calls = {
        ("POST", ""): ({"name": "x"}, "tenants:admin"),
        ("GET", f"/{seller.id}"): (None, "tenants:admin"),
        ("PUT", f"/{seller.id}/networks"): ({}, "tenants:admin"),
        ("POST", f"/{seller.id}/kyc"): ({"status": "trial"}, "kyb:write"),
        ("GET", f"/{seller.id}/payments?state=paid"): (None, "payments:read"),
        ("POST", f"/{seller.id}/api-keys"): ({"mode": "test"}, "apikeys:admin"),
        ("DELETE", f"/{seller.id}/api-keys/x"): (None, "apikeys:admin"),
        ("POST", f"/{seller.id}/api-keys/x/rotate"): (None, "apikeys:admin"),
    }
    keys = {scope: secrets.token_hex(16) for scope in SCOPES}
    for scope, key in keys.items():
        await tenants.admit(digest_of(key), (scope,), now=0)
    for (method, path), (body, wanted) in calls.items():
        for scope, key in keys.items():
            headers = {"Authorization": f"Bearer {key}"}
            answer = await shop.http.request(method, f"/internal/tenants{path}", json=body, headers=headers)
            if scope == wanted:
                assert answer.status_code in {200, 201, 204, 404}, answer.text
            else:
                expect_refusal(answer, 403, "forbidden_scope", scope=wanted)
    headers = {"Authorization": f"Bearer {keys['apikeys:admin']}"}
    asked = await shop.http.post(f"/internal/tenants/{seller.id}/api-keys", json={"mode": "live"}, headers=headers)
    expect_refusal(asked, 403, "forbidden_scope", scope="live:activate")
    await database.close()


async def test_a_live_key_is_rotated_by_who_may_make_one(shop: Gateway, seller: Tenant) -> None:
    """The scope for keys alone replaces test keys; a live one wants the other scope too, and an approved tenant."""
    await shop.internal("POST", f"/{seller.id}/kyc", {"status": "approved"})
    live = await shop.internal("POST", f"/{seller.id}/api-keys", {"mode": "live"}, status=201)
    test = await shop.internal("POST", f"/{seller.id}/api-keys", {"mode": "test"}, status=201)
    database = open_database(sqlite_dsn(shop.settings.gateway_data_dir / "gateway.sqlite3"))
    few, scopes_key = secrets.token_hex(16), secrets.token_hex(16)
    await Tenants(database).admit(digest_of(few), ("apikeys:admin",), now=0)
    await Tenants(database).admit(digest_of(scopes_key), ("apikeys:admin", "live:activate"), now=0)
    await database.close()

    async def rotate(key: str, which: dict[str, Any]) -> httpx.Response:
        path = f"/internal/tenants/{seller.id}/api-keys/{which['key_id']}/rotate"
        return await shop.http.post(path, headers={"Authorization": f"Bearer {key}"})

    before = (await shop.internal("GET", f"/{seller.id}"))["keys"]
    expect_refusal(await rotate(few, live), 403, "forbidden_scope", scope="live:activate")
    assert (await shop.internal("GET", f"/{seller.id}"))["keys"] == before
    assert (await rotate(few, test)).status_code == 201
    answer = await rotate(scopes_key, live)
    assert (answer.status_code, answer.json()["mode"]) == (201, "live")
    await shop.internal("POST", f"/{seller.id}/kyc", {"status": "rejected"})
    expect_refusal(await rotate(scopes_key, answer.json()), 422, "kyb_required_for_mainnet")


async def test_the_first_administrators_key_outlives_a_restart(tmp_path: Path) -> None:
    """The file stays, and its key is accepted again."""
    from tests.reference.gateway.gateway_stack import gateway

    async with gateway(tmp_path) as shop:
        key, tenant = shop.admin_key, await shop.tenant()
    async with gateway(tmp_path) as shop:
        assert shop.admin_key == key
        assert (await shop.internal("GET", f"/{tenant.id}"))["tenant_id"] == tenant.id
        await shop.make_link(tenant)
