"""/internal: webhook destinations and deliveries (3.9, P-WH-10, P-WH-11, P-AU-02, P-CV-12)."""

from __future__ import annotations

import asyncio
import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from reference.gateway import webhooks
from reference.gateway.settings import GatewaySettings
from reference.gateway.webhooks import Webhooks
from reference.protocol.webhook_delivery import EventType
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.deliveries import Deliveries, Event
from reference.store.destinations import Destinations
from reference.store.webhook_tables import events
from reference.web.clock import WpClock
from tests.reference.gateway.gateway_stack import Gateway, Tenant, expect_refusal, gateway

URL = "http://127.0.0.1:9/hook"
NOBODY = "00000000-0000-4000-8000-000000000000"


async def ask(shop: Gateway, method: str, path: str, body: Any = None, key: str = "") -> Any:
    """Carry out one call as an administrator, whatever its result."""
    headers = {"Authorization": f"Bearer {key or shop.admin_key}"}
    return await shop.http.request(method, f"/internal/tenants{path}", json=body, headers=headers)


async def add(shop: Gateway, seller: Tenant, url: str = URL, **members: Any) -> dict[str, Any]:
    """Add a destination."""
    answer: dict[str, Any] = await shop.internal("POST", f"/{seller.id}/webhooks", {"url": url, **members}, status=201)
    return answer


async def list_destinations(shop: Gateway, seller: Tenant) -> list[dict[str, Any]]:
    """Return a tenant's destinations."""
    entries: list[dict[str, Any]] = (await shop.internal("GET", f"/{seller.id}"))["destinations"]
    return entries


async def test_a_destination_has_a_secret_that_is_shown_once(shop: Gateway, seller: Tenant) -> None:
    """Forty-three characters behind the prefix; the tenant's record shows all but it."""
    answer = await add(shop, seller)
    assert set(answer) == {"destination_id", "secret"}
    assert re.fullmatch(r"weldw_[A-Za-z0-9_-]{43}", answer["secret"])
    (entry,) = await list_destinations(shop, seller)
    assert (entry["destination_id"], entry["url"], entry["events"]) == (
        answer["destination_id"],
        URL,
        ["payment.confirmed"],
    )
    assert entry["rotated_at"] is None
    assert set(entry) == {"destination_id", "url", "events", "created_at", "rotated_at"}


async def test_secrets_are_not_in_the_data_directory_in_clear(shop: Gateway, seller: Tenant) -> None:
    """Neither the first nor the one after rotation; in no file, and what is stored differs each time."""
    answer = await add(shop, seller)
    where = f"/{seller.id}/webhooks/{answer['destination_id']}/rotate"
    fresh = await shop.internal("POST", where, status=201)
    assert fresh["secret"] != answer["secret"]
    assert set(fresh) == {"destination_id", "secret"}
    assert (await list_destinations(shop, seller))[0]["rotated_at"] is not None
    files = [path for path in shop.settings.gateway_data_dir.rglob("*") if path.is_file()]
    assert {"gateway.sqlite3", "seal_key"} <= {path.name for path in files}
    for path in files:
        for secret in (answer["secret"], fresh["secret"]):
            assert secret.encode() not in path.read_bytes(), path.name


async def test_a_destination_asks_for_types_of_events(shop: Gateway, seller: Tenant) -> None:
    """Named twice counts once; the order is of no matter."""
    await add(shop, seller, events=["payment.confirmed", "payment.cancelled", "payment.confirmed"])
    assert (await list_destinations(shop, seller))[0]["events"] == ["payment.cancelled", "payment.confirmed"]


