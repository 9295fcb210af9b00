"""Payments that counted for nothing: seen, and noted as given back, after which nothing is paid by them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from reference.gateway.checkout.link_settlement import TransferUsed
from reference.protocol.link_payment import LinkState
from reference.store.link_payments import Payment, PaymentState, UnmatchedPayment
from tests.reference.gateway.checkout.conftest import NETWORKS, START, Bench, both_databases

ALGORAND, BASE, SOLANA = NETWORKS
pytestmark = both_databases


async def list_unmatched(bench: Bench, state: PaymentState) -> list[UnmatchedPayment]:
    """Return what is listed of a state."""
    return list(await bench.settling.payments.list_unmatched("t-1", state))


@pytest.mark.parametrize("network", NETWORKS)
async def test_a_payment_of_too_little_is_listed_and_its_link_waits(bench: Bench, network: str) -> None:
    """Once, whether the link is active or over; nothing for dust of nothing, nor for one without the memo."""
    link, chain = await bench.link(network), bench.chains[network]
    chain.pay(1, bench.memo(link), values=(0,))
    chain.pay(2, "weldproof:another", values=(5,))
    short = chain.pay(3, bench.memo(link), values=(7,))
    for _ in range(2):
        await bench.rounds()
    assert await bench.state(link) == LinkState.ACTIVE
    (entry,) = await list_unmatched(bench, PaymentState.SHORT)
    assert (entry.payment.tx_id, entry.payment.value, entry.link.id, entry.refund_tx_id) == (short, 7, link.id, None)
    tx_id_of_payment = chain.pay(4, bench.memo(link))
    await bench.rounds()
    assert (await bench.settling.status(link)).tx_id == tx_id_of_payment
    later = chain.pay(5, bench.memo(link), values=(8,))
    await bench.rounds()
    assert {entry.payment.tx_id for entry in await list_unmatched(bench, PaymentState.SHORT)} == {short, later}
    assert await list_unmatched(bench, PaymentState.LATE) == []


async def test_what_was_given_back_pays_nothing_any_more(bench: Bench) -> None:
    """Noted once; a reorganisation that moves it into time does not pay the link by it."""
    link, chain = await bench.link(BASE), bench.chains[BASE]
    bench.advance(601)
    tx_id = chain.pay(1, bench.memo(link))
    transaction = await chain.lane.observe(tx_id)
    await bench.settling.note_late(link, tx_id, transaction)
    (late,) = await list_unmatched(bench, PaymentState.LATE)
    payments = bench.settling.payments
    assert await payments.record_refund(late.payment, "0xback", now=START)
    assert not await payments.record_refund(late.payment, "0xagain", now=START)
    (entry,) = await list_unmatched(bench, PaymentState.LATE)
    assert (entry.refund_tx_id, entry.refunded_at) == ("0xback", START)
    assert await payments.count_unmatched() == {("refunded", BASE): 1}
    transfers = replace(transaction, final=True, block_time=link.expires_at)
    with pytest.raises(TransferUsed):
        await bench.settling.pay(link, tx_id, transfers)
    assert await bench.state(link) == LinkState.ACTIVE


async def test_of_a_payment_and_its_refund_one_comes_first(bench: Bench) -> None:
    """Both at one moment, many times: the link is paid and nothing was given back, or the other way round."""
    payments, chain = bench.settling.payments, bench.chains[BASE]
    for number in range(8):
        link = await bench.link(BASE)
        tx_id = chain.pay(number, bench.memo(link))
        transaction = replace(await chain.lane.observe(tx_id), final=True, block_time=link.expires_at)
        await bench.settling.note_late(link, tx_id, transaction)
        (late,) = [one for one in await list_unmatched(bench, PaymentState.LATE) if one.link.id == link.id]
        acts = [bench.settling.pay(link, tx_id, transaction), payments.record_refund(late.payment, "0xback", now=START)]
        outcomes = await asyncio.gather(*(acts if number % 2 else reversed(acts)), return_exceptions=True)
        is_paid = any(isinstance(one, Payment) for one in outcomes)
        is_given_back = any(one is True for one in outcomes)
        assert is_paid is not is_given_back, outcomes
        assert await bench.state(link) == (LinkState.PAID if is_paid else LinkState.ACTIVE)
