"""What tenants show of themselves, and what they were paid, on both databases."""

from __future__ import annotations

import asyncio

import pytest

from reference.protocol.service_word import ServiceWord
from reference.store.database import Database
from reference.store.link_payments import Payment, Payments, PaymentState
from reference.store.links import Link, Links, Price
from reference.store.merchants import Merchant, Merchants
from reference.store.received_payments import ReceivedPayments, Total
from reference.store.tenants import ApiKey, Tenant, Tenants

NOW = 1_800_000_000
ALGORAND, BASE = "algorand_testnet", "base_mainnet"


@pytest.fixture
async def merchants(database: Database) -> Merchants:
    """Two tenants that show nothing yet."""
    tenants, new_merchants = Tenants(database), Merchants(database)
    await tenants.prepare()
    await new_merchants.prepare()
    for name in ("a", "b"):
        key = ApiKey(f"k-{name}", name, "test", name * 64, NOW)
        await tenants.add(Tenant(name, name, "trial", "trial", NOW, NOW), key)
    return new_merchants


async def test_what_a_tenant_shows_is_replaced_as_a_whole(merchants: Merchants) -> None:
    """Name, contact and addresses together, in their order, the logo apart; the other tenant's stay."""
    nothing = Merchant(tenant_name="a")
    assert (await merchants.get("a"), await merchants.get("nobody")) == (nothing, Merchant())
    await merchants.save("b", "B", ("https://b.example/",))
    addresses = ("https://two.example/", "https://one.example/")
    await merchants.save("a", "A", addresses, "a@shop.example")
    await merchants.save_logo("a", "d" * 64, b"one\x00")
    assert await merchants.get("a") == Merchant("A", "d" * 64, addresses, "a@shop.example", "a")
    await merchants.save_logo("a", "e" * 64, b"two\xff")
    assert (await merchants.logo("d" * 64), await merchants.logo("e" * 64)) == (None, b"two\xff")
    await merchants.save("a", "", ())
    await merchants.delete_logo("a")
    assert await merchants.get("a") == nothing
    assert await merchants.get("b") == Merchant("B", None, ("https://b.example/",), tenant_name="b")


async def test_two_who_save_at_once_leave_what_one_of_them_saved(merchants: Merchants) -> None:
    """Never a mixture, and neither is refused."""
    savings = [(f"N{number}", tuple(f"https://n{number}.example/{at}" for at in range(3))) for number in range(6)]
    await asyncio.gather(*(merchants.save("a", name, addresses) for name, addresses in savings))
    result = await merchants.get("a")
    assert (result.name, result.addresses) in savings


async def add_payment(database: Database, tenant: str, number: int, network: str, amount: int, seen_at: int) -> Payment:
    """Make a link and the payment that paid it."""
    links, payments = Links(database, ServiceWord()), Payments(database)
    link = Link(
        *(f"l-{number}", tenant, f"token-{number}", network, amount, "payee", f"Order {number}", None),
        *("c" * 64, seen_at, seen_at + 60),
    )
    await links.add(link, Price("1", "USDC", "1"))
    payment = Payment(
        *(f"p-{number}", link.id, tenant, network, f"tx-{number}", 0, PaymentState.PAID, amount, "payer"),
        *(seen_at, seen_at),
    )
    await database.change_all(payments.build_insert(payment, recheck_at=None))
    return payment


async def test_a_tenant_sees_its_own_payments_alone(database: Database) -> None:
    """In a list, one by one, and in the totals; what the chain has undone counts for nothing."""
    await Links(database, ServiceWord()).prepare()
    takings = ReceivedPayments(database)
    mine = [await add_payment(database, "a", number, ALGORAND, 10**15 + number, NOW + number) for number in range(3)]
    mine.append(await add_payment(database, "a", 3, BASE, 7, NOW + 3))
    other_payment = await add_payment(database, "b", 9, BASE, 1_000, NOW)
    first = await takings.list_page("a", most=3)
    second = await takings.list_page("a", most=3, after=first[-1].payment.id)
    assert [one.payment for one in (*first, *second)] == mine[::-1]
    assert first[0].link.label == "Order 3"
    assert await takings.find("a", other_payment.id) is None
    result = await takings.find("b", other_payment.id)
    assert result is not None
    assert result.payment == other_payment
    await Payments(database).record_recheck(mine[0], reversed_at=NOW, recheck_at=None)
    assert await takings.totals("a", since=NOW + 2) == [
        Total(ALGORAND, 2, 2 * 10**15 + 3, 10**15 + 2),
        Total(BASE, 1, 7, 7),
    ]
    assert await takings.totals("c", since=0) == []