@pytest.mark.parametrize(
    "body",
    [
        *({}, {"url": None}, {"url": 1}, {"url": ""}, {"url": "x"}, {"url": "ftp://a.test/"}, {"url": "//a.test/"}),
        *({"url": URL, "events": []}, {"url": URL, "events": ["x"]}, {"url": URL, "events": "payment.confirmed"}),
        *({"url": URL, "events": [1]}, {"url": URL, "events": None}, {"url": "https://u:p@a.test/"}),
        *({"url": "https://a.test/" + "a" * 2048}, {"url": "https://[1.2.3.4]/"}, {"url": "https://a.test/\x00"}),
    ],
    ids=str,
)
async def test_what_is_no_destination_is_unprocessable(shop: Gateway, seller: Tenant, body: Any) -> None:
    """422 with the place of the fault, and nothing is made."""
    answer = await ask(shop, "POST", f"/{seller.id}/webhooks", body)
    expect_refusal(answer, 422, "validation_error")
    assert answer.json()["detail"][0]["loc"][:2] in (["body", "url"], ["body", "events"])
    assert await list_destinations(shop, seller) == []


@pytest.mark.parametrize(
    "url",
    [
        *("https://127.0.0.1/", "https://[::1]/", "https://localhost/", "https://10.0.0.1/", "https://192.168.1.1/"),
        *("https://172.16.0.1/", "https://169.254.169.254/latest/meta-data", "https://100.64.0.1/", "https://0.0.0.0/"),
        *("https://224.0.0.1/", "https://[::ffff:10.0.0.1]/", "https://[64:ff9b::a00:1]/", "https://[64:ff9b:1::1]/"),
        *("https://[2002:a00:1::]/", "https://[2001::1]/", "https://[::10.0.0.1]/", "https://[fc00::1]/"),
        *("https://2130706433/", "https://0x7f000001/", "https://127.1/", "http://1.1.1.1/", URL),
    ],
)
async def test_addresses_that_are_not_public_are_refused(tmp_path: Path, url: str) -> None:
    """At configuration, by 422, where loopback is not allowed; http is refused too."""
    async with gateway(tmp_path, webhook_allow_loopback=False) as shop:
        seller = await shop.tenant("base_sepolia")
        answer = await ask(shop, "POST", f"/{seller.id}/webhooks", {"url": url})
        expect_refusal(answer, 422, "validation_error")
        assert answer.json()["detail"][0]["loc"] == ["body", "url"]
        assert await list_destinations(shop, seller) == []


async def test_a_public_address_is_taken_where_loopback_is_not(tmp_path: Path) -> None:
    """Nothing is sent there to try it."""
    async with gateway(tmp_path, webhook_allow_loopback=False) as shop:
        seller = await shop.tenant("base_sepolia")
        await add(shop, seller, "https://1.1.1.1:8443/h?x=1")
        assert len(await list_destinations(shop, seller)) == 1


async def test_the_tenth_destination_is_refused(shop: Gateway, seller: Tenant) -> None:
    """Nine of twelve at once get in; a deleted one makes room; other tenants have their own nine."""
    path = f"/{seller.id}/webhooks"
    answers = await asyncio.gather(*(ask(shop, "POST", path, {"url": URL}) for _ in range(12)))
    assert sorted(one.status_code for one in answers) == [201] * 9 + [422] * 3
    expect_refusal(next(one for one in answers if one.status_code == 422), 422, "validation_error")
    destinations = await list_destinations(shop, seller)
    assert len(destinations) == 9
    await shop.internal("DELETE", f"{path}/{destinations[4]['destination_id']}", status=204)
    await add(shop, seller)
    expect_refusal(await ask(shop, "POST", path, {"url": URL}), 422, "validation_error")
    await add(shop, await shop.tenant("base_sepolia"))


async def test_nobody_reaches_another_tenants_things(shop: Gateway, seller: Tenant) -> None:
    """Unknown tenants, destinations and deliveries, and those of others, are not there."""
    other_tenant = await shop.tenant("base_sepolia")
    mine = (await add(shop, seller))["destination_id"]
    delivery = f"dlv_{uuid.uuid4().hex}_0"
    for method, path in (
        ("POST", f"/{NOBODY}/webhooks"),
        ("GET", f"/{NOBODY}/deliveries"),
        ("POST", f"/{other_tenant.id}/webhooks/{mine}/rotate"),
        ("DELETE", f"/{other_tenant.id}/webhooks/{mine}"),
        ("POST", f"/{seller.id}/webhooks/{NOBODY}/rotate"),
        ("DELETE", f"/{seller.id}/webhooks/{NOBODY}"),
        ("POST", f"/{seller.id}/deliveries/{delivery}/retry"),
        ("POST", f"/{NOBODY}/deliveries/{delivery}/retry"),
    ):
        expect_refusal(
            await ask(shop, method, path, {"url": URL} if path.endswith("webhooks") else None), 404, "not_found"
        )
    assert len(await list_destinations(shop, seller)) == 1


