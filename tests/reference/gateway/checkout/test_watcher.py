"""The watcher: sees what pays, lets expire what is over, and loses nothing (3.5)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from reference.gateway.checkout.watcher import GRACE_SECONDS
from reference.lanes.lane import ChainUnavailable
from reference.protocol.link_payment import LinkEnding
from reference.protocol.observed_transaction import TxStatus
from reference.store.link_payments import PaymentState
from reference.store.used_transfers import SOME_TRANSFER, UsedBy, build_use
from tests.reference.gateway.checkout.conftest import NETWORKS, START, Bench, both_databases
from tests.reference.gateway.checkout.scripted_chain import AMOUNT

ALGORAND, BASE, SOLANA = NETWORKS


@pytest.mark.parametrize("network", NETWORKS)
async def test_a_bound_payment_pays_its_link_and_no_other(bench: Bench, network: str) -> None:
    """The link whose memo a payment carries is paid, with the payment in the ledger; its neighbour stays active."""
    link, other_link = await bench.link(network), await bench.link(network)
    tx_id = bench.chains[network].pay(1, bench.memo(link))
    await bench.rounds()
    assert (await bench.state(link), await bench.state(other_link)) == ("paid", "active")
    (payment,) = await bench.payments()
    assert (payment.link_id, payment.tx_id, payment.ordinal, payment.value) == (link.id, tx_id, 1, 8_410_000)
    assert (payment.block_time, payment.state, payment.reversed_at) == (START, PaymentState.PAID, None)
    status = await bench.settling.status(link)
    assert status.members() == {"status": "paid", "redirect_url": None, "tx_id": tx_id}


@pytest.mark.parametrize("network", NETWORKS)
async def test_a_payment_that_is_not_final_waits(bench: Bench, network: str) -> None:
    """Until its block is final nothing is paid; then it is."""
    chain, link = bench.chains[network], await bench.link(network)
    chain.confirmations = 3
    chain.pay(1, bench.memo(link))
    for expected_state in ("active", "active", "paid"):
        await bench.rounds(network)
        assert await bench.state(link) == expected_state
        chain.mine()


async def test_a_payment_that_is_undone_before_it_is_final_pays_nothing(bench: Bench) -> None:
    """A reorganisation before finality leaves the link active, and a later payment counts."""
    chain, link = bench.chains[BASE], await bench.link(BASE)
    chain.confirmations = 3
    undone_tx_id = chain.pay(1, bench.memo(link))
    await bench.rounds(BASE)
    chain.undo(undone_tx_id)
    chain.mine()
    chain.mine()
    await bench.rounds(BASE)
    assert await bench.state(link) == "active"
    chain.pay(2, bench.memo(link))
    chain.mine()
    chain.mine()
    await bench.rounds(BASE)
    assert await bench.state(link) == "paid"


async def test_wrong_payments_leave_a_link_active(bench: Bench) -> None:
    """Too little, another asset, or a failed transaction pays nothing, and nothing is listed as late."""
    link, chain = await bench.link(SOLANA), bench.chains[SOLANA]
    memo = bench.memo(link)
    chain.pay(1, memo, values=(8_409_999,))
    right = chain.transfer((memo,))
    chain.mine(2, replace(right, transfers=(replace(right.transfers[0], asset="x"),)))
    chain.mine(3, replace(right, status=TxStatus.FAILED))
    chain.pay(4)
    chain.pay(5, memo + "x")
    await bench.rounds()
    assert await bench.state(link) == "active"
    assert await bench.payments("late") == []


@both_databases
async def test_one_transaction_may_pay_several_links(bench: Bench) -> None:
    """Each of two transfers under two memos pays one link, by the amounts asked where they fit exactly."""
    dear, cheap = await bench.link(SOLANA, amount_microunits=9_000_000), await bench.link(SOLANA)
    bench.chains[SOLANA].pay(1, bench.memo(cheap), bench.memo(dear), values=(9_000_000, 8_410_000))
    await bench.rounds()
    payments_by_link = {one.link_id: one.ordinal for one in await bench.payments()}
    assert payments_by_link == {dear.id: 1, cheap.id: 3}


@both_databases
async def test_one_transfer_pays_one_link(bench: Bench) -> None:
    """Two memos over a single transfer: one link is paid, the other stays active (P-CK-08)."""
    links = [await bench.link(SOLANA), await bench.link(SOLANA)]
    bench.chains[SOLANA].pay(1, *map(bench.memo, links))
    await bench.rounds()
    assert sorted([await bench.state(link) for link in links]) == ["active", "paid"]
    await bench.rounds()
    assert len(await bench.payments()) == 1


@both_databases
async def test_what_bought_a_call_pays_no_link(bench: Bench) -> None:
    """A transfer that a rail on this database has sold a call for leaves the link active, and the next one pays it."""
    link, chain = await bench.link(SOLANA), bench.chains[SOLANA]
    tx_id = chain.pay(1, bench.memo(link))
    await bench.database.change_all(build_use(SOLANA, tx_id, 1, UsedBy.CALL, "7", now=START))
    await bench.rounds()
    assert await bench.state(link) == "active"
    assert await bench.payments("late") == []
    chain.pay(2, bench.memo(link))
    await bench.rounds()
    assert await bench.state(link) == "paid"


async def test_of_a_call_of_before_what_names_an_account_is_taken(bench: Bench) -> None:
    """Where the ledger does not tell which transfer bought a call, one that names nothing may still pay a link."""
    chain = bench.chains[SOLANA]
    for number, accounts, expected_state in ((1, ("own",), "active"), (2, (), "paid")):
        link = await bench.link(SOLANA)
        transaction = chain.transfer((bench.memo(link),))
        named_transfer = replace(transaction.transfers[0], accounts=accounts)
        tx_id = chain.mine(number, replace(transaction, transfers=(named_transfer,)))
        await bench.database.change_all(build_use(SOLANA, tx_id, SOME_TRANSFER, UsedBy.CALL, str(number), now=START))
        await bench.rounds()
        assert await bench.state(link) == expected_state


async def test_a_memo_of_another_gateway_has_its_own_transfer(bench: Bench) -> None:
    """Beside a memo that this gateway does not know, a link takes what stands at its own place alone."""
    chain = bench.chains[SOLANA]
    for number, (before, values, expected_state) in enumerate(
        ((False, (AMOUNT,), "paid"), (True, (AMOUNT,), "active"), (True, (AMOUNT, AMOUNT), "paid")), 1
    ):
        link = await bench.link(SOLANA)
        memos = [bench.memo(link), "weldproof:elsewhere"]
        chain.pay(number, *(memos[::-1] if before else memos), values=values)
        await bench.rounds()
        assert await bench.state(link) == expected_state, number
        paid_link = [one.ordinal for one in await bench.payments() if one.link_id == link.id]
        assert paid_link == ([] if expected_state == "active" else [1 + 2 * before])


async def test_a_link_expires_after_its_last_second(bench: Bench) -> None:
    """In its last second a link is active; once the chain has passed it, it is expired."""
    link = await bench.link()
    bench.advance(600)
    await bench.rounds()
    assert await bench.state(link) == "active"
    bench.advance(1)
    await bench.rounds()
    assert await bench.state(link) == "expired"


async def test_a_payment_of_the_last_second_is_seen_at_the_last_look(bench: Bench) -> None:
    """What is in a block of the expiry's second pays, though it is looked for only afterwards."""
    link = await bench.link()
    bench.advance(600)
    bench.chains[ALGORAND].pay(1, bench.memo(link))
    bench.advance(300)
    await bench.rounds()
    assert await bench.state(link) == "paid"


