"""What an operator does about a payment, against payers who come at that moment: exactly one wins (both databases)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import orjson
import pytest

from reference.lanes.lane import ChainUnavailable
from reference.protocol.redemption import State
from reference.rail.settlement.unserved_payments import PaymentOperations
from reference.rail.signed_answers import Signer
from reference.store.database_url import sqlite_dsn
from reference.store.redemption_rows import Redemption
from reference.store.redemptions import Redemptions
from reference.store.unserved_payments import UnservedPayments, UnservedState
from reference.web.clock import WpClock
from reference.web.operator_commands import NotDone
from tests.reference.rail.scripted_workers import BODY, NETWORK, SERVICE, Bench, opened_bench, seen_later, tx_id

GIVEN_BACK = tx_id(25)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    """Two workers, and a chain that shows nothing yet."""
    is_file = request.param == "sqlite"
    dsn = sqlite_dsn(tmp_path / "rail.sqlite3") if is_file else request.getfixturevalue("postgres_database")
    async with opened_bench(dsn) as new_bench:
        yield new_bench


def desk_of(bench: Bench) -> PaymentOperations:
    """Return an operator's desk over the workers' ledger."""

    async def signer() -> Signer:
        return bench.signer

    unserved_payments = UnservedPayments(bench.database)
    return PaymentOperations(
        bench.settings, WpClock(), bench.ledger, unserved_payments, signer, worker=str(uuid.uuid4())
    )


async def left_paid(bench: Bench, monkeypatch: pytest.MonkeyPatch, number: int = 0) -> tuple[str, Redemption]:
    """Pay a call whose worker fails once the payment is marked, and return its token and its row."""
    token = bench.token()
    bench.lane.pay(number, token)

    async def fails(*_: Any, **__: Any) -> bool:
        raise OSError("as a disk would")

    with monkeypatch.context() as patch:
        seen_later(patch)
        patch.setattr(Redemptions, "spend", fails)
        with pytest.raises(OSError, match="as a disk"):
            await bench.redeem(number, token)
    row = await bench.row(number, token)
    assert row is not None
    assert row.state is State.PAID
    return token, row


async def test_an_operator_serves_and_the_payer_gets_that_answer(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """One execution, one receipt; a second `serve` and a refund change nothing any more."""
    token, row = await left_paid(bench, monkeypatch)
    desk = desk_of(bench)
    [payments] = await desk.list_payments(is_refunded=False, most=9)
    assert (payments.payment.id, payments.payment.state, payments.payment.has_order) == (
        row.id,
        UnservedState.PAID,
        True,
    )
    assert (payments.payment.payer, payments.payment.tx_id, payments.payment.service_id) == (
        "PAYER",
        tx_id(0),
        SERVICE.id,
    )
    body = await desk.serve(row.id)
    for act in (desk.serve(row.id), desk.refund(row.id, GIVEN_BACK)):
        with pytest.raises(NotDone, match="it was served"):
            await act
    answers = [await bench.redeem(0, token, worker=worker) for worker in (0, 1)]
    assert [(one.body, one.is_replay) for one in answers] == [(body, True)] * 2
    assert orjson.loads(body)["request_hash"] == row.request_hash
    assert await desk.list_payments(is_refunded=False, most=9) == []
    await bench.ledger.forget(unpaid_before=0, answers_before=0)
    assert await UnservedPayments(bench.database).request_of(row.id) is None


async def test_the_time_of_an_answer_that_nobody_fetched_begins_when_somebody_does(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator's act does not shorten the payer's time: after three days the payer gets the answer, for a day."""
    token, row = await left_paid(bench, monkeypatch)
    _, other = await left_paid(bench, monkeypatch, 1)
    body = await desk_of(bench).serve(row.id)
    days = 3 * 86_400
    now = WpClock().now()
    later = {"now": lambda _: now + days, "lapsed_until": lambda _: now + days}
    with monkeypatch.context() as patch:
        for name, told in later.items():
            patch.setattr(WpClock, name, told)
        await bench.tend()
        assert (await bench.redeem(0, token)).body == body
        assert (await bench.redeem(0, token, worker=1)).body == body
    there = await bench.ledger.get(row.id)
    assert there is not None
    assert (there.spent_at, bool(there.is_unfetched)) == (now + days, False)
    assert await bench.ledger.get(other.id) == other  # not another claim's
    with monkeypatch.context() as patch:
        for name in later:
            patch.setattr(WpClock, name, lambda _: now + days + 86_400 + 61)
        assert await bench.refusal(0, token) == "payment_already_spent"


