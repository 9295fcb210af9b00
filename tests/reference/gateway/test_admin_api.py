"""/internal: tenants, networks, standing, keys, payments (3.9)."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.reference.gateway.gateway_stack import ALGORAND, EVM, SOLANA, Gateway, Tenant, expect_refusal, gateway

NOBODY = "00000000-0000-4000-8000-000000000000"


async def ask(shop: Gateway, method: str, path: str, body: Any = None) -> Any:
    """Carry out one call as an administrator, whatever its result."""
    headers = {"Authorization": f"Bearer {shop.admin_key}"}
    return await shop.http.request(method, f"/internal/tenants{path}", json=body, headers=headers)


async def test_a_tenant_begins_on_trial_with_a_test_key(shop: Gateway) -> None:
    """Sixty days, plan trial, and one key whose text is returned once."""
    answer = await shop.internal("POST", "", {"name": "Bäckerei"}, status=201)
    record = await shop.internal("GET", f"/{answer['tenant_id']}")
    key = answer.pop("api_key")
    key_id = answer.pop("key_id")
    start_time, ends = (datetime.fromisoformat(answer[name]) for name in ("trial_started_at", "trial_ends_at"))
    assert ends - start_time == timedelta(days=60)
    assert record == {
        **answer,
        "name": "Bäckerei",
        "kyc_status": "trial",
        "plan": "trial",
        "networks": {},
        "destinations": [],
        "keys": [
            {
                "key_id": key_id,
                "mode": "test",
                "created_at": answer["trial_started_at"],
                "valid_until": None,
                "revoked_at": None,
            }
        ],
        "allowance_microunits": 10**9,
        "used_microunits": 0,
    }
    assert key not in str(record)


async def test_networks_are_replaced_as_an_ordered_list(shop: Gateway, seller: Tenant) -> None:
    """What is left out is gone; the order is kept; nothing at all is allowed."""
    for networks in (
        {"solana_devnet": SOLANA, "algorand_testnet": ALGORAND, "base_sepolia": EVM},
        {"base_sepolia": EVM},
        {},
    ):
        body = {key: {"payout_address": address} for key, address in networks.items()}
        answer = await shop.internal("PUT", f"/{seller.id}/networks", body)
        document = await shop.internal("GET", f"/{seller.id}")
        assert list(body.items()) == list(answer["networks"].items()) == list(document["networks"].items())


async def test_a_network_that_is_unknown_or_has_no_node_is_400_and_changes_nothing(
    shop: Gateway, seller: Tenant
) -> None:
    """A payout address that cannot be watched is refused (P-NW-02)."""
    before = (await shop.internal("GET", f"/{seller.id}"))["networks"]
    for key in ("base-sepolia", "nowhere", "stellar_testnet"):
        body = {"base_sepolia": {"payout_address": EVM}, key: {"payout_address": EVM}}
        expect_refusal(await ask(shop, "PUT", f"/{seller.id}/networks", body), 400, "unsupported_network", network=key)
    assert before == (await shop.internal("GET", f"/{seller.id}"))["networks"]


async def test_a_malformed_address_is_422_and_named(shop: Gateway, seller: Tenant) -> None:
    """By the rules of each chain."""
    for key, addresses in {
        "algorand_testnet": ("x", ALGORAND[:-1] + "B", EVM),
        "base_sepolia": ("0x1", ALGORAND, "1" * 42),
        "solana_devnet": ("0", SOLANA + "1", EVM),
    }.items():
        for address in addresses:
            answer = await ask(shop, "PUT", f"/{seller.id}/networks", {key: {"payout_address": address}})
            expect_refusal(answer, 422, "validation_error")
            assert answer.json()["detail"][0]["loc"] == ["body", key, "payout_address"]


async def test_a_body_out_of_its_form_is_422(shop: Gateway, seller: Tenant) -> None:
    """Names, modes, standings, plans, addresses."""
    for method, path, body in (
        ("POST", "", {"name": ""}),
        ("POST", "", {"name": "a" * 256}),
        ("POST", "", {"name": 5}),
        ("POST", f"/{seller.id}/api-keys", {"mode": "both"}),
        ("POST", f"/{seller.id}/kyc", {"status": "maybe"}),
        ("POST", f"/{seller.id}/kyc", {"status": "approved", "plan": "free"}),
        ("PUT", f"/{seller.id}/networks", {"base_sepolia": EVM}),
        ("PUT", f"/{seller.id}/networks", {"base_sepolia": {"payout_address": ""}}),
        ("PUT", f"/{seller.id}/networks", []),
    ):
        expect_refusal(await ask(shop, method, path, body), 422, "validation_error")


async def test_a_tenant_or_key_that_is_not_there_is_404(shop: Gateway, seller: Tenant) -> None:
    """On every path; a key of another tenant is not there either."""
    other_tenant = (await shop.internal("GET", f"/{(await shop.tenant()).id}"))["keys"][0]["key_id"]
    for method, path, body in (
        ("GET", f"/{NOBODY}", None),
        ("GET", "/x", None),
        ("PUT", f"/{NOBODY}/networks", {}),
        ("POST", f"/{NOBODY}/kyc", {"status": "approved"}),
        ("POST", f"/{NOBODY}/api-keys", {"mode": "test"}),
        ("GET", f"/{NOBODY}/payments?state=paid", None),
        ("POST", f"/{seller.id}/api-keys/{other_tenant}/rotate", None),
        ("DELETE", f"/{seller.id}/api-keys/{other_tenant}", None),
    ):
        expect_refusal(await ask(shop, method, path, body), 404, "not_found")


async def test_the_plan_stays_when_none_is_named(shop: Gateway, seller: Tenant) -> None:
    """A decision says the standing, and the plan only when it says it."""
    for body, status, plan in (
        ({"status": "approved", "plan": "paid"}, "approved", "paid"),
        ({"status": "rejected"}, "rejected", "paid"),
        ({"status": "trial", "plan": "trial"}, "trial", "trial"),
    ):
        answer = await shop.internal("POST", f"/{seller.id}/kyc", body)
        assert (status, plan) == (answer["kyc_status"], answer["plan"])


async def test_payments_are_listed_by_state(shop: Gateway, seller: Tenant) -> None:
    """An unknown state is a fault of the query (P-GW-02)."""
    for state in ("paid", "late"):
        assert await shop.internal("GET", f"/{seller.id}/payments?state={state}") == {"payments": []}
    for query in ("", "?state=", "?state=open", "?state=paid&state=late"):
        answer = await ask(shop, "GET", f"/{seller.id}/payments{query}")
        expect_refusal(answer, 422, "validation_error")
        assert answer.json()["detail"][0]["loc"] == ["query", "state"]


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_names_that_a_database_cannot_hold_are_no_faults_of_ours(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    """NUL in a path is 404, in a name 422; nothing that is sent looks like a database that is away."""
    settings = {} if kind == "sqlite" else {"gateway_db": request.getfixturevalue("postgres_database")}
    async with gateway(tmp_path, **settings) as shop:
        tenant = await shop.tenant()
        expect_refusal(await ask(shop, "POST", "", {"name": "a\x00b"}), 422, "validation_error")
        expect_refusal(await ask(shop, "POST", "", {"name": "a\nb"}), 422, "validation_error")
        for path in ("/%00", f"/{tenant.id}%00", "/" + "x" * 4000, "/%F0%9F%92%A9", "/%FF%FE", "/'%3B--"):
            expect_refusal(await ask(shop, "GET", path), 404, "not_found")
            expect_refusal(await ask(shop, "DELETE", f"/{tenant.id}/api-keys{path}"), 404, "not_found")
            expect_refusal(await shop.http.get(f"/v1/resources{path}", headers=tenant.headers()), 404, "not_found")
            expect_refusal(await shop.http.get(f"/checkout{path}/status"), 404, "not_found")
        resource = {"resource_id": "a", "amount_microunits": 1, "asset_id": "\x00", "price_fiat_currency": "\x00"}
        answer = await shop.http.post("/v1/resources", json=resource, headers=tenant.headers())
        assert (answer.status_code, answer.json()["asset_id"]) == (201, "\x00")


async def test_the_service_word_names_keys(tmp_path: Path) -> None:
    """The prefix is the word's first four letters, or as it is set (P-SW-03)."""
    async with gateway(tmp_path / "a", service_word="Acme") as shop:
        assert (await shop.tenant()).key.startswith("acme_")
        assert shop.admin_key.startswith("acmec_")
    async with gateway(tmp_path / "b", key_prefix="zz") as shop:
        assert (await shop.tenant()).key.startswith("zz_")