async def test_a_chain_that_stands_still_is_not_waited_for(bench: Bench) -> None:
    """Without a new block a link expires a little later all the same."""
    link = await bench.link()
    bench.now += 600 + GRACE_SECONDS + bench.settings.skew_seconds - 1
    await bench.rounds()
    assert await bench.state(link) == "active"
    bench.now += 1
    await bench.rounds()
    assert await bench.state(link) == "expired"


async def test_a_link_of_a_worker_whose_clock_is_behind_is_watched(bench: Bench) -> None:
    """It says that it was made before this watcher looked last, and its payment is seen all the same."""
    await bench.rounds()
    bench.advance(2)
    link = await bench.link(created_at=int(bench.now) - 60)
    bench.chains[ALGORAND].pay(1, bench.memo(link))
    bench.advance(2)
    await bench.rounds()
    assert await bench.state(link) == "paid"


async def test_no_link_expires_while_the_clock_is_in_doubt(bench: Bench) -> None:
    """Whatever time it is said to be; a payment made meanwhile is seen."""
    link, paid_link = await bench.link(), await bench.link()
    bench.clock.question("no chain confirms it")
    bench.chains[ALGORAND].pay(1, bench.memo(paid_link))
    bench.advance(5_000)
    await bench.rounds()
    assert (await bench.state(link), await bench.state(paid_link)) == ("active", "paid")
    bench.clock.confirm()
    await bench.rounds()
    assert await bench.state(link) == "expired"


