"""Long lists in pages, on both databases: each row on one page, the newest first, no row of another tenant."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reference.protocol.link_payment import LinkEnding
from reference.protocol.service_word import ServiceWord
from reference.protocol.webhook_delivery import DeliveryMove, EventType, Outcome
from reference.store.database import Database
from reference.store.deliveries import Attempt, Deliveries, Event
from reference.store.destinations import Destination, Destinations
from reference.store.link_payments import Payment, Payments, PaymentState
from reference.store.links import Link, Links
from reference.store.tenants import ApiKey, Tenant, Tenants

NOW = 1_800_000_000
# Several rows of one second, so that the id decides.
AGES = (0, 1, 1, 1, 2, 3, 3)
LINK = Link("l", "t-1", "t", "base_sepolia", 8_410_000, "0x1", "Order", None, "0" * 64, NOW, NOW + 60)


async def walk_pages(listed: Any, name: str, size: int, **options: Any) -> list[list[str]]:
    """Return the ids of each page."""
    pages: list[list[str]] = []
    after: str | None = None
    while True:
        rows = await listed(most=size, after=after, **options)
        if not rows:
            return pages
        pages.append([str(getattr(getattr(one, "link", one), name)) for one in rows])
        after = pages[-1][-1]


def order_ids(prefix: str) -> list[str]:
    """Return the ids in their order: by age, the newest first, then by id."""
    return [f"{prefix}-{number}" for number, _ in sorted(enumerate(AGES), key=lambda one: (-one[1], one[0]))]


@pytest.mark.parametrize("size", [1, 2, 7, 50])
async def test_tenants(database: Database, size: int) -> None:
    """Every tenant once."""
    tenants = Tenants(database)
    await tenants.prepare()
    for number, age in enumerate(AGES):
        one = Tenant(f"t-{number}", "shop", "trial", "trial", NOW + age, NOW + 99)
        await tenants.add(one, ApiKey(f"k-{number}", one.id, "test", f"{number:064x}", NOW))
    pages = await walk_pages(tenants.list_page, "id", size)
    assert [one for page in pages for one in page] == order_ids("t")
    assert {len(page) for page in pages[:-1]} <= {size}
    assert await tenants.list_page(most=5, after="nobody") == []


async def test_links_with_what_became_of_them(database: Database) -> None:
    """Every link of the tenant once, with its state and the payment that paid it; a late payment is not among these."""
    links, payments = Links(database, ServiceWord()), Payments(database)
    await links.prepare()
    for number, age in enumerate(AGES):
        for tenant in ("t-1", "t-2"):
            place = f"{tenant}:{number}" if tenant == "t-2" else f"l-{number}"
            link = replace(LINK, id=place, tenant_id=tenant, token=place, created_at=NOW + age)
            await database.change_all(links.build_insert(link))
    pages = await walk_pages(lambda **asked: links.of_tenant("t-1", **asked), "id", 3)
    assert [one for page in pages for one in page] == order_ids("l")
    payment = Payment("p-1", "l-0", "t-1", LINK.network, "0xa", 0, PaymentState.PAID, 2**70, "0x2", NOW, NOW, NOW + 5)
    end_changes = links.build_end("l-0", LinkEnding.PAYMENT_FINAL, now=NOW, watched_until=NOW)
    await database.change_all(payments.build_insert(payment, recheck_at=None), *end_changes)
    late = replace(payment, id="p-2", tx_id="0xb", state=PaymentState.LATE, reversed_at=None)
    assert await payments.note(late)
    (one,) = [one for one in await links.of_tenant("t-1") if one.link.id == "l-0"]
    assert (one.state, one.tx_id, one.reversed_at) == ("paid", "0xa", NOW + 5)
    (entry,) = await payments.list_unmatched("t-1", PaymentState.LATE)
    assert (entry.payment, entry.link.id, entry.link_state) == (late, "l-0", "paid")
    assert list(await payments.list_unmatched("t-2", PaymentState.LATE)) == []


async def test_deliveries_with_their_attempts(database: Database) -> None:
    """Every delivery of the tenant once, each with its own attempts."""
    destinations, deliveries = Destinations(database), Deliveries(database)
    await destinations.prepare()
    for tenant in ("t-1", "t-2"):
        types = (EventType.PAYMENT_CONFIRMED,)
        await destinations.add(Destination(f"d-{tenant}", tenant, "https://a.test/", NOW, None, types), b"x")
    for number, age in enumerate(AGES):
        for tenant in ("t-1", "t-2"):
            event = Event(f"evt_{tenant}{number}", tenant, f"{tenant}{number}", types[0], NOW + age, b"{}")
            await database.change_all(*deliveries.build_event(event))
    far = (NOW + 99) * 1000
    for claim in await deliveries.claim("d-t-1", now_ms=far, most=99):
        entry = Attempt(1, far, far + 1, Outcome.STATUS, 500)
        await deliveries.finish(claim.id, entry, move=DeliveryMove.GIVEN_UP, failures=1, due_ms=None)
    deliveries_read = list(await deliveries.of_tenant("t-1"))
    pages = await walk_pages(lambda **asked: deliveries.of_tenant("t-1", **asked), "id", 2)
    assert [one for page in pages for one in page] == [one.id for one in deliveries_read]
    assert len(deliveries_read) == len(AGES)
    further = await deliveries.of_tenant("t-1", most=2, after=deliveries_read[1].id)
    assert list(further) == deliveries_read[2:4]
    assert all(len(one.attempts) == 1 for one in further)
