"""Refused payments that reached the payee: each is in the operator's list, whatever refused it (P-ST-11)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from reference.lanes.lane import ChainUnavailable
from reference.protocol.observed_transaction import TxStatus
from reference.protocol.redemption import State
from reference.rail.settlement.unserved_payments import PaymentOperations
from reference.rail.signed_answers import Signer
from reference.store.database_url import sqlite_dsn
from reference.store.unserved_payments import UnservedPayments, UnservedState
from reference.web.clock import WpClock
from reference.web.operator_commands import NotDone
from tests.reference.rail.scripted_workers import NETWORK, SERVICE, TERMS, Bench, opened_bench, tx_id

BACK = "B" * 51 + "A"
LIFETIME, WINDOW = 1860, 960  # with the skew of clocks


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    """Two workers, and a chain that shows nothing yet."""
    is_file = request.param == "sqlite"
    dsn = sqlite_dsn(tmp_path / "rail.sqlite3") if is_file else request.getfixturevalue("postgres_database")
    async with opened_bench(dsn) as new_bench:
        yield new_bench


class Later:
    """Sets every clock ahead."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self._now = WpClock.now

    def by(self, seconds: int) -> None:
        """Set every clock `seconds` ahead of the system's."""
        real = self._now
        for name in ("now", "lapsed_until"):
            self._patch.setattr(WpClock, name, lambda clock: real(clock) + seconds)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    """Clocks that can be set ahead."""
    return Later(monkeypatch)


def desk_of(bench: Bench) -> PaymentOperations:
    """Return an operator's desk over the workers' ledger."""

    async def signer() -> Signer:
        return bench.signer

    unserved_payments = UnservedPayments(bench.database)
    return PaymentOperations(bench.settings, WpClock(), bench.ledger, unserved_payments, signer, worker="desk")


async def list_payments(bench: Bench) -> list[tuple[str, str, str | None]]:
    """Return state, transaction and code of what is listed."""
    payments = await desk_of(bench).list_payments(is_refunded=False, most=99)
    return [(one.payment.state.value, one.payment.tx_id, one.payment.code) for one in payments]


def build_listed(number: int, code: str) -> tuple[str, str, str]:
    """Return what is listed of a refused payment."""
    return UnservedState.PAID_REFUSED.value, tx_id(number), code


async def test_a_payment_that_is_presented_too_late_is_listed(bench: Bench, later: Later) -> None:
    """It was in time, its proof was not; a proof of nothing is not listed, and one on its way is asked for again."""
    token, other = bench.token(), bench.token()
    bench.lane.pay(0, token)
    later.by(LIFETIME + 5)
    for _ in range(2):
        assert await bench.refusal(0, token) == "challenge_expired"
    assert await bench.refusal(1, other) == "challenge_expired"
    assert await list_payments(bench) == [build_listed(0, "challenge_expired")]
    bench.lane.pay(1, other)
    final = bench.lane.shown[tx_id(1)]
    bench.lane.shown[tx_id(1)] = replace(final, final=False)
    assert await bench.refusal(1, other) == "tx_not_confirmed"
    bench.lane.shown[tx_id(1)] = final
    assert await bench.refusal(1, other) == "challenge_expired"
    assert await list_payments(bench) == [build_listed(0, "challenge_expired"), build_listed(1, "challenge_expired")]


async def test_while_the_node_is_away_nothing_is_refused_for_its_age(bench: Bench, later: Later) -> None:
    """The chain must say first whether the money arrived."""
    token = bench.token()
    bench.lane.pay(0, token)
    later.by(LIFETIME + 5)

    async def away() -> None:
        raise ChainUnavailable("away")

    bench.lane.before = away
    assert await bench.refusal(0, token) == "chain_unavailable"
    assert await bench.refusal(0, token) == "challenge_expired"


async def test_a_payment_in_a_late_block_is_listed(bench: Bench) -> None:
    """The proof is in time, its block is not."""
    token = bench.token()
    bench.lane.pay(0, token)
    shown = bench.lane.shown[tx_id(0)]
    bench.lane.shown[tx_id(0)] = replace(shown, block_time=shown.block_time + LIFETIME + 5)
    assert await bench.refusal(0, token) == "challenge_expired"
    bench.lane.pay(1, token)
    bench.lane.shown[tx_id(1)] = replace(shown, block_time=shown.block_time - 100)
    assert await bench.refusal(1, token) == "payment_too_old"
    assert await list_payments(bench) == [build_listed(0, "challenge_expired"), build_listed(1, "payment_too_old")]


