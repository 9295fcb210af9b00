"""The statements that decide races, on both databases (5.7 steps 13 to 15, 5.8)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from reference.protocol.redemption import State
from reference.protocol.weld import Payment
from reference.store.database import Database
from reference.store.database_url import open_database
from reference.store.redemption_rows import Answer, NewClaim, Redemption
from reference.store.redemptions import Redemptions

CLAIM = NewClaim("token", "chain|tx", "sha256:r", "service", "algorand_mainnet", "tx", "10000", "PAYEE", 2_000)
PAYMENT = Payment("P", "tx")
ANSWER = Answer(b'{"a":1}', "cmVzcG9uc2U=", "e30.e30.AA")


async def insert_claim(ledger: Redemptions, *, worker: str = "w", order: int = 1, **changes: Any) -> int:
    row = await ledger.claim(replace(CLAIM, **changes), worker=worker, now=1_000, order=order)
    assert row is not None
    assert row == await ledger.get(row.id)
    return row.id


async def mark_claim(ledger: Redemptions, row_id: int, *, worker: str = "w", now: int = 1_001) -> bool:
    row = await ledger.mark_paid(await row_of(ledger, row_id), PAYMENT, worker=worker, now=now)
    assert row is None or row == await ledger.get(row_id)
    return row is not None


async def insert_paid(ledger: Redemptions, **changes: Any) -> int:
    row_id = await insert_claim(ledger, **changes)
    assert await mark_claim(ledger, row_id)
    return row_id


async def row_of(ledger: Redemptions, row_id: int) -> Redemption:
    row = await ledger.get(row_id)
    assert row is not None
    return row


async def test_a_redemption_from_claim_to_answer(ledger: Redemptions) -> None:
    """Each statement leaves the row in the next state, with what it added."""
    row_id = await insert_claim(ledger)
    first = await row_of(ledger, row_id)
    assert (first.state, first.lease, first.lease_counter) == (State.UNPAID, "w", 0)
    assert (first.token, first.payment_key, first.request_hash, first.amount) == (
        CLAIM.token,
        CLAIM.payment_key,
        CLAIM.request_hash,
        CLAIM.amount,
    )
    assert await mark_claim(ledger, row_id)
    second = await row_of(ledger, row_id)
    assert (second.state, second.payer, second.paid_at) == (State.PAID, "P", 1_001)
    assert await ledger.spend(row_id, ANSWER, worker="w", now=1_002, recheck_at=1_602)
    last = await row_of(ledger, row_id)
    assert (last.state, last.answer, last.payment_response, last.lease) == (
        State.SPENT,
        ANSWER.body,
        ANSWER.payment_response,
        None,
    )


async def test_one_claim_a_token_and_payment(ledger: Redemptions) -> None:
    """Of many identical claims at once one is inserted; other tokens and other payments do not hinder."""
    outcomes = await asyncio.gather(*(ledger.claim(CLAIM, worker="w", now=1, order=n) for n in range(20)))
    assert sum(row_id is not None for row_id in outcomes) == 1
    await insert_claim(ledger, token="other")
    await insert_claim(ledger, payment_key="chain|other")


async def test_what_enters_a_state_is_counted_once(ledger: Redemptions) -> None:
    """Of many identical claims or marks one counts, by state and network."""
    rows = await asyncio.gather(*(ledger.claim(CLAIM, worker="w", now=1, order=n) for n in range(5)))
    (row,) = filter(None, rows)
    outcomes = await asyncio.gather(
        *(ledger.mark_paid_and_spend(row, PAYMENT, ANSWER, worker="w", now=2, recheck_at=3) for _ in range(5))
    )
    assert sum(outcomes) == 1
    paid = await insert_paid_elsewhere(ledger)
    assert ledger.moves == {
        (State.UNPAID, "algorand_mainnet"): 1,
        (State.PAID, "algorand_mainnet"): 1,
        (State.SPENT, "algorand_mainnet"): 1,
        (State.UNPAID, paid.network): 1,
        (State.PAID, paid.network): 1,
    }


async def insert_paid_elsewhere(ledger: Redemptions) -> Redemption:
    """Insert a paid redemption of another lane."""
    new = replace(CLAIM, token="other", payment_key="chain|other", network="solana_mainnet")
    row = await ledger.claim(new, worker="w", now=1, order=1)
    assert row is not None
    paid_row = await ledger.mark_paid(row, Payment("P", "other"), worker="w", now=2)
    assert paid_row is not None
    return paid_row


async def test_one_payment_a_token(ledger: Redemptions) -> None:
    """Of many claims on one token, marked at once, one is paid."""
    rows = [await insert_claim(ledger, payment_key=f"chain|{n}", order=n) for n in range(12)]
    outcomes = await asyncio.gather(*(mark_claim(ledger, row) for row in rows))
    assert sum(outcomes) == 1


async def test_one_token_a_payment(ledger: Redemptions) -> None:
    """Of many tokens that name one payment, marked at once, one is paid."""
    rows = [await insert_claim(ledger, token=f"t{n}", order=n) for n in range(12)]
    outcomes = await asyncio.gather(*(mark_claim(ledger, row) for row in rows))
    assert sum(outcomes) == 1


async def test_one_claim_a_transfer(ledger: Redemptions) -> None:
    """Of many claims that a transfer was counted for, each with a token and a payment of its own, one is paid."""
    rows = [await insert_claim(ledger, token=f"t{n}", payment_key=f"chain|{n}", order=n) for n in range(12)]
    counted_payment = replace(PAYMENT, transfer_key="chain|tx|3")
    marks = [ledger.mark_paid(await row_of(ledger, row), counted_payment, worker="w", now=1_001) for row in rows]
    outcomes = await asyncio.gather(*marks)
    assert sum(row is not None for row in outcomes) == 1
    assert sum([(await row_of(ledger, row)).state is State.UNPAID for row in rows]) == 11


async def test_a_spent_token_stays_taken(ledger: Redemptions) -> None:
    """Uniqueness holds among paid and spent rows alike, also when the stored answer is gone."""
    row_id = await insert_paid(ledger)
    await ledger.spend(row_id, ANSWER, worker="w", now=1_002, recheck_at=None)
    await ledger.forget(unpaid_before=0, answers_before=9_999)
    for second in (await insert_claim(ledger, token="other"), await insert_claim(ledger, payment_key="chain|other")):
        assert not await mark_claim(ledger, second)


async def test_only_the_holder_marks_and_spends(ledger: Redemptions) -> None:
    """A worker whose lease was taken over changes nothing any more."""
    row_id = await insert_claim(ledger)
    assert await ledger.take_lease(await row_of(ledger, row_id), worker="new")
    assert not await ledger.renew_lease(row_id, worker="w")
    await ledger.release(row_id, worker="w")
    assert (await row_of(ledger, row_id)).lease == "new"
    assert not await mark_claim(ledger, row_id)
    assert await mark_claim(ledger, row_id, worker="new")
    assert not await ledger.spend(row_id, ANSWER, worker="w", now=2, recheck_at=None)
    assert await ledger.spend(row_id, ANSWER, worker="new", now=2, recheck_at=None)


async def test_the_answer_is_stored_once(ledger: Redemptions) -> None:
    """Of many workers that store an answer, one does."""
    row_id = await insert_paid(ledger)
    outcomes = await asyncio.gather(
        *(ledger.spend(row_id, ANSWER, worker="w", now=2, recheck_at=None) for _ in range(10))
    )
    assert sum(outcomes) == 1


async def test_one_takes_over(ledger: Redemptions) -> None:
    """Of many who saw a lease stand still, one gets the row; who saw an older counter gets nothing."""
    row = await row_of(ledger, await insert_claim(ledger))
    outcomes = await asyncio.gather(*(ledger.take_lease(row, worker=f"w{n}") for n in range(10)))
    assert sum(outcomes) == 1
    assert not await ledger.take_lease(row, worker="late")


async def test_a_renewed_lease_is_not_taken(ledger: Redemptions) -> None:
    """The counter that the holder raised since the look protects it."""
    row = await row_of(ledger, await insert_claim(ledger))
    assert await ledger.renew_lease(row.id, worker="w")
    assert not await ledger.take_lease(row, worker="new")


async def test_a_paid_row_is_never_dropped(ledger: Redemptions) -> None:
    """Dropping and forgetting touch unpaid claims only."""
    paid_id = await insert_paid(ledger)
    claim_id = await insert_claim(ledger, token="other", payment_key="chain|other")
    assert not await ledger.drop_unpaid(paid_id)
    assert await ledger.drop_unpaid(claim_id)
    late = await insert_claim(ledger, token="late", payment_key="chain|late", expires_at=500)
    await ledger.forget(unpaid_before=501, answers_before=0)
    assert await ledger.get(late) is None
    assert await ledger.get(paid_id) is not None


async def test_answers_are_forgotten_after_their_time(ledger: Redemptions) -> None:
    """The row stays, for ever; only the answer goes."""
    row_id = await insert_paid(ledger)
    await ledger.spend(row_id, ANSWER, worker="w", now=1_002, recheck_at=None)
    await ledger.forget(unpaid_before=0, answers_before=1_002)
    assert (await row_of(ledger, row_id)).answer == ANSWER.body
    await ledger.forget(unpaid_before=0, answers_before=1_003)
    row = await row_of(ledger, row_id)
    assert (row.state, row.answer, row.payment_response) == (State.SPENT, None, None)


async def test_unpaid_claims_come_in_their_order(ledger: Redemptions) -> None:
    """The oldest first, the paid ones not at all."""
    for order, payment in ((3, "c"), (1, "a"), (2, "b")):
        await insert_claim(ledger, payment_key=payment, order=order)
    await insert_paid(ledger, payment_key="d", order=0)
    assert [row.payment_key for row in await ledger.unpaid_claims(CLAIM.token)] == ["a", "b", "c"]


async def test_what_is_involved_in_a_proof(ledger: Redemptions) -> None:
    """Rows with the token or the payment, and no others."""
    mine = await insert_claim(ledger)
    token = await insert_claim(ledger, payment_key="chain|x")
    payment = await insert_claim(ledger, token="x")
    await insert_claim(ledger, token="y", payment_key="chain|y")
    assert {mine, token, payment} == {row.id for row in await ledger.find_involved(CLAIM.token, CLAIM.payment_key)}


async def test_a_recheck_happens_once(ledger: Redemptions) -> None:
    """A spent payment is due at its time, and not again when it was looked at."""
    row_id = await insert_paid(ledger)
    await ledger.spend(row_id, ANSWER, worker="w", now=1_002, recheck_at=1_602)
    assert list(await ledger.due_for_recheck(1_601)) == []
    assert [row.id for row in await ledger.due_for_recheck(1_602)] == [row_id]
    await ledger.record_recheck(row_id, attestation="e30.e30.AQ")
    assert list(await ledger.due_for_recheck(9_999)) == []


async def test_the_longest_due_is_looked_at_first(ledger: Redemptions) -> None:
    """A claim whose chain is down waits, but does not block the claims behind it for ever."""
    due = {}
    for number, at in enumerate((1_604, 1_602, 1_603)):
        row_id = await insert_claim(ledger, token=f"t{number}", payment_key=f"chain|{number}")
        payment = replace(PAYMENT, tx_id=f"TX-{number}")
        assert await ledger.mark_paid(await row_of(ledger, row_id), payment, worker="w", now=1_001)
        await ledger.spend(row_id, ANSWER, worker="w", now=1_002, recheck_at=at)
        due[at] = row_id
    assert [row.id for row in await ledger.due_for_recheck(1_700)] == [due[at] for at in sorted(due)]


async def test_the_ledger_survives_its_process(ledger: Redemptions, database: Database, dsn: str) -> None:
    """Another process on the same database sees what was committed, and preparing it again harms nothing."""
    row_id = await insert_paid(ledger)
    await database.close()
    second = open_database(dsn)
    try:
        again = Redemptions(second)
        await again.prepare()
        assert (await row_of(again, row_id)).state is State.PAID
    finally:
        await second.close()


async def test_workers_may_start_at_once(dsn: str) -> None:
    """Several workers that find an empty database all end up with its tables."""
    databases = [open_database(dsn) for _ in range(4)]
    try:
        await asyncio.gather(*(Redemptions(database).prepare() for database in databases))
    finally:
        await asyncio.gather(*(database.close() for database in databases))
