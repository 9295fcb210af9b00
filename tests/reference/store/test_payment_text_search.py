"""Search of payments, on both databases: what text and days select, page by page, of one tenant alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from reference.protocol.eip3009 import nonce_of
from reference.protocol.service_word import ServiceWord
from reference.store import received_payments as takings_module
from reference.store.database import Database
from reference.store.link_payments import Payment, Payments, PaymentState
from reference.store.links import Link, Links
from reference.store.payment_text_search import PaymentSearch
from reference.store.received_payments import ReceivedPayments

NOW = 1_800_000_000
LINK = Link("l", "t-1", "t", "base_sepolia", 8_410_000, "0x1", "Order", None, "0" * 64, NOW, NOW + 60)
PAID = Payment("p", "l", "t-1", LINK.network, "0xa", 0, PaymentState.PAID, 8_410_000, "0xPayer", NOW, NOW)


@pytest.fixture
async def stocked_database(database: Database) -> Database:
    """A database with three payments of one tenant, and the same three of another."""
    links, payments = Links(database, ServiceWord()), Payments(database)
    await links.prepare()
    for tenant in ("t-1", "t-2"):
        for number, label in enumerate(("Order 100%", "Tea_pot \\ Äther", "order 1000")):
            name = f"{tenant}-{number}"
            link = replace(
                LINK, id=f"link-{name}", tenant_id=tenant, token=f"Token{name}", pay_to=f"0xShop{name}", label=label
            )
            payments_by_link = replace(PAID, id=f"pay-{name}", link_id=link.id, tenant_id=tenant, tx_id=f"0xTx{name}")
            payments_by_link = replace(
                payments_by_link, payer=f"0xPayer{name}", block_time=NOW + number * 100, seen_at=NOW + number * 100 + 5
            )
            await database.change_all(
                links.build_insert(link), payments.build_insert(payments_by_link, recheck_at=None)
            )
            late = replace(payments_by_link, id=f"late-{name}", tx_id=f"0xLate{name}", state=PaymentState.LATE)
            assert await payments.note(late)
    return database


async def search_payments(database: Database, search: PaymentSearch) -> tuple[list[int], list[int]]:
    """Return the numbers of the paid and of the late payments that a search of the first tenant finds."""
    payments = [one.payment for one in await ReceivedPayments(database).list_page("t-1", most=50, search=search)]
    late = [one.payment for one in await Payments(database).list_unmatched("t-1", PaymentState.LATE, search=search)]
    assert {one.tenant_id for one in [*payments, *late]} <= {"t-1"}
    return _numbers(payments), _numbers(late)


def _numbers(payments: Sequence[Payment]) -> list[int]:
    return sorted(int(one.id[-1]) for one in payments)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("ORDER", [0, 2]),
        ("order 100", [0, 2]),
        ("100%", [0]),
        ("%", [0]),
        ("_", [1]),
        ("\\", [1]),
        ("Äther", [1]),
        ("link-t-1-2", [2]),
        ("tokent-1-1", [1]),
        ("0xshopT-1-0", [0]),
        ("0xpayert-1-2", [2]),
        ("' OR '1'='1", []),
        ("') --", []),
        ("t-2", []),
        (":text", []),
        ("?", []),
    ],
)
async def test_a_text_is_looked_for_as_it_is(stocked_database: Database, text: str, numbers: list[int]) -> None:
    """In label, ids, addresses, transactions and memos; wildcards, quotes and parameters are text like any other."""
    assert await search_payments(stocked_database, PaymentSearch(text=text, memo=text)) == (numbers, numbers)


async def test_a_payment_is_found_by_its_id_and_transaction(stocked_database: Database) -> None:
    """Each by its own; the link's nonce, which is the memo of an EVM transfer, finds both."""
    assert await search_payments(stocked_database, PaymentSearch(text="pay-t-1-1", memo="")) == ([1], [])
    assert await search_payments(stocked_database, PaymentSearch(text="0xlatet-1-1", memo="x")) == ([], [1])
    nonce = nonce_of(ServiceWord().memo("Tokent-1-2"))
    assert await search_payments(stocked_database, PaymentSearch(text=nonce.upper().replace("0X", "0x"))) == ([2], [2])


async def test_the_transaction_that_gave_money_back_finds_its_payment(stocked_database: Database) -> None:
    """It is one of the transactions of a payment that counted for no link."""
    payments = Payments(stocked_database)
    payment = await payments.find_unmatched("late-t-1-2")
    assert payment is not None
    assert await payments.record_refund(payment, "0xBack", now=NOW)
    assert await search_payments(stocked_database, PaymentSearch(text="0xback", memo="0xback")) == ([], [2])


@pytest.mark.parametrize(
    ("since", "until", "numbers"),
    [
        (None, None, [0, 1, 2]),
        (NOW, NOW + 100, [0]),
        (NOW + 1, None, [1, 2]),
        (None, NOW, []),
        (NOW + 999_999, None, []),
    ],
)
async def test_days_select_by_the_time_of_the_block(
    stocked_database: Database, since: int | None, until: int | None, numbers: list[int]
) -> None:
    """The first moment belongs to them, the last does not; a text and days select together."""
    assert await search_payments(stocked_database, PaymentSearch(since=since, until=until)) == (numbers, numbers)
    search = PaymentSearch(text="order", memo="order", since=since, until=until)
    assert (await search_payments(stocked_database, search))[0] == [one for one in numbers if one != 1]


async def test_a_search_reads_a_limited_part_and_continues(
    stocked_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rows at a time: the third payment is found behind the second, and then nothing is left to read."""
    monkeypatch.setattr(takings_module, "SCAN_ROWS", 2)
    takings, search = ReceivedPayments(stocked_database), PaymentSearch(text="100%", memo="100%")
    assert list(await takings.list_page("t-1", most=50, search=search)) == []
    last = await takings.last_scanned("t-1", after=None, search=search)
    assert last == "pay-t-1-1"
    (one,) = await takings.list_page("t-1", most=50, after=last, search=search)
    assert one.payment.id == "pay-t-1-0"
    assert await takings.last_scanned("t-1", after=last, search=search) is None
    assert (
        list(await takings.list_page("t-2", most=50, after=last, search=PaymentSearch(text="link-t-1", memo="x"))) == []
    )