@pytest.mark.parametrize("seconds", [5_000, 500_000])
async def test_no_link_expires_by_the_time_of_a_doubt_that_ends_meanwhile(bench: Bench, seconds: int) -> None:
    """A look that began while the clock was wrong, and ends when it is right again: the link can still be paid."""
    link, paid_link = await bench.link(BASE), await bench.link(BASE)
    chain = bench.chains[BASE]
    chain.pay(1, bench.memo(paid_link))
    await bench.rounds(BASE)
    bench.clock.question("no chain confirms it")

    def right_again() -> None:
        bench.now = START + 10
        bench.clock.confirm()

    bench.now += seconds
    chain.meanwhile = right_again
    await bench.rounds(BASE)
    assert await bench.state(link) == "active"
    chain.meanwhile = lambda: None
    late = await bench.link(BASE, created_at=START + 10)
    chain.pay(2, bench.memo(late))
    chain.undo(chain.tx_id(1))
    bench.advance(20)
    await bench.rounds(BASE)
    assert await bench.state(late) == "paid"
    assert [one.reversed_at is not None for one in await bench.payments() if one.link_id == paid_link.id] == [True]


async def test_a_payment_on_its_way_holds_an_expiring_link(bench: Bench) -> None:
    """A payment in time that is not final keeps the link active until it is final."""
    chain, link = bench.chains[BASE], await bench.link(BASE)
    chain.confirmations = 4
    chain.pay(1, bench.memo(link))
    bench.advance(700)
    await bench.rounds(BASE)
    assert await bench.state(link) == "active"
    chain.mine()
    chain.mine()
    await bench.rounds(BASE)
    assert await bench.state(link) == "paid"


async def test_a_payment_on_its_way_that_vanishes_lets_the_link_expire(bench: Bench) -> None:
    """Once what held the link is gone, it expires."""
    chain, link = bench.chains[BASE], await bench.link(BASE)
    chain.confirmations = 4
    tx_id = chain.pay(1, bench.memo(link))
    bench.advance(700)
    await bench.rounds(BASE)
    chain.undo(tx_id)
    await bench.rounds(BASE)
    assert await bench.state(link) == "expired"


async def test_a_wrong_payment_on_its_way_holds_nothing(bench: Bench) -> None:
    """One that would not pay, or is in a block after the expiry, does not keep a link active."""
    chain = bench.chains[BASE]
    little, late = await bench.link(BASE), await bench.link(BASE)
    chain.confirmations = 4
    chain.pay(1, bench.memo(little), values=(1,))
    bench.advance(601)
    chain.pay(2, bench.memo(late))
    bench.advance(1)
    await bench.rounds(BASE)
    assert (await bench.state(little), await bench.state(late)) == ("expired", "expired")


async def test_a_link_waits_for_a_chain_that_is_away(bench: Bench) -> None:
    """Expiry needs one look at the chain: until then the link is active, and what came in time pays."""
    paid_link, unpaid = await bench.link(), await bench.link()
    chain = bench.chains[ALGORAND]
    chain.pay(1, bench.memo(paid_link))
    chain.away = True
    bench.advance(5_000)
    with pytest.raises(ChainUnavailable):
        await bench.rounds(ALGORAND)
    assert (await bench.state(paid_link), await bench.state(unpaid)) == ("active", "active")
    chain.away = False
    await bench.rounds(ALGORAND)
    assert (await bench.state(paid_link), await bench.state(unpaid)) == ("paid", "expired")


async def test_nothing_expires_before_the_search_has_reached_the_head(bench: Bench) -> None:
    """A search that goes in steps ends no link until it has seen everything."""
    chain = bench.chains[ALGORAND]
    paid_link, unpaid = await bench.link(), await bench.link()
    await bench.rounds(ALGORAND)
    chain.reach = 10
    for _ in range(25):
        chain.mine()
    chain.pay(1, bench.memo(paid_link))
    bench.advance(5_000)
    states = []
    for _ in range(3):
        await bench.rounds(ALGORAND)
        states.append((await bench.state(paid_link), await bench.state(unpaid)))
    assert states == [("active", "active"), ("active", "active"), ("paid", "expired")]