async def test_a_short_payment_is_listed_with_what_it_moved(bench: Bench) -> None:
    """A full payment on the same token is served all the same."""
    token = bench.token()
    bench.lane.pay(0, token)
    shown = bench.lane.shown[tx_id(0)]
    [transfer] = shown.transfers
    bench.lane.shown[tx_id(0)] = replace(shown, transfers=(replace(transfer, value=3),))
    assert await bench.refusal(0, token) == "wrong_amount"
    [entry] = await desk_of(bench).list_payments(is_refunded=False, most=9)
    assert (entry.payment.amount, entry.payment.code) == ("3", "wrong_amount")
    bench.lane.pay(1, token)
    assert not (await bench.redeem(1, token)).is_replay


async def test_a_second_payment_of_a_token_is_listed(bench: Bench) -> None:
    """The first has bought the answer; a replay of it, and a transaction that moved nothing, are not listed."""
    token = bench.token()
    bench.lane.pay(0, token)
    bench.lane.pay(1, token)
    await bench.redeem(0, token)
    for number in (1, 2):
        assert await bench.refusal(number, token) == "payment_already_spent"
    assert await bench.refusal(0, bench.token()) == "payment_already_spent"
    assert await list_payments(bench) == [build_listed(1, "payment_already_spent")]


async def test_what_is_served_after_all_is_listed_no_more(bench: Bench) -> None:
    """A proof that came with another request first."""
    token = bench.token()
    bench.lane.pay(0, token)
    assert await bench.refusal(0, token, service=replace(SERVICE, id="another")) == "request_mismatch"
    assert await list_payments(bench) == [build_listed(0, "request_mismatch")]
    await bench.redeem(0, token)
    assert await list_payments(bench) == []
    with pytest.raises(NotDone):
        await desk_of(bench).refund_unclaimed(tx_id(0), BACK)


async def test_a_refused_payment_is_given_back_once(bench: Bench, later: Later) -> None:
    """Its proof is refused with that from then on."""
    token = bench.token()
    bench.lane.pay(0, token)
    later.by(LIFETIME + 5)
    assert await bench.refusal(0, token) == "challenge_expired"
    desk = desk_of(bench)
    with pytest.raises(NotDone):
        await desk.refund_unclaimed(tx_id(0), tx_id(0))
    await desk.refund_unclaimed(tx_id(0), BACK)
    with pytest.raises(NotDone):
        await desk.refund_unclaimed(tx_id(0), BACK)
    assert await list_payments(bench) == []
    assert await bench.refusal(0, token) == "payment_refunded"
    unserved_payments = await UnservedPayments(bench.database).count_by_state(now=WpClock().now())
    assert unserved_payments == {(UnservedState.REFUNDED, NETWORK.key): 1}


async def test_no_claim_lapses_without_a_last_look(bench: Bench, later: Later) -> None:
    """Presented in time and final afterwards, while its payer was away: paid, and served when it comes again."""
    token, bogus = bench.token(), bench.token()
    for number, one in enumerate((token, bogus)):
        assert await bench.refusal(number, one) == "tx_not_found"
    bench.lane.pay(0, token)
    later.by(LIFETIME + WINDOW + 5)
    await bench.tend()
    row = await bench.row(0, token)
    assert row is not None
    assert row.state is State.PAID
    assert await bench.row(1, bogus) is None
    assert await list_payments(bench) == [(UnservedState.PAID.value, tx_id(0), None)]
    await bench.redeem(0, token)
    assert await list_payments(bench) == []


async def test_what_cannot_be_decided_at_the_end_is_looked_at_again(bench: Bench, later: Later) -> None:
    """Its node is away at the last look, then the transaction is not final; then it is."""
    token = bench.token()
    assert await bench.refusal(0, token) == "tx_not_found"
    bench.lane.pay(0, token)
    final = bench.lane.shown[tx_id(0)]
    bench.lane.shown[tx_id(0)] = replace(final, final=False)

    async def away() -> None:
        raise ChainUnavailable("away")

    for step in range(3):
        bench.lane.before = None if step else away
        later.by(LIFETIME + WINDOW + 5 + 40 * step)
        await bench.tend()
        assert await list_payments(bench) == [(UnservedState.WAITING_FOR_NODE.value, tx_id(0), None)]
    bench.lane.shown[tx_id(0)] = final
    later.by(LIFETIME + WINDOW + 500)
    await bench.tend()
    assert await list_payments(bench) == [(UnservedState.PAID.value, tx_id(0), None)]


async def test_a_claim_whose_block_is_late_is_listed_when_it_lapses(bench: Bench, later: Later) -> None:
    """Named in advance, paid after the lifetime: refused without its payer, and listed."""
    token = bench.token()
    assert await bench.refusal(0, token) == "tx_not_found"
    later.by(LIFETIME + WINDOW + 5)
    bench.lane.pay(0, token)
    await bench.tend()
    assert await bench.row(0, token) is None
    assert await list_payments(bench) == [build_listed(0, "challenge_expired")]
    assert TERMS.amount == (await desk_of(bench).list_payments(is_refunded=False, most=9))[0].payment.amount
    assert bench.lane.shown[tx_id(0)].status is TxStatus.CONFIRMED