async def test_a_refunded_payment_is_never_served(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """At either worker, after any time; its token and its transaction buy nothing else either."""
    token, row = await left_paid(bench, monkeypatch)
    desk = desk_of(bench)
    for wrong in (tx_id(0), "no id", ""):
        with pytest.raises(NotDone):
            await desk.refund(row.id, wrong)
    await desk.refund(row.id, GIVEN_BACK)
    assert [await bench.refusal(0, token, worker=worker) for worker in (0, 1)] == ["payment_refunded"] * 2
    for act in (desk.serve(row.id), desk.refund(row.id, GIVEN_BACK)):
        with pytest.raises(NotDone, match=f"it was given back by {GIVEN_BACK}"):
            await act
    bench.lane.pay(1, token)
    other = bench.token()
    assert await bench.refusal(1, token) == "payment_already_spent"
    assert await bench.refusal(0, other) == "payment_already_spent"
    with monkeypatch.context() as patch:
        late = WpClock().now() + 9 * 86_400
        for name in ("now", "lapsed_until"):
            patch.setattr(WpClock, name, lambda _: late)
        await bench.tend()
        assert await bench.refusal(0, token) == "payment_refunded"
    [second] = await desk.list_payments(
        is_refunded=False, most=9
    )  # a payment of a challenge that was over: it bought nothing
    assert (second.payment.state, second.payment.tx_id) == (UnservedState.PAID_REFUSED, tx_id(1))
    [payments] = await desk.list_payments(is_refunded=True, most=9)
    assert (payments.payment.id, payments.payment.refund_tx_id) == (row.id, GIVEN_BACK)
    unserved_payments = await UnservedPayments(bench.database).count_by_state(now=WpClock().now())
    assert unserved_payments == {(UnservedState.REFUNDED, NETWORK.key): 1, (UnservedState.PAID_REFUSED, NETWORK.key): 1}


@pytest.mark.parametrize("act", ["serve", "refund"])
@pytest.mark.parametrize("before_storing", [False, True])
async def test_of_an_operator_and_a_presenting_payer_one_wins(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, act: str, before_storing: bool
) -> None:
    """The operator acts at the worst moment, as the payer's worker stores its answer, or when it has."""
    token, row = await left_paid(bench, monkeypatch)
    desk = desk_of(bench)
    spend = Redemptions.spend
    steps: list[asyncio.Task[Any]] = []

    async def wait_and_get(ledger: Redemptions, row_id: int, *args: Any, **kwargs: Any) -> bool:
        monkeypatch.setattr(Redemptions, "spend", spend)
        stored = None if before_storing else await spend(ledger, row_id, *args, **kwargs)
        acting = desk.serve(row_id) if act == "serve" else desk.refund(row_id, GIVEN_BACK)
        steps.append(asyncio.create_task(acting))
        await asyncio.wait(steps, timeout=30 if act == "refund" else 0.2)  # a lease is waited out by who serves
        return await spend(ledger, row_id, *args, **kwargs) if stored is None else stored

    monkeypatch.setattr(Redemptions, "spend", wait_and_get)
    if act == "refund" and before_storing:
        assert await bench.refusal(0, token) == "payment_refunded"
        await steps[0]
        with pytest.raises(NotDone, match="given back"):
            await desk.serve(row.id)
        return
    reply = await bench.redeem(0, token)
    assert not reply.is_replay
    with pytest.raises(NotDone, match="it was served"):
        await steps[0]
    assert (await bench.redeem(0, token, worker=1)).body == reply.body
    assert await desk.list_payments(is_refunded=True, most=9) == []


async def test_many_at_once_end_in_one_outcome(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Payers at both workers, operators who serve and operators who refund, all at one moment."""
    for number in range(6):
        token, row = await left_paid(bench, monkeypatch, number)
        desk = desk_of(bench)
        calls: list[Coroutine[Any, Any, Any]] = [bench.redeem(number, token, worker=worker) for worker in (0, 1)]
        calls += [desk.serve(row.id), desk.refund(row.id, GIVEN_BACK)]
        turned = calls[number % 4 :] + calls[: number % 4]
        outcomes = await asyncio.gather(*turned, return_exceptions=True)
        refunds = [one for one in outcomes if one is None]
        bodies = {getattr(one, "body", one) for one in outcomes if one is not None and not isinstance(one, Exception)}
        assert len(refunds) + len(bodies) == 1, outcomes
        last = await bench.ledger.get(row.id)
        assert last is not None
        assert last.state is (State.REFUNDED if refunds else State.SPENT)
        assert (last.answer is None) is bool(refunds)


async def test_a_payment_whose_request_is_not_kept_is_left_to_its_payer(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger of before requests were kept: serve says so and changes nothing, the payer is served."""
    mark = Redemptions.mark_paid

    async def as_before(ledger: Redemptions, row: Redemption, *args: Any, **kwargs: Any) -> Redemption | None:
        return await mark(ledger, row, *args, **{**kwargs, "request": None})

    with monkeypatch.context() as patch:
        patch.setattr(Redemptions, "mark_paid", as_before)
        token, row = await left_paid(bench, monkeypatch)
    with pytest.raises(NotDone, match="request is not kept"):
        await desk_of(bench).serve(row.id)
    assert not (await bench.redeem(0, token)).is_replay


async def test_a_claim_that_was_decided_without_its_payer_can_be_served(bench: Bench) -> None:
    """The node was away when it was presented and its payer did not come again: the request was kept with the claim."""
    token = bench.token()

    async def away() -> None:
        raise ChainUnavailable("away")

    bench.lane.before = away
    assert await bench.refusal(0, token) == "chain_unavailable"
    desk = desk_of(bench)
    [payments] = await desk.list_payments(is_refunded=False, most=9)
    assert (payments.payment.state, payments.payment.has_order) == (UnservedState.WAITING_FOR_NODE, True)
    assert payments.payment.id is not None
    for act in (desk.serve(payments.payment.id), desk.refund(payments.payment.id, GIVEN_BACK)):
        with pytest.raises(NotDone, match="does not show it as paid"):
            await act
    bench.lane.pay(0, token)
    await bench.tend()
    assert [one.payment.state for one in await desk.list_payments(is_refunded=False, most=9)] == [UnservedState.PAID]
    body = await desk.serve(payments.payment.id)
    assert (await bench.redeem(0, token)).body == body


async def test_a_large_request_is_kept_once_it_is_paid_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strangers' claims on a lane that is away hold little; what was paid is kept whole."""
    large = {"jws": "e30.e30." + "A" * 20_000}
    monkeypatch.setitem(BODY, "jws", large["jws"])
    token = bench.token()

    async def away() -> None:
        raise ChainUnavailable("away")

    bench.lane.before = away
    assert await bench.refusal(0, token) == "chain_unavailable"
    row = await bench.row(0, token)
    assert row is not None
    unserved_payments = UnservedPayments(bench.database)
    assert await unserved_payments.request_of(row.id) is None
    token, row = await left_paid(bench, monkeypatch, 1)
    assert orjson.loads(await unserved_payments.request_of(row.id) or b"") == large
    assert (await bench.redeem(1, token)).body == (await bench.redeem(1, token, worker=1)).body


async def test_a_service_that_fails_leaves_the_payment_as_it_was(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator gets the error; the lease is free again and the payer is served."""
    token, row = await left_paid(bench, monkeypatch)

    def fail(*_: Any) -> Any:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(Signer, "make_answer", fail)
        with pytest.raises(NotDone, match="RuntimeError"):
            await desk_of(bench).serve(row.id)
    assert not (await bench.redeem(0, token)).is_replay
    with pytest.raises(NotDone, match="no payment"):
        await desk_of(bench).serve(7)
