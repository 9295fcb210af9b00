"""A transfer is used once, by whatever sells on a database, on both databases (decision record 0045)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import delete, select

from reference.protocol.service_word import ServiceWord
from reference.protocol.weld import Payment
from reference.store.checkout_tables import payments
from reference.store.database import Database, DuplicateKey
from reference.store.link_payments import Payment as LinkPayment
from reference.store.link_payments import Payments, PaymentState
from reference.store.links import Links
from reference.store.redemption_rows import NewClaim, Redemption
from reference.store.redemptions import Redemptions
from reference.store.used_transfers import SOME_TRANSFER, UsedBy, build_use, unavailable_to_links, used_transfers

NETWORK = "solana_mainnet"
CLAIM = NewClaim("token", "chain|tx", "sha256:r", "service", NETWORK, "tx", "10000", "PAYEE", 2_000)
PAID = LinkPayment("p", "link", "tenant", NETWORK, "tx", 2, PaymentState.PAID, 1, "PAYER", 1_000, 2**40)


async def insert_claim(ledger: Redemptions, number: int = 0) -> Redemption:
    """Return a claim row."""
    new = replace(CLAIM, token=f"t{number}", payment_key=f"chain|tx{number}")
    row = await ledger.claim(new, worker="w", now=1_000, order=number)
    assert row is not None
    return row


async def list_used(database: Database) -> list[tuple[object, ...]]:
    """Return what is used, by place."""
    columns = used_transfers.c
    rows = await database.rows(select(columns.tx_id, columns.ordinal, columns.used_by).order_by(columns.ordinal))
    return [tuple(row) for row in rows]


async def test_a_transfer_is_used_by_a_call_or_a_link(database: Database, ledger: Redemptions) -> None:
    """Of a claim and several links that want one transfer at once, one has it; another transfer beside is free."""
    links = [build_use(NETWORK, "tx", 2, UsedBy.LINK, f"link{n}", now=1_000) for n in range(8)]

    async def link(number: int) -> bool:
        try:
            await database.change_all(links[number])
        except DuplicateKey:
            return False
        return True

    async def call() -> bool:
        row = await insert_claim(ledger)
        return await ledger.mark_paid(row, Payment("P", "tx", ordinal=2), worker="w", now=1_001) is not None

    outcomes = await asyncio.gather(call(), *map(link, range(8)))
    assert sum(outcomes) == 1
    await database.change_all(build_use(NETWORK, "tx", 3, UsedBy.LINK, "link", now=1_000))
    assert [row[:2] for row in await list_used(database)] == [("tx", 2), ("tx", 3)]


async def test_a_claim_that_is_not_marked_uses_nothing(database: Database, ledger: Redemptions) -> None:
    """What another worker holds, or another payment has bought, leaves the transfer free."""
    row, rival = await insert_claim(ledger), await insert_claim(ledger, 1)
    assert await ledger.mark_paid(row, Payment("P", "tx", ordinal=2), worker="another", now=1_001) is None
    assert await list_used(database) == []
    assert await ledger.mark_paid(row, Payment("P", "tx", ordinal=2), worker="w", now=1_001) is not None
    assert await ledger.mark_paid(rival, Payment("P", "tx", ordinal=2), worker="w", now=1_001) is None
    after = await ledger.get(rival.id)
    assert after is not None
    assert after.paid_at is None
    assert await list_used(database) == [("tx", 2, "call")]
    assert await unavailable_to_links(database, NETWORK, "tx") == [2]


async def test_what_was_sold_before_is_listed_once(database: Database, ledger: Redemptions) -> None:
    """Rows of before the table was kept are taken up when a surface starts, by any number of workers at once."""
    links = Links(database, ServiceWord())
    await links.prepare()
    for number in range(3):
        payment = Payment("P", f"tx{number}", f"chain|{number}|1" if number == 2 else None)
        assert await ledger.mark_paid(await insert_claim(ledger, number), payment, worker="w", now=1_001) is not None
    await insert_claim(ledger, 3)
    payments_store = Payments(database)
    late = replace(PAID, id="q", state=PaymentState.LATE, ordinal=4)
    await database.change_all(
        payments_store.build_insert(PAID, recheck_at=None), payments_store.build_insert(late, recheck_at=None)
    )
    await database.change(delete(used_transfers))
    await asyncio.gather(
        *(one.prepare() for one in (ledger, links, Redemptions(database), Links(database, ServiceWord())))
    )
    expectation = [("tx0", SOME_TRANSFER, "call"), ("tx1", SOME_TRANSFER, "call"), ("tx", 2, "link")]
    assert sorted(map(str, await list_used(database))) == sorted(map(str, expectation))


async def test_what_is_listed_is_not_listed_again(database: Database, ledger: Redemptions) -> None:
    """A start finds what was sold since the table is kept in it, by its own place."""
    await Links(database, ServiceWord()).prepare()
    assert (
        await ledger.mark_paid(await insert_claim(ledger), Payment("P", "tx", ordinal=2), worker="w", now=1_001)
        is not None
    )
    await ledger.prepare()
    assert await list_used(database) == [("tx", 2, "call")]


async def test_a_late_transfer_that_bought_a_call_is_nobody_s(database: Database, ledger: Redemptions) -> None:
    """It is not listed among those that a tenant may give back."""
    await Links(database, ServiceWord()).prepare()
    payments_store = Payments(database)
    await payments_store.note(replace(PAID, state=PaymentState.LATE))
    assert len(await payments_store.of_tenant("tenant", "late")) == 1
    assert (
        await ledger.mark_paid(await insert_claim(ledger), Payment("P", "tx", ordinal=2), worker="w", now=1_001)
        is not None
    )
    assert await payments_store.of_tenant("tenant", "late") == []
    assert len(await database.rows(select(payments.c.id))) == 1


@pytest.mark.parametrize("ordinal", [1, 3])
async def test_another_place_is_another_transfer(database: Database, ledger: Redemptions, ordinal: int) -> None:
    """A link takes what stands beside the transfer that bought a call."""
    row = await insert_claim(ledger)
    assert await ledger.mark_paid(row, Payment("P", "tx", ordinal=2), worker="w", now=1_001) is not None
    await database.change_all(build_use(NETWORK, "tx", ordinal, UsedBy.LINK, "link", now=1_000))
