"""Payments that come late, and payments that the chain takes back (P-CK-10, reorganisation after paid)."""

from __future__ import annotations

import asyncio

import pytest

from reference.protocol.link_payment import LINK, LinkEnding
from tests.reference.gateway.checkout.conftest import NETWORKS, Bench, both_databases

ALGORAND, BASE, SOLANA = NETWORKS


@pytest.mark.parametrize("network", NETWORKS)
async def test_a_second_payment_is_listed_as_late(bench: Bench, network: str) -> None:
    """A link that is paid stays so; what comes after is listed with its transaction, amount, payer and link, once."""
    link, chain = await bench.link(network), bench.chains[network]
    first = chain.pay(1, bench.memo(link))
    await bench.rounds()
    second = chain.pay(2, bench.memo(link), values=(9_000_000,))
    await bench.rounds()
    await bench.worker(network).run_round()
    assert (await bench.settling.status(link)).tx_id == first
    (late,) = await bench.payments("late")
    assert (late.tx_id, late.value, late.link_id) == (second, 9_000_000, link.id)
    assert late.payer == chain.transfer(()).sender


@pytest.mark.parametrize("ending", [LinkEnding.CALLED_OFF, LinkEnding.TIME_OVER])
async def test_a_payment_for_a_link_that_is_over_changes_nothing(bench: Bench, ending: LinkEnding) -> None:
    """Cancelled and expired links stay so; the payment is listed as late."""
    link = await bench.link()
    await bench.rounds()
    await bench.settling.end(link, ending)
    tx_id = bench.chains[ALGORAND].pay(1, bench.memo(link))
    await bench.rounds()
    assert await bench.state(link) == LINK.end(ending)
    assert [one.tx_id for one in await bench.payments("late")] == [tx_id]
    assert await bench.payments("paid") == []


async def test_a_block_after_the_expiry_is_late(bench: Bench) -> None:
    """A payment in a block of the next second pays nothing, though the link was active when it was seen."""
    link = await bench.link()
    bench.advance(601)
    tx_id = bench.chains[ALGORAND].pay(1, bench.memo(link))
    await bench.rounds()
    assert await bench.state(link) == "expired"
    assert [one.tx_id for one in await bench.payments("late")] == [tx_id]


async def test_wrong_payments_for_a_link_that_is_over_are_nobodys(bench: Bench) -> None:
    """Without the memo, or with too little, nothing is listed."""
    link = await bench.link(SOLANA)
    await bench.settling.end(link, LinkEnding.CALLED_OFF)
    bench.chains[SOLANA].pay(1, "weldproof:another")
    bench.chains[SOLANA].pay(2, bench.memo(link), values=(1,))
    await bench.rounds()
    assert await bench.payments("late") == []


@both_databases
async def test_a_transfer_that_pays_another_link_is_not_late(bench: Bench) -> None:
    """Under two memos a single transfer pays the link that is active, and is not refunded."""
    over, active = await bench.link(SOLANA), await bench.link(SOLANA)
    await bench.settling.end(over, LinkEnding.CALLED_OFF)
    bench.chains[SOLANA].pay(1, bench.memo(over), bench.memo(active))
    await bench.rounds()
    assert await bench.state(active) == "paid"
    assert await bench.payments("late") == []


async def test_late_payments_are_watched_for_a_while(bench: Bench) -> None:
    """An address is searched until its last link has been over for WP_LATE_WATCH_SECONDS."""
    link, chain = await bench.link(), bench.chains[ALGORAND]
    await bench.settling.end(link, LinkEnding.CALLED_OFF)
    bench.advance(1_000)
    transaction = chain.pay(1, bench.memo(link))
    await bench.rounds()
    bench.advance(1)
    chain.pay(2, bench.memo(link))
    await bench.rounds()
    assert [one.tx_id for one in await bench.payments("late")] == [transaction]


@pytest.mark.parametrize("network", [BASE, SOLANA])
async def test_a_reorganisation_after_paid_is_noted(bench: Bench, network: str) -> None:
    """The link stays paid; the ledger says that the payment was reversed, and when."""
    link, chain = await bench.link(network), bench.chains[network]
    tx_id = chain.pay(1, bench.memo(link))
    await bench.rounds()
    chain.undo(tx_id)
    bench.advance(3)
    noted_at = int(bench.now)
    await bench.rounds()
    (payment,) = await bench.payments()
    assert (payment.reversed_at, await bench.state(link)) == (noted_at, "paid")
    assert await bench.settling.find_payment(link) is None, "a payment that the chain has undone is not attested"
    bench.advance(20)
    await bench.rounds()
    assert (await bench.payments())[0].reversed_at == noted_at, "the first time that it was seen"


@both_databases
async def test_a_payment_that_comes_back_with_enough_pays(bench: Bench) -> None:
    """A reorganisation may change what a transaction moves: what was noted as short does not stand in its way."""
    link, chain = await bench.link(BASE), bench.chains[BASE]
    tx_id = chain.pay(1, bench.memo(link), values=(7,))
    await bench.rounds()
    assert [one.tx_id for one in await bench.payments("short")] == [tx_id]
    chain.undo(tx_id)
    assert chain.pay(1, bench.memo(link)) == tx_id
    async with asyncio.timeout(60):
        await bench.settling.pay(link, tx_id, chain.placed[tx_id].seen)
    assert await bench.state(link) == "paid"
    assert await bench.payments("short") == []


@both_databases
async def test_a_payment_that_comes_back_is_no_longer_reversed(bench: Bench) -> None:
    """The chain's last word counts."""
    link, chain = await bench.link(BASE), bench.chains[BASE]
    tx_id = chain.pay(1, bench.memo(link))
    await bench.rounds()
    chain.undo(tx_id)
    bench.advance(3)
    await bench.rounds()
    assert (await bench.payments())[0].reversed_at is not None
    assert chain.pay(1, bench.memo(link)) == tx_id
    bench.advance(30)
    await bench.rounds()
    assert (await bench.payments())[0].reversed_at is None
    assert await bench.settling.find_payment(link) is not None


async def test_looking_again_ends(bench: Bench) -> None:
    """A payment is looked at again ever more seldom, and not for ever."""
    link, chain = await bench.link(BASE), bench.chains[BASE]
    chain.pay(1, bench.memo(link))
    await bench.rounds()
    looks = 0
    for _ in range(2_000):
        bench.now += 1
        due = await bench.settling.payments.due(BASE, now=int(bench.now))
        looks += len(due)
        for payment in due:
            await bench.watchers[BASE]._recheck_one(payment, int(bench.now))
    assert 5 <= looks <= 15
    assert await bench.settling.payments.due(BASE, now=10**12) == []


async def test_a_round_of_algorand_is_never_undone(bench: Bench) -> None:
    """If finality is instant, there is no second check."""
    link = await bench.link()
    bench.chains[ALGORAND].pay(1, bench.memo(link))
    await bench.rounds()
    assert await bench.settling.payments.due(ALGORAND, now=10**12) == []
    assert await bench.state(link) == "paid"
