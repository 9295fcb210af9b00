"""GET /metrics of the gateway: for who has the token, and for everybody else not there."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from reference.store.database import DatabaseUnavailable
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.link_payments import Payments
from tests.reference.gateway.checkout.checkout_shop import checkout_shop
from tests.reference.gateway.checkout.conftest import START
from tests.reference.gateway.dashboard.test_dashboard_lists import listed_late

NETWORK = "algorand_testnet"


def read_metrics(answer: httpx.Response) -> dict[str, float]:
    """Return what is measured: `name` or `name state`, of one network."""
    assert answer.status_code == 200, answer.text
    return {
        " ".join([one.name.removeprefix("weldproof_gateway_"), *filter(None, [one.labels.get("state")])]): one.value
        for family in text_string_to_metric_families(answer.text)
        for one in family.samples
        if one.labels.get("network", NETWORK) == NETWORK
    }


async def test_what_counted_for_nothing_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Late, short, given back; a database that does not answer is shown in a metric, and is not an error."""
    token_file = tmp_path / "token"
    async with checkout_shop(tmp_path, now=int(time.time()), metrics_token_file=token_file) as shop:
        right = {"Authorization": f"Bearer {token_file.read_text('ascii')}"}
        metrics = read_metrics(await shop.http.get("/metrics", headers=right))
        expected = {"clock_in_doubt": 0, "store_up": 1, "outbox_overdue_seconds": 0} | {
            f"payments {one}": 0 for one in ("late", "short", "surplus", "other_asset", "ambiguous", "refunded")
        }
        expected |= {"outbox_deliveries pending": 0, "outbox_deliveries sending": 0}
        assert {name: metrics.get(name) for name in expected} == expected
        tenant = await shop.tenant()
        link = await shop.on(NETWORK, tenant)
        database = open_database(sqlite_dsn(tmp_path / "data" / "gateway.sqlite3"))
        late = [await listed_late(shop, link, letter * 52) for letter in "12"]
        payment = await Payments(database).find_unmatched(late[0], tenant_id=tenant.id)
        assert payment is not None
        assert await Payments(database).record_refund(payment, "3" * 52, now=START)
        await database.close()
        metrics = read_metrics(await shop.http.get("/metrics", headers=right))
        assert (metrics["payments late"], metrics["payments refunded"]) == (1, 1)

        async def away(_: Payments) -> None:
            raise DatabaseUnavailable("away")

        monkeypatch.setattr(Payments, "count_unmatched", away)
        metrics = read_metrics(await shop.http.get("/metrics", headers=right))
        assert (metrics["clock_in_doubt"], metrics["store_up"]) == (0, 0)
        assert not [name for name in metrics if name.startswith(("payments", "outbox"))]


@pytest.mark.parametrize("settings", [{}, {"metrics_token_file": True}, {"gateway_role": "edge"}])
async def test_without_the_token_it_is_not_there(tmp_path: Path, settings: dict[str, Any]) -> None:
    """Switched off, with a wrong token, at an edge host: the answer of any unknown path."""
    options: dict[str, Any] = {name: tmp_path / "token" if one is True else one for name, one in settings.items()}
    async with checkout_shop(tmp_path, now=START, **options) as shop:
        for headers in ({}, {"Authorization": "Bearer " + "A" * 43}):
            answers = [await shop.http.get(path, headers=headers) for path in ("/metrics", "/metric")]
            told = [{name: one for name, one in answer.json().items() if name != "request_id"} for answer in answers]
            assert (answers[0].status_code, told[0]) == (answers[1].status_code, told[1])
            assert answers[0].status_code == 404
