"""A creating call is executed once a key (P-ID-01 to P-ID-06)."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.reference.gateway.gateway_stack import (
    LINK,
    LINKS,
    RESOURCES,
    Gateway,
    Tenant,
    expect_refusal,
    gateway,
)

DAY = 86400
RESOURCE = {"resource_id": "report", "amount_microunits": 5}
KEY = {"Idempotency_Key": "order-1"}


def expect_replay(first: httpx.Response, again: httpx.Response) -> None:
    """Check that an answer is the first one, byte for byte, under an id of its own (P-ID-03, P-CV-17)."""
    assert (first.status_code, first.content) == (again.status_code, again.content)
    assert first.headers["X-Request-Id"] != again.headers["X-Request-Id"]
    assert ("Idempotent-Replayed" in first.headers, again.headers.get("Idempotent-Replayed")) == (False, "true")


async def test_the_same_key_and_body_get_the_first_answer(tmp_path: Path, database: dict[str, Any]) -> None:
    """Over a restart too, and whatever the spelling of the body; its secret is in it."""
    async with gateway(tmp_path, **database) as shop:
        tenant = await shop.tenant()
        first = await shop.link(tenant, headers=KEY)
        expect_replay(first, await shop.link(tenant, headers=KEY))
        resource = await shop.http.post(RESOURCES, json=RESOURCE, headers=tenant.headers(**KEY))
    async with gateway(tmp_path, **database) as shop:
        other_spelling = b'{"label": "Order 1", "currency": "USD", "amount": 8.410}'
        headers = tenant.headers(Content_Type="application/json", **KEY)
        expect_replay(first, await shop.http.post(LINKS, content=other_spelling, headers=headers))
        expect_replay(resource, await shop.http.post(RESOURCES, json=RESOURCE, headers=tenant.headers(**KEY)))
    assert first.json()["cancel_secret"]


async def test_another_body_under_the_same_key_is_409_and_makes_nothing(shop: Gateway, seller: Tenant) -> None:
    """The conflict stays as long as the key (P-ID-04)."""
    first = await shop.link(seller, headers=KEY)
    expect_refusal(await shop.link(seller, amount=8.42, headers=KEY), 409, "idempotency_conflict")
    expect_replay(first, await shop.link(seller, headers=KEY))


async def test_a_key_is_of_one_tenant_and_one_path(shop: Gateway, seller: Tenant) -> None:
    """The scope is tenant, method, path and key (P-ID-02)."""
    other_tenant = await shop.tenant()
    links = [await shop.link(tenant, headers=KEY) for tenant in (seller, other_tenant)]
    resource = await shop.http.post(RESOURCES, json=RESOURCE, headers=seller.headers(**KEY))
    assert [answer.status_code for answer in (*links, resource)] == [201, 201, 201]
    assert links[0].json()["token"] != links[1].json()["token"]


async def test_the_window_is_a_day_from_the_first_call(shop: Gateway, seller: Tenant) -> None:
    """A replay does not prolong it; afterwards the key is free (P-ID-02)."""
    first = await shop.link(seller, headers=KEY)
    shop.advance(DAY / 2)
    expect_replay(first, await shop.link(seller, headers=KEY))
    shop.advance(DAY / 2 - 500)
    expect_replay(first, await shop.link(seller, headers=KEY))
    shop.advance(1000)
    again = await shop.link(seller, headers=KEY)
    assert (again.status_code, "Idempotent-Replayed" in again.headers) == (201, False)
    assert first.json()["token"] != again.json()["token"]
    expect_replay(again, await shop.link(seller, headers=KEY))


async def test_a_refusal_is_not_stored(shop: Gateway) -> None:
    """What could not be done then may be done now, under the same key (P-ID-06)."""
    tenant = await shop.tenant("base_sepolia")
    expect_refusal(await shop.link(tenant, preferred_network="solana_devnet", headers=KEY), 400, "unsupported_network")
    assert (await shop.link(tenant, headers=KEY)).status_code == 201


async def test_a_replay_comes_before_business_rules(shop: Gateway) -> None:
    """The link was created; that the trial is over now changes nothing of it (3.1)."""
    tenant = await shop.tenant()
    shop.advance(60 * DAY - 500)
    first = await shop.link(tenant, headers=KEY)
    shop.advance(1000)
    expect_replay(first, await shop.link(tenant, headers=KEY))
    expect_refusal(await shop.link(tenant), 403, "trial_expired")


async def test_a_malformed_key_is_400(shop: Gateway, seller: Tenant) -> None:
    """1 to 255 visible ASCII characters (P-ID-01)."""
    for key in ("", " ", "a b", "\x7f", "é", "k" * 256):
        fields = [(name.encode(), value.encode()) for name, value in seller.headers(Idempotency_Key=key).items()]
        expect_refusal(await shop.http.post(LINKS, json=LINK, headers=fields), 400, "invalid_request")


async def test_two_keys_are_none(shop: Gateway, seller: Tenant) -> None:
    """It is unclear which one counts."""
    fields = [*seller.headers().items(), ("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    expect_refusal(await shop.http.post(LINKS, json=LINK, headers=fields), 400, "invalid_request")


async def test_the_longest_key_is_accepted(shop: Gateway, seller: Tenant) -> None:
    """255 characters, from ! to ~."""
    headers = {"Idempotency_Key": "!~" * 127 + "k"}
    expect_replay(await shop.link(seller, headers=headers), await shop.link(seller, headers=headers))


async def test_without_a_key_every_call_creates(shop: Gateway, seller: Tenant) -> None:
    """The key is optional."""
    tokens = {(await shop.make_link(seller))["token"] for _ in range(3)}
    assert len(tokens) == 3


async def test_stored_answers_are_sealed(shop: Gateway, seller: Tenant) -> None:
    """They hold the cancel secret, so they are encrypted at rest (P-ID-03)."""
    link = (await shop.link(seller, headers=KEY)).json()
    folder = shop.settings.gateway_data_dir
    on_disk = b"".join(path.read_bytes() for path in folder.glob("gateway.sqlite3*"))
    assert link["token"].encode() in on_disk
    assert link["cancel_secret"].encode() not in on_disk


def patient(database: dict[str, Any]) -> dict[str, Any]:
    """Return settings with which no caller has to retry while the first call is at work."""
    return {**database, "idempotency_wait": 200}


async def test_callers_at_once_get_one_link(tmp_path: Path, database: dict[str, Any]) -> None:
    """Two gateways over one database: one executes, the others send its answer (P-ID-05)."""
    async with gateway(tmp_path, **patient(database)) as one, gateway(tmp_path, **patient(database)) as other:
        tenant = await one.tenant()
        answers = await asyncio.gather(*(shop.link(tenant, headers=KEY) for shop in (one, other) for _ in range(10)))
        assert {201} == {answer.status_code for answer in answers}
        assert len({answer.content for answer in answers}) == 1
        assert len([answer for answer in answers if "Idempotent-Replayed" not in answer.headers]) == 1


async def test_callers_at_once_get_one_resource(tmp_path: Path, database: dict[str, Any]) -> None:
    """No caller gets the error that the name is taken by the resource that the first call of its own key has made."""
    async with gateway(tmp_path, **patient(database)) as one, gateway(tmp_path, **patient(database)) as other:
        headers = (await one.tenant()).headers(**KEY)
        calls = [shop.http.post(RESOURCES, json=RESOURCE, headers=headers) for shop in (one, other) for _ in range(10)]
        answers = await asyncio.gather(*calls)
        assert {201} == {answer.status_code for answer in answers}
        assert len({answer.content for answer in answers}) == 1


async def test_different_bodies_at_once_make_one_link(tmp_path: Path, database: dict[str, Any]) -> None:
    """The one that came first is executed, the other is in conflict with it."""
    async with gateway(tmp_path, **patient(database)) as one, gateway(tmp_path, **patient(database)) as other:
        tenant = await one.tenant()
        calls = [
            shop.link(tenant, amount=amount, headers=KEY)
            for shop in (one, other)
            for amount in (1, 2)
            for _ in range(3)
        ]
        answers = await asyncio.gather(*calls)
        contents = {answer.content for answer in answers if answer.status_code == 201}
        assert len(contents) == 1
        for answer in answers:
            if answer.status_code != 201:
                expect_refusal(answer, 409, "idempotency_conflict")


async def sent_again(shop: Gateway, tenant: Tenant) -> httpx.Response:
    """Send the same call until the answer no longer says to wait."""
    async with asyncio.timeout(200):
        while (answer := await shop.link(tenant, headers=KEY)).status_code == 409:
            expect_refusal(answer, 409, "idempotency_in_progress")
    return answer


async def test_a_first_call_that_does_not_end_is_409_after_the_wait(tmp_path: Path) -> None:
    """The caller may send the same again (P-ID-05); nothing was created twice then."""
    async with gateway(tmp_path, idempotency_wait=2) as shop:
        tenant = await shop.tenant()
        lock = sqlite3.connect(shop.settings.gateway_data_dir / "gateway.sqlite3", isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        answer = await shop.link(tenant, headers=KEY)
        expect_refusal(answer, 409, "idempotency_in_progress")
        assert answer.headers["Retry-After"] == "1"
        lock.execute("ROLLBACK")
        lock.close()
        again = await sent_again(shop, tenant)
        assert again.status_code == 201
        replayed_or_first = await shop.link(tenant, headers=KEY)
        assert again.content == replayed_or_first.content


@pytest.mark.postgres
async def test_the_first_call_of_a_key_is_waited_for_inside_the_database(
    tmp_path: Path, postgres_database: str
) -> None:
    """A worker that holds the key but has not ended makes others wait, and its death frees the key (P-ID-05)."""
    async with gateway(tmp_path, gateway_db=postgres_database, idempotency_wait=2) as shop:
        tenant = await shop.tenant()
        with psycopg.connect(postgres_database) as worker:
            worker.execute(
                "INSERT INTO gateway_answers (tenant_id, method, path, key, body_hash, status, sealed_body, expires_at)"
                " VALUES (%s, 'POST', %s, 'order-1', 'x', 201, 'x', 9999999999)",
                (tenant.id, LINKS),
            )
            expect_refusal(await shop.link(tenant, headers=KEY), 409, "idempotency_in_progress")
            worker.rollback()
        assert (await sent_again(shop, tenant)).status_code == 201


async def test_a_window_that_is_over_is_swept(tmp_path: Path) -> None:
    """What is over is dropped when the gateway starts and each minute, so the table does not grow for ever."""
    async with gateway(tmp_path) as shop:
        await shop.link(await shop.tenant(), headers=KEY)
        file = shop.settings.gateway_data_dir / "gateway.sqlite3"
    connection = sqlite3.connect(file)
    count = "SELECT count(*) FROM gateway_answers"
    assert connection.execute(count).fetchone() == (1,)
    connection.execute("UPDATE gateway_answers SET expires_at = 1")
    connection.commit()
    async with gateway(tmp_path):
        for _ in range(6000):
            if connection.execute(count).fetchone() == (0,):
                break
            await asyncio.sleep(0.01)
    assert connection.execute(count).fetchone() == (0,)
    connection.close()


async def as_admin(shop: Gateway, path: str, body: Any = None, key: str | None = "once") -> httpx.Response:
    """Carry out a creating call as an administrator."""
    headers = {"Authorization": f"Bearer {shop.admin_key}"} | ({} if key is None else {"Idempotency-Key": key})
    return await shop.http.post(f"/internal/tenants{path}", json=body, headers=headers)


@pytest.mark.parametrize("at_once", [False, True])
async def test_what_administrators_create_is_created_once_a_key(
    tmp_path: Path, database: dict[str, Any], at_once: bool
) -> None:
    """Tenants, keys and destinations, and their rotations: one is made, and each call gets its answer."""
    url = "https://93.184.216.34/hooks"
    async with gateway(tmp_path, **database) as shop:
        tenant = (await as_admin(shop, "", {"name": "a"})).json()
        place = f"/{tenant['tenant_id']}"
        destination = (await as_admin(shop, f"{place}/webhooks", {"url": f"{url}/1"}, None)).json()["destination_id"]
        spare = (await as_admin(shop, f"{place}/api-keys", {"mode": "test"}, None)).json()["key_id"]
        calls: list[tuple[str, Any]] = [
            ("", {"name": "b"}),
            (f"{place}/api-keys", {"mode": "test"}),
            (f"{place}/api-keys/{spare}/rotate", None),
            (f"{place}/webhooks", {"url": f"{url}/2"}),
            (f"{place}/webhooks/{destination}/rotate", None),
        ]
        before = await shop.internal("GET", place)
        for path, body in calls:
            asked = [as_admin(shop, path, body, "two") for _ in range(3)]
            answers = await asyncio.gather(*asked) if at_once else [await one for one in asked]
            assert [answer.status_code for answer in answers] == [201] * 3, answers[0].text
            assert len({answer.content for answer in answers}) == 1, path
            assert sum("Idempotent-Replayed" in answer.headers for answer in answers) == 2
        after = await shop.internal("GET", place)
        assert len(after["keys"]) == len(before["keys"]) + 2
        assert len(after["destinations"]) == 2
        expect_refusal(
            await as_admin(shop, f"{place}/webhooks", {"url": f"{url}/3"}, "two"), 409, "idempotency_conflict"
        )
        expect_refusal(await as_admin(shop, "", {"name": "c"}, "two words"), 400, "invalid_request")


async def test_what_is_in_the_way_of_an_administrator_is_answered_anew(shop: Gateway, seller: Tenant) -> None:
    """A refusal is not kept (P-ID-06); without a key each call makes its own."""
    path = f"/{seller.id}/api-keys"
    expect_refusal(await as_admin(shop, path, {"mode": "live"}), 422, "kyb_required_for_mainnet", network=None)
    await shop.internal("POST", f"/{seller.id}/kyc", {"status": "approved"})
    assert (await as_admin(shop, path, {"mode": "live"})).status_code == 201
    made = [await as_admin(shop, path, {"mode": "test"}, None) for _ in range(2)]
    assert len({answer.json()["key_id"] for answer in made}) == 2
    expect_refusal(await as_admin(shop, f"/{seller.id}/api-keys/%00/rotate"), 404, "not_found")
