"""Races inside a redemption, made to happen: a scripted lane, a real ledger, two workers (5.8)."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from reference.lanes.lane import ChainUnavailable
from reference.protocol.keys import from_base64url
from reference.protocol.observed_transaction import ABSENT, TxStatus
from reference.protocol.payment_proof import MinedProof
from reference.protocol.redemption import State
from reference.protocol.weld import Payment
from reference.rail.challenges import Call
from reference.rail.claims import redemption
from reference.rail.claims.fulfilment import PaidAnswer
from reference.rail.claims.leases import LeaseWatch
from reference.rail.claims.presented_proofs import MinedPaymentSource, PresentedProof
from reference.store.database_url import sqlite_dsn
from reference.store.redemption_rows import Redemption
from reference.store.redemptions import Redemptions
from reference.store.terms_history import Generations
from reference.web.clock import WpClock
from tests.reference.rail.scripted_workers import (
    BODY,
    LEASE_SECONDS,
    MINT,
    SERVICE,
    TERMS,
    Bench,
    opened_bench,
    seen_later,
    tx_id,
)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """Two workers, and a chain that shows nothing yet."""
    async with opened_bench(sqlite_dsn(tmp_path / "rail.sqlite3")) as new_bench:
        yield new_bench


async def test_a_payment_is_served_once_whoever_is_asked(bench: Bench) -> None:
    """The other worker finds the stored answer."""
    token = bench.token()
    bench.lane.pay(0, token)
    first = await bench.redeem(0, token)
    again = await bench.redeem(0, token, worker=1)
    assert (first.is_replay, again) == (False, replace(first, is_replay=True))
    assert bench.lane.looks == [tx_id(0)]


async def test_a_claim_evicted_while_at_work_is_served_all_the_same(bench: Bench) -> None:
    """A stranger's flood at the worst moment costs the owner nothing (P-ST-08)."""
    token = bench.token()
    bench.lane.pay(0, token)

    async def evict() -> None:
        row = await bench.row(0, token)
        assert row is not None
        assert await bench.ledger.drop_unpaid(row.id)

    bench.lane.before = evict
    assert not (await bench.redeem(0, token)).is_replay
    row = await bench.row(0, token)
    assert row is not None
    assert row.state is State.SPENT


async def test_a_worker_that_lost_its_lease_waits_for_the_new_one(bench: Bench) -> None:
    """Taken over while it looked at the chain, it neither marks, nor drops, nor calls it spent: it joins."""
    token = bench.token()
    bench.lane.pay(0, token)
    takes: list[asyncio.Task[PaidAnswer]] = []

    async def stall() -> None:
        row = await bench.row(0, token)
        assert row is not None
        await bench.ledger.release(row.id, worker=str(row.lease))
        takes.append(asyncio.create_task(bench.redeem(0, token, worker=1)))
        await asyncio.wait(takes)

    bench.lane.before = stall
    first = await bench.redeem(0, token)
    second = await takes[0]
    assert first.body == second.body
    assert [first.is_replay, second.is_replay] == [True, False]


