"""Resources: price records of a tenant (3.8)."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.reference.gateway.gateway_stack import RESOURCES, Gateway, Tenant, expect_refusal

BODY: dict[str, Any] = {"resource_id": "report:2026.1_a-b", "amount_microunits": 250_000}


async def test_a_resource_has_the_defaults_of_the_profile(shop: Gateway, seller: Tenant) -> None:
    """All members, defaults filled in, and the same by GET."""
    answer = await shop.http.post(RESOURCES, json=BODY, headers=seller.headers())
    record = answer.json()
    assert answer.status_code == 201
    assert record | {"id": "", "created_at": ""} == {
        "id": "",
        "resource_id": "report:2026.1_a-b",
        "amount_microunits": 250_000,
        "payment_network": "algorand_mainnet",
        "networks": ["algorand_mainnet"],
        "asset_id": "31566704",
        "access_ttl_secs": 3600,
        "requirement_ttl_secs": 300,
        "note_binding_required": True,
        "price_fiat_cents": None,
        "price_fiat_currency": None,
        "is_active": True,
        "price_microalgos": 1_000_000,
        "created_at": "",
    }
    shown = await shop.http.get(f"{RESOURCES}/{BODY['resource_id']}", headers=seller.headers())
    assert (200, answer.content) == (shown.status_code, shown.content)


async def test_what_is_given_is_kept(shop: Gateway, seller: Tenant) -> None:
    """Members in their own values; networks keep their order."""
    options = {
        **BODY,
        "payment_network": "base_sepolia",
        "networks": ["solana_devnet", "base_sepolia"],
        "asset_id": 7,
        "access_ttl_secs": 31_536_000,
        "requirement_ttl_secs": 86_400,
        "note_binding_required": False,
        "price_fiat_cents": 99,
        "price_fiat_currency": "EUR",
    }
    answer = (await shop.http.post(RESOURCES, json=options, headers=seller.headers())).json()
    assert options == {name: answer[name] for name in options}


OUT_OF_FORM: dict[str, list[Any]] = {
    "resource_id": [None, "", "a b", "a/b", "é", "a" * 129, "a\n", 5],
    "amount_microunits": [None, 0, -1, 1.5, "1", True],
    "payment_network": [5, None],
    "networks": ["base_sepolia", [], [5]],
    "asset_id": [1.5, True, ""],
    "access_ttl_secs": [0, 31_536_001, "1", True],
    "requirement_ttl_secs": [0, 86_401],
    "note_binding_required": ["true", 1, None],
    "price_fiat_cents": ["1", 1.5, True],
    "price_fiat_currency": [5],
}


async def test_a_member_out_of_its_form_is_422(shop: Gateway, seller: Tenant) -> None:
    """A schema fault names its place (P-GW-02)."""
    for member, values in OUT_OF_FORM.items():
        for value in values:
            answer = await shop.http.post(RESOURCES, json={**BODY, member: value}, headers=seller.headers())
            expect_refusal(answer, 422, "validation_error")
            assert answer.json()["detail"][0]["loc"][:2] == ["body", member], value


async def test_an_unknown_network_is_refused(shop: Gateway, seller: Tenant) -> None:
    """Network keys only, in both places (P-NW-01)."""
    for members in ({"payment_network": "base-sepolia"}, {"networks": ["algorand_mainnet", "nowhere"]}):
        answer = await shop.http.post(RESOURCES, json={**BODY, **members}, headers=seller.headers())
        expect_refusal(answer, 400, "unsupported_network")


async def test_an_id_is_used_once_in_a_tenant(shop: Gateway, seller: Tenant) -> None:
    """Another tenant may use the same, and sees nothing of this one's (3.8)."""
    other_tenant = await shop.tenant()
    at = f"{RESOURCES}/{BODY['resource_id']}"
    first = await shop.http.post(RESOURCES, json=BODY, headers=seller.headers())
    again = await shop.http.post(RESOURCES, json=BODY, headers=seller.headers())
    expect_refusal(again, 409, "resource_exists", resource_id=BODY["resource_id"])
    expect_refusal(await shop.http.get(at, headers=other_tenant.headers()), 404, "not_found")
    theirs = await shop.http.post(RESOURCES, json=BODY, headers=other_tenant.headers())
    assert (theirs.status_code, theirs.json()["id"] == first.json()["id"]) == (201, False)
    expect_refusal(await shop.http.get(f"{RESOURCES}/none", headers=seller.headers()), 404, "not_found")
    expect_refusal(await shop.http.get(at), 401, "invalid_api_key")


async def test_of_callers_at_once_one_gets_the_id(shop: Gateway, seller: Tenant) -> None:
    """A unique key decides, without an Idempotency-Key too."""
    calls = [shop.http.post(RESOURCES, json=BODY, headers=seller.headers()) for _ in range(8)]
    assert [201, *[409] * 7] == sorted(answer.status_code for answer in await asyncio.gather(*calls))
