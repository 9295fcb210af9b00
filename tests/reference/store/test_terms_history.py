"""Which terms were in force when, over restarts and workers, on both databases (P-CH-13)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from reference.protocol.challenge import Generation, Terms
from reference.store.database import Database
from reference.store.redemptions import Redemptions
from reference.store.terms_history import Generations

OLD = Terms("algorand_mainnet", "algorand:x", "31566704", "10000", "PAYEE")
NEW = replace(OLD, amount="20000")


@pytest.fixture
async def generations(database: Database, ledger: Redemptions) -> Generations:
    """The generations of an empty database."""
    del ledger
    return Generations(database)


async def test_terms_are_in_force_from_their_start(generations: Generations) -> None:
    """Put in force once or on every restart: one generation, without an end."""
    for now in (100, 200, 300):
        await generations.put_in_force({"service": (OLD,)}, now=now)
    assert await generations.load_since(since=0) == (Generation(OLD, 100, None),)


async def test_new_terms_close_the_old_ones(generations: Generations) -> None:
    """Both are known while tokens of the old ones can live; then only the new ones."""
    await generations.put_in_force({"service": (OLD,)}, now=100)
    await generations.put_in_force({"service": (NEW,)}, now=200)
    assert set(await generations.load_since(since=200)) == {Generation(OLD, 100, 200), Generation(NEW, 200, None)}
    assert await generations.load_since(since=561) == (Generation(NEW, 200, None),)


async def test_services_have_terms_of_their_own(generations: Generations) -> None:
    """A change of one service's price closes nothing of another's."""
    await generations.put_in_force({"one": (OLD,), "two": (OLD,)}, now=100)
    await generations.put_in_force({"one": (NEW,), "two": (OLD,)}, now=200)
    assert set(await generations.load_since(since=561)) == {Generation(OLD, 100, None), Generation(NEW, 200, None)}


async def test_workers_that_start_at_once_agree(generations: Generations) -> None:
    """The same terms put in force by many workers in one second are in force from that second."""
    await asyncio.gather(*(generations.put_in_force({"service": (OLD,)}, now=100) for _ in range(8)))
    history = await generations.load_since(since=0)
    assert any(one.terms == OLD and one.since == 100 and one.until is None for one in history)


async def test_two_changes_in_one_second_are_both_in_force(generations: Generations) -> None:
    """Tokens that were issued in the very second of a change stay redeemable, whichever terms they are of."""
    for terms in (OLD, NEW, OLD):
        await generations.put_in_force({"service": (terms,)}, now=100)
    history = await generations.load_since(since=0)
    assert all(any(one.terms == terms and one.in_force(100) for one in history) for terms in (OLD, NEW))
    assert any(one.terms == OLD and one.until is None for one in history)


async def test_the_last_to_put_terms_in_force_decides(generations: Generations) -> None:
    """The clocks do not decide: replaced terms are reported as superseded until the same terms are in force again."""
    await generations.put_in_force({"service": (OLD,)}, now=200)
    await generations.put_in_force({"service": (NEW,)}, now=100)  # by a clock that is behind
    assert await generations.is_superseded({"service": (OLD,)})
    assert not await generations.is_superseded({"service": (NEW,)})
    await generations.put_in_force({"service": (OLD,)}, now=150)
    assert not await generations.is_superseded({"service": (OLD,)})
    assert await generations.is_superseded({"service": (NEW,)})
    history = await generations.load_since(since=0)
    assert all(any(one.terms == terms and one.in_force(200) for one in history) for terms in (OLD, NEW))


async def test_workers_of_different_terms_that_start_at_once(database: Database, generations: Generations) -> None:
    """One of them has its terms in force, as every worker sees it, and each token of each is known."""
    offers = [replace(OLD, amount=str(amount)) for amount in range(1, 7)]
    await asyncio.gather(*(Generations(database).put_in_force({"service": (one,)}, now=100) for one in offers))
    are_in_force = [not await generations.is_superseded({"service": (one,)}) for one in offers]
    assert are_in_force.count(True) == 1
    history = await generations.load_since(since=0)
    assert {one.terms for one in history} == set(offers)
    assert [one.terms for one in history if one.until is None] == [offers[are_in_force.index(True)]]


async def test_other_services_and_lanes_supersede_nobody(generations: Generations) -> None:
    """A worker that offers less, or something else besides, leaves the others their terms."""
    elsewhere = replace(NEW, network="base_mainnet")
    await generations.put_in_force({"service": (OLD,)}, now=100)
    await generations.put_in_force({"other": (NEW,), "service": (elsewhere,)}, now=200)
    assert not await generations.is_superseded({"service": (OLD,)})


async def test_what_was_read_lately_is_at_hand_for_a_second(
    generations: Generations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing before the first read, nothing from further back than was read, and nothing when the second is over."""
    now = [1_000.0]
    monkeypatch.setattr("reference.store.terms_history.time", SimpleNamespace(monotonic=lambda: now[0]))
    await generations.put_in_force({"service": (OLD,)}, now=100)
    assert generations.get_cached(since=200) == ()
    history = await generations.load_since(since=200)
    now[0] += 0.9
    assert [generations.get_cached(since=since) for since in (199, 200, 300)] == [(), history, history]
    now[0] += 0.1
    assert generations.get_cached(since=200) == ()
