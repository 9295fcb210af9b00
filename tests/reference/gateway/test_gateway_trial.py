"""Trial rules where they are asked: when a link is created (3.10)."""

from __future__ import annotations

from pathlib import Path

from tests.reference.gateway.gateway_stack import Gateway, expect_refusal, gateway

DAY = 86400


async def test_mainnet_waits_for_approval(shop: Gateway) -> None:
    """Neither trial nor rejection opens mainnet (P-TR-02), and no live key exists before."""
    for kyc in ("trial", "rejected"):
        tenant = await shop.tenant(kyc=kyc)
        answer = await shop.link(tenant, preferred_network="base_mainnet")
        expect_refusal(answer, 422, "kyb_required_for_mainnet", network="base_mainnet")
        headers = {"Authorization": f"Bearer {shop.admin_key}"}
        asked = await shop.http.post(f"/internal/tenants/{tenant.id}/api-keys", json={"mode": "live"}, headers=headers)
        expect_refusal(asked, 422, "kyb_required_for_mainnet")


async def test_the_trial_ends_after_sixty_days_and_approval_lifts_that(shop: Gateway) -> None:
    """Test networks are free for 60 days, and without end once approved (P-TR-01, P-TR-03, P-TR-05)."""
    tenant = await shop.tenant()
    record = await shop.internal("GET", f"/{tenant.id}")
    shop.advance(60 * DAY - 500)
    await shop.make_link(tenant)
    shop.advance(1000)
    expect_refusal(await shop.link(tenant), 403, "trial_expired", trial_ends_at=record["trial_ends_at"])
    await shop.internal("POST", f"/{tenant.id}/kyc", {"status": "approved"})
    await shop.make_link(tenant)


async def test_a_key_reaches_the_networks_of_its_mode_only(shop: Gateway) -> None:
    """Test keys reach test networks, live keys mainnet (P-AU-03, P-TR-04)."""
    test = await shop.tenant(kyc="approved")
    live = await shop.tenant(kyc="approved", mode="live")
    answer = await shop.link(test, preferred_network="base_mainnet")
    expect_refusal(answer, 403, "key_mode_mismatch", key_mode="test", network="base_mainnet")
    answer = await shop.link(live, preferred_network="base_sepolia")
    expect_refusal(answer, 403, "key_mode_mismatch", key_mode="live", network="base_sepolia")
    await shop.make_link(live, preferred_network="base_mainnet")


async def test_the_allowance_ends_mainnet_links_of_the_trial_plan(tmp_path: Path) -> None:
    """A link over the allowance is refused; the paid plan has none (P-TR-06)."""
    async with gateway(tmp_path, mainnet_allowance_microunits=8_000_000) as shop:
        tenant = await shop.tenant(kyc="approved", mode="live")
        answer = await shop.link(tenant, preferred_network="base_mainnet", amount=8.000001)
        expect_refusal(answer, 403, "mainnet_allowance_exhausted", allowance_microunits=8_000_000, used_microunits=0)
        await shop.make_link(tenant, preferred_network="base_mainnet", amount=8)
        await shop.internal("POST", f"/{tenant.id}/kyc", {"status": "approved", "plan": "paid"})
        await shop.make_link(tenant, preferred_network="base_mainnet", amount=9000)


async def test_nothing_but_links_asks_about_the_trial(shop: Gateway) -> None:
    """Resources, pages and verification go on when the trial is over."""
    tenant = await shop.tenant()
    link = await shop.make_link(tenant)
    shop.advance(61 * DAY)
    body = {"resource_id": "a", "amount_microunits": 1}
    assert (await shop.http.post("/v1/resources", json=body, headers=tenant.headers())).status_code == 201
    assert (await shop.http.get(f"/checkout/{link['token']}/status")).status_code == 200
