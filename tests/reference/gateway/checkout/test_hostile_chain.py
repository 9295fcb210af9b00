"""What strangers write on a chain, and how nodes report it, delays no payment (3.5)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from reference.gateway.checkout.watcher import UNREADABLE_SECONDS
from reference.lanes.payment_search import Head, SearchResult
from reference.protocol.observed_transaction import AuthorizationUsed
from tests.reference.gateway.checkout.conftest import NETWORKS, START, Bench, both_databases

ALGORAND, BASE, SOLANA = NETWORKS


@both_databases
@pytest.mark.parametrize("name", ["\0", "a\0b", "x" * 1_000, "é", "", " ", "../x"])
async def test_a_memo_that_is_no_token_harms_nobody(bench: Bench, name: str) -> None:
    """A memo in the service's form that names no token, or a text that a database refuses, pays no link."""
    link, chain = await bench.link(), bench.chains[ALGORAND]
    chain.pay(1, bench.settings.word.memo(name))
    chain.pay(2, bench.memo(link))
    await bench.rounds(ALGORAND)
    assert await bench.state(link) == "paid"


async def test_a_stranger_s_contract_names_no_link(bench: Bench) -> None:
    """A use of an authorization that another contract reports is not looked up: it could report thousands."""
    link, chain = await bench.link(BASE), bench.chains[BASE]
    transaction = chain.transfer((bench.memo(link),))
    uses = tuple(replace(one, asset="0x" + "9" * 40) for one in transaction.authorizations_used)
    assert isinstance(uses[0], AuthorizationUsed)
    assert await bench.settling.find_bound_links(BASE, replace(transaction, authorizations_used=uses)) == []
    assert [one.id for one in await bench.settling.find_bound_links(BASE, transaction)] == [link.id]


async def test_a_transaction_that_the_node_cannot_tell_of_holds_no_other_up(bench: Bench) -> None:
    """What lies beside it and behind it is paid; until it is read nothing expires, and once it is, it pays."""
    chain = bench.chains[SOLANA]
    first, other_link = await bench.link(SOLANA), await bench.link(SOLANA)
    chain.unreadable = {chain.pay(1, bench.memo(first))}
    chain.pay(2, bench.memo(other_link))
    bench.advance(601)
    await bench.rounds(SOLANA)
    assert (await bench.state(first), await bench.state(other_link)) == ("active", "paid")
    chain.unreadable = set()
    bench.advance(60)
    await bench.rounds(SOLANA)
    assert await bench.state(first) == "paid"


async def test_a_transaction_that_stays_unreadable_is_given_up(bench: Bench) -> None:
    """It is asked for less and less often, and after an hour no link waits for it any longer."""
    chain, link = bench.chains[BASE], await bench.link(BASE)
    chain.unreadable = {chain.pay(1, bench.memo(link))}
    await bench.rounds(BASE)
    count_before = chain.asked
    await bench.rounds(BASE)
    assert chain.asked - count_before == 2, "the head and the search alone"
    bench.advance(700)
    await bench.rounds(BASE)
    assert await bench.state(link) == "active"
    bench.advance(UNREADABLE_SECONDS)
    await bench.rounds(BASE)
    assert await bench.state(link) == "expired"


async def test_a_head_that_wobbles_is_no_other_chain(bench: Bench) -> None:
    """Behind an address there may be several nodes: one that lags by a block does not restart the search."""
    chain, link = bench.chains[ALGORAND], await bench.link()
    await bench.rounds(ALGORAND)
    chain.position -= 1
    await bench.rounds(ALGORAND)
    assert chain.started == [START]
    chain.pay(1, bench.memo(link))
    await bench.rounds(ALGORAND)
    assert await bench.state(link) == "paid"


async def test_looks_at_once_forget_an_address_together(bench: Bench) -> None:
    """A payout address without waiting links is dropped by one search while another one runs."""
    link = await bench.link()
    deleted_destination = await bench.link(pay_to="ELSEWHERE", expires_at=START + 1)
    await bench.rounds(ALGORAND)
    bench.advance(100)
    await bench.rounds(ALGORAND)
    assert await bench.state(deleted_destination) == "expired"
    bench.advance(400)
    await bench.link()
    bench.now += 2_000
    watcher = bench.watchers[ALGORAND]
    await asyncio.gather(watcher.search_now(link), watcher.search_now(link), watcher.run_round())
    assert await bench.state(link) == "expired"


@both_databases
async def test_a_reorganisation_may_turn_a_late_payment_into_one_in_time(bench: Bench) -> None:
    """A transfer that was listed as late and is in an earlier block now pays its link, and is late no longer."""
    chain, link = bench.chains[BASE], await bench.link(BASE)
    tx_id = chain.tx_id(1)
    late = chain.transfer((bench.memo(link),), block_time=link.expires_at + 1)
    await bench.settling.note_late(link, tx_id, late)
    assert [one.tx_id for one in await bench.payments("late")] == [tx_id]
    async with asyncio.timeout(120):
        await bench.settling.pay(link, tx_id, replace(late, block_time=link.expires_at))
    assert [one.tx_id for one in await bench.payments("paid")] == [tx_id]
    assert await bench.payments("late") == []


async def test_much_traffic_at_one_address_lets_others_through(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the search of one address takes its time, another one's payment is seen."""
    busy, link = await bench.link(pay_to="BUSY"), await bench.link()
    chain, watcher = bench.chains[ALGORAND], bench.watchers[ALGORAND]
    chain.pay(1, bench.memo(link))
    lane, is_held = chain.lane, asyncio.Event()
    find = lane.finder.find

    async def slow(address: str, after: int, head: Head) -> SearchResult:
        if address == busy.pay_to:
            await is_held.wait()
        return await find(address, after, head)

    monkeypatch.setattr(watcher._lane, "find", slow)
    round_task = asyncio.create_task(watcher.run_round())
    async with asyncio.timeout(120):
        while await bench.state(link) == "active":  # noqa: ASYNC110 - the database sends no signal
            await asyncio.sleep(0.01)
    is_held.set()
    await round_task
    assert (await bench.state(link), await bench.state(busy)) == ("paid", "active")


@pytest.mark.parametrize("after", ["find", "read_head"])
async def test_a_payment_that_leaves_the_pool_during_a_look_is_seen(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    """A payer that closes the page while the payment goes from the pool into a block learns that it is paid."""
    link, chain = await bench.link(), bench.chains[ALGORAND]
    tx_id = chain.tx_id(1)
    chain.pool = {tx_id: chain.transfer((bench.memo(link),))}
    watcher = bench.watchers[ALGORAND]
    original = getattr(watcher._lane.finder, after)

    async def mine_meanwhile(*given: Any) -> Any:
        result = await original(*given)
        if chain.pool:
            chain.mine(1, chain.pool.pop(tx_id))
        return result

    monkeypatch.setattr(watcher._lane.finder, after, mine_meanwhile)
    await watcher.search_now(link)
    assert await bench.state(link) == "paid"