async def test_nothing_expires_while_a_transaction_does_not_tell_what_it_is(bench: Bench) -> None:
    """One that searches list and the node does not know yet may be the payment."""
    chain, link = bench.chains[SOLANA], await bench.link(SOLANA)
    tx_id = chain.pay(1, bench.memo(link))
    chain.deaf = {tx_id}
    bench.advance(700)
    await bench.rounds(SOLANA)
    assert await bench.state(link) == "active"
    for _ in range(100):
        chain.mine()
    await bench.rounds(SOLANA)
    chain.deaf = set()
    await bench.rounds(SOLANA)
    assert await bench.state(link) == "paid"


@both_databases
async def test_a_restart_loses_nothing(bench: Bench) -> None:
    """What happened while no worker ran is found by the next one, however far the chain has gone."""
    link = await bench.link()
    await bench.rounds()
    bench.chains[ALGORAND].pay(1, bench.memo(link))
    for _ in range(500):
        bench.chains[ALGORAND].mine()
    await bench.worker(ALGORAND).run_round()
    assert await bench.state(link) == "paid"
    assert len(bench.chains[ALGORAND].started) == 1, "the position was kept"


async def test_a_search_begins_at_the_oldest_link(bench: Bench) -> None:
    """Without a kept position the search starts before the oldest link that waits there, whichever link asks first."""
    await bench.link(SOLANA)
    bench.now += 100
    newer = await bench.link(SOLANA)
    await bench.watchers[SOLANA].search_now(newer)
    assert bench.chains[SOLANA].started == [START]


async def test_a_chain_that_went_back_is_searched_anew(bench: Bench) -> None:
    """When the head lies before the position, the chain is another one and is searched from the links' time on."""
    chain, link = bench.chains[ALGORAND], await bench.link()
    await bench.rounds(ALGORAND)
    chain.position = 40
    chain.pay(1, bench.memo(link))
    await bench.rounds(ALGORAND)
    assert await bench.state(link) == "paid"


async def test_an_address_that_nobody_waits_at_is_forgotten(bench: Bench) -> None:
    """A chain is asked nothing without links, and its position is forgotten."""
    link, chain = await bench.link(), bench.chains[ALGORAND]
    await bench.rounds()
    assert await bench.settling.payments.positions() == {(ALGORAND, link.pay_to): 100}
    bench.advance(700)
    await bench.rounds()
    bench.advance(1_001)
    await bench.rounds()
    count_before = chain.asked
    await bench.rounds()
    assert chain.asked == count_before
    assert await bench.settling.payments.positions() == {}


async def test_idle_links_cost_the_chain_nothing_more(bench: Bench) -> None:
    """A hundred links at one address are one search."""
    await bench.link()
    await bench.rounds(ALGORAND)
    before = bench.chains[ALGORAND].asked
    await bench.rounds(ALGORAND)
    cost = bench.chains[ALGORAND].asked - before
    for _ in range(100):
        await bench.link()
    await bench.rounds(ALGORAND)
    assert bench.chains[ALGORAND].asked - before == 2 * cost


async def test_what_was_read_once_is_not_asked_for_again(bench: Bench) -> None:
    """A final transaction is looked at once, also while it stays within reach of searches."""
    chain, link = bench.chains[SOLANA], await bench.link(SOLANA)
    chain.pay(1, bench.memo(link))
    chain.pay(2)
    await bench.rounds(SOLANA)
    before = chain.asked
    await bench.rounds(SOLANA)
    assert chain.asked - before <= 3


@both_databases
async def test_several_workers_do_no_harm(bench: Bench) -> None:
    """Ten workers that see the same payments at once note each one once."""
    links = [await bench.link(SOLANA) for _ in range(5)]
    for number, link in enumerate(links):
        bench.chains[SOLANA].pay(number, bench.memo(link))
    await asyncio.gather(*(bench.worker(SOLANA).run_round() for _ in range(10)))
    assert sorted(one.link_id for one in await bench.payments()) == sorted(link.id for link in links)
    assert await bench.payments("late") == []


@both_databases
async def test_cancelling_and_paying_at_once_ends_a_link_once(bench: Bench) -> None:
    """The first of the two decides; a payment that came second is late."""
    link = await bench.link(SOLANA)
    bench.chains[SOLANA].pay(1, bench.memo(link))
    is_cancelled, _ = await asyncio.gather(
        bench.settling.end(link, LinkEnding.CALLED_OFF), bench.worker(SOLANA).run_round()
    )
    await bench.rounds(SOLANA)
    state = await bench.state(link)
    assert state == ("cancelled" if is_cancelled else "paid")
    assert len(await bench.payments("paid")) == (0 if is_cancelled else 1)