async def test_these_calls_are_for_administrators_of_tenants(shop: Gateway, seller: Tenant) -> None:
    """A tenant's own key is not accepted."""
    for method, path in (("POST", "webhooks"), ("GET", "deliveries"), ("DELETE", f"webhooks/{NOBODY}")):
        answer = await ask(shop, method, f"/{seller.id}/{path}", {"url": URL}, key=seller.key)
        expect_refusal(answer, 401, "invalid_api_key")


@pytest.mark.parametrize(
    ("given", "schedule"), [("1,2,3", (1, 2, 3)), ("0", (0,)), (" 5 , 6 ", (5, 6)), ("", (30, 120, 600, 3600, 21600))]
)
def test_the_schedule_is_a_list_of_seconds(
    monkeypatch: pytest.MonkeyPatch, given: str, schedule: tuple[int, ...]
) -> None:
    """The default is the profile's (section 9)."""
    monkeypatch.setenv("WP_WEBHOOK_SCHEDULE", given)
    assert GatewaySettings().webhook_schedule == schedule


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("WP_WEBHOOK_SCHEDULE", "30,x"), ("WP_WEBHOOK_SCHEDULE", "-1"), ("WP_WEBHOOK_SCHEDULE", "1.5")),
        *(("WP_WEBHOOK_TIMEOUT", "0"), ("WP_WEBHOOK_V2", "yes"), ("WP_WEBHOOK_ALLOW_LOOPBACK", "1")),
    ],
)
def test_a_wrong_setting_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """The gateway does not start with it."""
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=name.removeprefix("WP_").lower()):
        GatewaySettings()


def test_loopback_is_for_test_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """On there unless it is switched off; live mode refuses the switch and has it off."""
    assert GatewaySettings().loopback_webhooks
    assert not GatewaySettings(webhook_allow_loopback=False).loopback_webhooks
    assert not GatewaySettings(mode="live").loopback_webhooks
    monkeypatch.setenv("WP_WEBHOOK_ALLOW_LOOPBACK", "on")
    with pytest.raises(ValueError, match="WP_WEBHOOK_ALLOW_LOOPBACK"):
        GatewaySettings(mode="live")


@pytest.mark.parametrize(("days", "kept"), [(30, 0), (0, 450)])
async def test_old_events_are_forgotten_in_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int, kept: int
) -> None:
    """By the setting: after so many days, and never where it is 0; more than a batch in one go."""
    settings = GatewaySettings(webhook_keep_days=days)
    database = open_database(sqlite_dsn(tmp_path / "gateway.sqlite3"))
    await Destinations(database).prepare()
    deliveries, now = Deliveries(database), 1_800_000_000.0
    for number in range(450):
        at = int(now) - number % 3
        event = Event(f"evt_{uuid.uuid4()}", NOBODY, str(uuid.uuid4()), EventType.PAYMENT_CONFIRMED, at, b"{}")
        await database.change_all(*deliveries.build_event(event))
    monkeypatch.setattr(webhooks, "FORGET_BATCH", 100)
    clock = WpClock(wall_clock=lambda: now)
    unused: Any = None
    made = Webhooks(settings, clock, unused, unused, deliveries, seal=unused, check=unused)
    await made.forget()
    assert (await database.rows(select(func.count()).select_from(events)))[0][0] == 450
    now += 31 * 86_400
    await made.forget()
    assert (await database.rows(select(func.count()).select_from(events)))[0][0] == kept
    await database.close()