async def test_a_worker_that_lost_its_lease_after_paying_keeps_no_answer_of_its_own(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers ran the service; one answer is stored, and both send that one."""
    seen_later(monkeypatch)
    token = bench.token()
    bench.lane.pay(0, token)
    spend = Redemptions.spend
    rest_of_them: list[PaidAnswer] = []

    async def late(ledger: Redemptions, row_id: int, *args: Any, **kwargs: Any) -> bool:
        monkeypatch.setattr(Redemptions, "spend", spend)
        rest_of_them.append(await served_by_another(bench, row_id, token))
        return await spend(ledger, row_id, *args, **kwargs)

    monkeypatch.setattr(Redemptions, "spend", late)
    mine = await bench.redeem(0, token)
    assert [mine] == [replace(other, is_replay=True) for other in rest_of_them]


async def served_by_another(bench: Bench, row_id: int, token: str) -> PaidAnswer:
    """Take a row from its worker and have the other one serve it."""
    row = await bench.ledger.get(row_id)
    assert row is not None
    await bench.ledger.release(row_id, worker=str(row.lease))
    return await bench.redeem(0, token, worker=1)


async def test_a_worker_that_lost_its_lease_with_its_answer_made_keeps_none_of_its_own(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same where payment and answer are stored at once: nothing of the loser's is, and both send the winner's."""
    monkeypatch.setattr(WpClock, "seconds", lambda _: 1_800_000_000.0)
    token = bench.token()
    bench.lane.pay(0, token)
    store = Redemptions.mark_paid_and_spend
    rest_of_them: list[PaidAnswer] = []

    async def late(ledger: Redemptions, row: Redemption, *args: Any, **kwargs: Any) -> bool:
        monkeypatch.setattr(Redemptions, "mark_paid_and_spend", store)
        rest_of_them.append(await served_by_another(bench, row.id, token))
        return await store(ledger, row, *args, **kwargs)

    monkeypatch.setattr(Redemptions, "mark_paid_and_spend", late)
    mine = await bench.redeem(0, token)
    assert [mine] == [replace(other, is_replay=True) for other in rest_of_them]


async def test_a_long_look_keeps_its_lease(bench: Bench) -> None:
    """While a worker works, however long, its counter rises and no other worker takes over."""
    token = bench.token()
    bench.lane.pay(0, token)

    async def slow() -> None:
        await asyncio.sleep(LEASE_SECONDS + 1)

    bench.lane.before = slow
    first, second = await asyncio.gather(bench.redeem(0, token), bench.redeem(0, token, worker=1))
    assert first.body == second.body
    assert sorted([first.is_replay, second.is_replay]) == [False, True]
    assert bench.lane.looks == [tx_id(0)]


async def test_a_look_that_the_end_interrupts_leaves_a_claim_that_is_kept_and_free(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node does not answer while the process ends: the next process takes the claim at once, however late."""
    monkeypatch.setattr(redemption, "_FINISH_SECONDS", 0.05)
    token = bench.token()
    bench.lane.pay(0, token)
    asked = asyncio.Event()

    async def hang() -> None:
        asked.set()
        await asyncio.Event().wait()

    bench.lane.before = hang
    call = asyncio.create_task(bench.redeem(0, token))
    await asked.wait()
    await bench.workers[0].finish()
    with pytest.raises(asyncio.CancelledError):
        await call
    row = await bench.row(0, token)
    assert row is not None
    assert (row.lease, row.is_kept, row.state) == (None, True, State.UNPAID)
    assert not (await bench.redeem(0, token, worker=1)).is_replay


async def test_a_service_that_fails_takes_no_payment(bench: Bench) -> None:
    """What comes after the payment is tried before it: 503 and nothing marked, and the claim stays however long."""
    token = bench.token()
    bench.lane.pay(0, token)

    def fail(_request: Any, _bench: Any) -> dict[str, Any]:
        raise ZeroDivisionError

    assert await bench.refusal(0, token, service=replace(SERVICE, execute=fail)) == "answer_unavailable"
    row = await bench.row(0, token)
    assert row is not None
    assert (row.state, row.lease, bool(row.is_kept)) == (State.UNPAID, None, True)
    assert bench.lane.looks == []
    await bench.ledger.forget(unpaid_before=2**40, answers_before=0)
    assert not (await bench.redeem(0, token)).is_replay


@pytest.mark.parametrize("seconds", [0, 1])
async def test_a_service_runs_again_only_for_a_payment_found_in_another_second(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    """What was made before the chain was asked is the answer; a second later it is made again, for its times."""
    now = [1_800_000_000.0]
    monkeypatch.setattr(WpClock, "seconds", lambda _: now[0])
    token = bench.token()
    bench.lane.pay(0, token)
    runs = []

    def count_run(request: Any, context: Any) -> dict[str, Any]:
        runs.append(request)
        return SERVICE.execute(request, context)

    async def pass_by() -> None:
        now[0] += seconds

    bench.lane.before = pass_by
    reply = await bench.workers[0].present(MinedProof(tx_id(0), token, None))
    call = replace(Call.of(SERVICE, BODY, ""), service=replace(SERVICE, execute=count_run))
    second_answer = await bench.workers[0].redeem(reply, call, SERVICE.parse_request(dict(BODY)))
    row = await bench.row(0, token)
    assert row is not None
    assert len(runs) == 1 + seconds
    assert (row.state, row.paid_at, row.spent_at, row.payer) == (State.SPENT, int(now[0]), int(now[0]), "PAYER")
    assert (row.lease, row.answer, row.payment_response) == (None, second_answer.body, second_answer.payment_response)
    assert orjson.loads(base64.b64decode(second_answer.payment_response))["payer"] == "PAYER"
    for receipt in ("payable_receipt", "settlement_attestation"):
        document = orjson.loads(from_base64url(orjson.loads(second_answer.body)[receipt].split(".")[1]))
        assert document.get("issued_at_ms", document.get("settlement_timestamp_ms")) == now[0] * 1000


async def test_a_service_that_fails_after_all_leaves_the_payment_usable(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Step 15: 503, never 500; the row stays paid, and the same proof is served when the fault is gone."""
    seen_later(monkeypatch)
    token = bench.token()
    bench.lane.pay(0, token)
    runs = []

    def fail(request: Any, context: Any) -> dict[str, Any]:
        runs.append(request)
        if len(runs) > 1:
            raise ZeroDivisionError
        return SERVICE.execute(request, context)

    assert await bench.refusal(0, token, service=replace(SERVICE, execute=fail)) == "answer_unavailable"
    row = await bench.row(0, token)
    assert row is not None
    assert (row.state, row.lease) == (State.PAID, None)
    assert not (await bench.redeem(0, token)).is_replay
    assert bench.lane.looks == [tx_id(0)]


async def test_an_unknown_payment_leaves_its_claim_and_a_bad_one_does_not(bench: Bench) -> None:
    """5.8: unknown stays, and is free for the next call; bad is deleted; away stays."""
    token = bench.token()
    assert await bench.refusal(0, token) == "tx_not_found"
    row = await bench.row(0, token)
    assert row is not None
    assert (row.state, row.lease) == (State.UNPAID, None)
    bench.lane.pay(1, bench.token())
    assert await bench.refusal(1, token) == "weld_mismatch"
    assert await bench.row(1, token) is None

    async def away() -> None:
        raise ChainUnavailable

    bench.lane.before = away
    assert await bench.refusal(0, token) == "chain_unavailable"
    assert await bench.row(0, token) is not None
    bench.lane.pay(0, token)
    assert not (await bench.redeem(0, token)).is_replay


async def test_a_node_that_is_behind_knows_of_nothing(bench: Bench) -> None:
    """That a transaction does not exist, it cannot say: 503 and the claim stays. What it shows counts all the same."""
    token = bench.token()
    bench.lane.told.age = 301
    assert await bench.refusal(0, token) == "chain_unavailable"
    row = await bench.row(0, token)
    assert row is not None
    assert row.is_kept
    bench.lane.told.age = 0
    assert await bench.refusal(0, token) == "tx_not_found"
    row = await bench.row(0, token)
    assert row is not None
    assert not row.is_kept
    bench.lane.told.age = 301
    bench.lane.pay(0, token)
    assert not (await bench.redeem(0, token)).is_replay


async def test_the_ninth_claim_evicts_the_oldest_that_is_unknown(bench: Bench) -> None:
    """P-ST-08: pending ones stay though older; the ninth itself is never refused."""
    token = bench.token()
    for number in (0, 1):
        bench.lane.shown[tx_id(number)] = replace(ABSENT, status=TxStatus.PENDING)
    for number in range(8):
        await bench.refusal(number, token)
    await bench.refusal(8, token)
    rows = [await bench.row(number, token) is not None for number in range(9)]
    assert rows == [True, True, False, True, True, True, True, True, True]


async def test_known_claims_are_not_evicted(bench: Bench) -> None:
    """If the chain knows them all, none goes."""
    token = bench.token()
    for number in range(9):
        bench.lane.shown[tx_id(number)] = replace(ABSENT, status=TxStatus.PENDING)
        assert await bench.refusal(number, token) == "tx_not_confirmed"
    assert all([await bench.row(number, token) is not None for number in range(9)])


async def test_two_tokens_for_one_payment_buy_one_call(bench: Bench) -> None:
    """Should two challenges ever fit one transaction, step 14b decides between them."""
    tokens = [bench.token(), bench.token()]
    bench.lane.pay(0, tokens[0])
    assert not (await bench.redeem(0, tokens[0])).is_replay
    bench.lane.pay(0, tokens[1])
    assert await bench.refusal(0, tokens[1]) == "payment_already_spent"


async def test_step_14b_decides_when_both_were_seen(bench: Bench) -> None:
    """Two payments of one token, both seen as good before either was marked: one is served, one is spent elsewhere."""
    token = bench.token()
    bench.lane.pay(0, token)
    bench.lane.pay(1, token)
    faster: list[PaidAnswer] = []

    async def overtaken() -> None:
        faster.append(await bench.redeem(1, token, worker=1))

    bench.lane.before = overtaken
    assert await bench.refusal(0, token) == "payment_already_spent"
    assert await bench.row(0, token) is None
    assert not faster[0].is_replay


async def test_a_transfer_that_was_counted_for_another_claim_is_spent(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Should two authorizations ever fit one transfer: the second is refused, and not tried again without end."""

    async def one_transfer(observer: MinedPaymentSource, proof: PresentedProof, claim: Redemption) -> Payment:
        await observer.lane.observe(proof.tx_id)
        return Payment("PAYER", claim.tx_id, "the very transfer")

    monkeypatch.setattr(MinedPaymentSource, "collect", one_transfer)
    tokens = [bench.token(), bench.token()]
    assert not (await bench.redeem(0, tokens[0])).is_replay
    async with asyncio.timeout(60):
        assert await bench.refusal(1, tokens[1]) == "payment_already_spent"
    assert await bench.row(1, tokens[1]) is None
    assert bench.lane.looks == [tx_id(0), tx_id(1)]


class Ticks:
    """Monotonic time that is moved by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def test_a_lease_runs_out_when_its_counter_stands_still(bench: Bench) -> None:
    """By the time of the one who looks: not at the first look, not after a rise, not a moment too early."""
    token = bench.token()
    await bench.refusal(0, token)
    row = await bench.row(0, token)
    assert row is not None
    ticks = Ticks()
    watch = LeaseWatch(30, ticks)
    assert watch.has_run_out(row)  # no worker holds it
    held = replace(row, lease="somebody")
    looks = []
    for seconds, counter in ((0, 1), (29, 1), (31, 2), (60, 2), (61, 2)):
        ticks.seconds = seconds
        looks.append(watch.has_run_out(replace(held, lease_counter=counter)))
    assert looks == [False, False, False, False, True]


async def test_terms_that_another_worker_has_just_put_in_force_are_known(bench: Bench) -> None:
    """A worker that read the terms a moment ago looks again for a token that fits none of them."""
    first = bench.token()
    bench.lane.pay(0, first)
    assert not (await bench.redeem(0, first)).is_replay
    other = replace(TERMS, amount="1")
    await Generations(bench.database).put_in_force({SERVICE.id: (other,)}, now=WpClock().now())
    request = Call.of(SERVICE, BODY, "").request_hash
    now = WpClock().now()
    token = MINT.token(other, service_id=SERVICE.id, request_hash=request, unix=now, nonce=bytes(8))
    bench.lane.pay(1, token)
    assert not (await bench.redeem(1, token)).is_replay
