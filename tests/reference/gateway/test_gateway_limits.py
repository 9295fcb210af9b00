"""Limits of the gateway: who is counted where, headers, and what a throttled call does not do (P-RL-01 to P-RL-04)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from programs.missing import Missing
from reference.web.clock import WpClock
from reference.web.http import rate_store
from tests.reference.gateway.gateway_stack import (
    LINK,
    LINKS,
    RESOURCES,
    SCREEN,
    VERIFY,
    Gateway,
    Tenant,
    expect_refusal,
    gateway,
)
from tests.reference.gateway.two_gateways import two_gateways
from tests.reference.valkey_server import ValkeyServer, valkey_server

ALLOW = {"recipient_address": "screen-allow", "network": "base_mainnet"}


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    """A store of limits; its absence is a failure, never a skip."""
    try:
        with valkey_server(tmp_path_factory.mktemp("valkey")) as server:
            yield server
    except Missing as missing:
        pytest.fail(str(missing))


@pytest.fixture(params=["one worker", "two workers"])
async def busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[Gateway]:
    """A gateway with the limits of the profile, in whose time a second passes only when a test says so.

    It is one worker, or two that share their limits, on two ports behind nginx, which takes them by turns.
    """
    monkeypatch.setattr(WpClock, "seconds", lambda clock: 1_800_000_000.5 + clock._read_offset())
    if request.param == "one worker":
        async with gateway(tmp_path, rate_limits=True) as opened:
            yield opened
        return
    # A busy machine may take longer than a payer would wait.
    monkeypatch.setattr(rate_store, "WAIT_SECONDS", 60.0)
    store: ValkeyServer = request.getfixturevalue("valkey")
    store.ask(b"FLUSHALL")
    shared = {"rate_limits": True, "rate_store": SecretStr(store.url)}
    try:
        async with two_gateways(tmp_path, **shared) as opened:
            yield opened
    except Missing as missing:
        pytest.fail(str(missing))


def expect_throttled(answer: httpx.Response, limit: int) -> int:
    """Check a 429 and return its Retry-After."""
    after = int(answer.headers["Retry-After"])
    expect_refusal(answer, 429, "rate_limited", retry_after=after)
    assert (str(limit), "0") == (answer.headers["X-RateLimit-Limit"], answer.headers["X-RateLimit-Remaining"])
    return after


async def spend(shop: Gateway, calls: int, tenant: Tenant) -> list[httpx.Response]:
    """Let a tenant read something that is not there."""
    return [await shop.http.get(f"{RESOURCES}/none", headers=tenant.headers()) for _ in range(calls)]


async def test_a_tenant_has_sixty_calls_from_rest_whatever_its_keys(busy: Gateway) -> None:
    """All keys together; the next one waits, and creates and stores nothing (P-RL-01, P-ID-06)."""
    tenant, other_tenant = await busy.tenant(), await busy.tenant()
    made = await busy.internal("POST", f"/{tenant.id}/api-keys", {"mode": "test"}, status=201)
    second = Tenant(tenant.id, made["api_key"])
    answers = [answer for _ in range(30) for one in (tenant, second) for answer in await spend(busy, 1, one)]
    assert {404} == {answer.status_code for answer in answers}
    assert [answer.headers["X-RateLimit-Limit"] for answer in answers] == ["60"] * 60
    assert tuple(answers[at].headers["X-RateLimit-Remaining"] for at in (0, 59)) == ("59", "0")
    headers = {"Idempotency_Key": "one"}
    assert expect_throttled(await busy.link(tenant, headers=headers), 60) == 1
    assert (await busy.link(other_tenant)).status_code == 201
    busy.advance(1)
    served = await busy.link(tenant, headers=headers)
    assert (served.status_code, "Idempotent-Replayed" in served.headers) == (201, False)


async def test_the_tenants_limit_is_five_calls_a_second(busy: Gateway) -> None:
    """And a minute at rest fills no more than the bucket holds; the reset says when it is full again."""
    tenant = await busy.tenant()
    await spend(busy, 60, tenant)
    busy.advance(2)
    assert [answer.status_code for answer in await spend(busy, 11, tenant)] == [404] * 10 + [429]
    busy.advance(3600)
    answers = await spend(busy, 61, tenant)
    assert [answer.status_code for answer in answers] == [404] * 60 + [429]
    assert int(answers[-1].headers["X-RateLimit-Reset"]) == 1_800_003_602 + 12


async def test_an_address_has_thirty_calls_without_credentials(busy: Gateway) -> None:
    """Open documents, screening, missing and wrong credentials are one bucket (P-RL-03)."""
    tenant = await busy.tenant()
    wrong = {**tenant.headers(), "Authorization": "Bearer weld_none"}
    calls = [
        *[("GET", "/health", {}, None, 200)] * 10,
        *[("POST", SCREEN, {}, ALLOW, 200)] * 10,
        *[("POST", LINKS, {}, LINK, 401)] * 5,
        *[("POST", LINKS, wrong, LINK, 401)] * 5,
    ]
    for method, path, headers, body, status in calls:
        answer = await busy.http.request(method, path, headers=headers, json=body)
        assert (status, "30") == (answer.status_code, answer.headers["X-RateLimit-Limit"])
    for method, path, headers, body, _ in calls[::5]:
        expect_throttled(await busy.http.request(method, path, headers=headers, json=body), 30)
    assert (await busy.link(tenant)).status_code == 201
    answer = await busy.http.post(VERIFY, json={"jws": "a.b.c"})
    expect_refusal(answer, 422, "receipt_verification_failed")
    busy.advance(1)
    assert (await busy.http.get("/health")).status_code == 200


async def test_verification_is_a_window_of_sixty_seconds(busy: Gateway) -> None:
    """120 at once are served, the 121st is not before the first is a minute old (P-RL-02)."""

    async def verify() -> httpx.Response:
        return await busy.http.post(VERIFY, json={"jws": "a.b.c"})

    for _ in range(60):
        assert (await verify()).status_code == 422
    busy.advance(30)
    for _ in range(60):
        assert (await verify()).status_code == 422
    assert expect_throttled(await verify(), 120) == 30
    assert (await busy.http.get("/health")).status_code == 200
    busy.advance(29)
    assert expect_throttled(await verify(), 120) == 1
    busy.advance(1)
    assert [(await verify()).status_code for _ in range(61)] == [422] * 60 + [429]


async def test_a_known_token_has_a_bucket_of_its_own(busy: Gateway) -> None:
    """An unknown token counts for the address (P-RL-04)."""
    tenant = await busy.tenant()
    links = [await busy.make_link(tenant) for _ in range(2)]
    at = [f"/checkout/{link['token']}/status" for link in links]
    for _ in range(60):
        answer = await busy.http.get(at[0])
        assert (answer.status_code, answer.headers["X-RateLimit-Limit"]) == (200, "60")
    expect_throttled(await busy.http.get(at[0]), 60)
    assert (await busy.http.get(at[1])).status_code == 200
    unknown = [await busy.http.get("/checkout/unknown/status") for _ in range(31)]
    assert [answer.status_code for answer in unknown] == [404] * 30 + [429]
    assert unknown[0].headers["X-RateLimit-Limit"] == "30"


async def test_calls_of_administrators_are_not_limited(busy: Gateway) -> None:
    """They have credentials and are no tenants."""
    tenant = await busy.tenant()
    for _ in range(70):
        await busy.internal("GET", f"/{tenant.id}")


async def test_what_a_proxy_says_counts_only_when_it_is_trusted(busy: Gateway, tmp_path: Path) -> None:
    """The peer is the address unless it is listed (P-CV-19)."""
    answers = [await busy.http.get("/health", headers={"X-Forwarded-For": f"10.0.0.{n}"}) for n in range(35)]
    assert [answer.status_code for answer in answers] == [200] * 30 + [429] * 5
    async with gateway(tmp_path / "behind", rate_limits=True, trusted_proxies="127.0.0.1") as shop:
        answers = [await shop.http.get("/health", headers={"X-Forwarded-For": f"10.0.0.{n}"}) for n in range(35)]
        assert {200} == {answer.status_code for answer in answers}


async def test_limits_that_are_off_send_no_headers(shop: Gateway) -> None:
    """WP_RATE_LIMITS=off switches all of them off."""
    for _ in range(40):
        answer = await shop.http.get("/health")
        assert (answer.status_code, "X-RateLimit-Limit" in answer.headers) == (200, False)
