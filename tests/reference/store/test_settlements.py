"""What was sent, on both databases: nonces safe across workers, one settlement a token, fates (P-LN-07, P-LN-08)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from reference.protocol.weld import Payment
from reference.store.database import Database
from reference.store.database_url import open_database
from reference.store.kept_requests import request_of
from reference.store.redemption_rows import Answer, NewClaim, Redemption
from reference.store.redemptions import Redemptions, build_hold
from reference.store.settlements import Fate, NonceTaken, Settlement, Settlements, TokenTaken, build_close

BASE, SETTLER = "eip155:8453", "0xSettler"
SENT = Settlement(
    caip2=BASE,
    settler=SETTLER,
    nonce=0,
    token="token-0",
    payment_key="key-0",
    payer="0xpayer",
    authorization="{}",
    raw=b"\x02\x00\xff",
    hashes=("0x00",),
    fee=2**200,
    tip=2**190,
    attempt=0,
    sent_at=1_000,
)


def build_settlement(number: int, **changes: Any) -> Settlement:
    """Return the `number`-th settlement of as many tokens."""
    return replace(SENT, nonce=number, token=f"token-{number}", payment_key=f"key-{number}", **changes)


@pytest.fixture
def settlements(ledger: Redemptions, database: Database) -> Settlements:
    """The table, empty."""
    del ledger  # it makes the tables
    return Settlements(database)


async def test_what_is_reserved_is_found_as_it_was(settlements: Settlements) -> None:
    """By its token and among its account's; numbers of the chain keep all their bits."""
    await settlements.reserve(SENT)
    assert await settlements.open_for("token-0") == SENT
    assert await settlements.open_on(BASE) == [SENT]
    assert await settlements.open_for("token-1") is None
    assert await settlements.open_on("eip155:84532") == []


async def test_a_nonce_is_taken_once(settlements: Settlements) -> None:
    """Of one account on one chain; another's are its own."""
    await settlements.reserve(build_settlement(0))
    with pytest.raises(NonceTaken):
        await settlements.reserve(replace(build_settlement(1), nonce=0))
    await settlements.reserve(replace(build_settlement(1), nonce=0, settler="0xAnother"))
    await settlements.reserve(replace(build_settlement(2), nonce=0, caip2="eip155:84532"))


async def test_a_token_has_one_settlement_on_its_way(settlements: Settlements) -> None:
    """A second one may follow when the first is closed."""
    await settlements.reserve(build_settlement(0))
    again = replace(build_settlement(1), token="token-0")
    with pytest.raises(TokenTaken):
        await settlements.reserve(again)
    assert await settlements.close(build_settlement(0), Fate.FAILED, now=1_001)
    await settlements.reserve(again)
    assert await settlements.open_for("token-0") == again


async def test_free_nonces_leave_none_out(settlements: Settlements) -> None:
    """The lowest free one from the chain's count on; a gap is filled, because all later ones wait for it."""
    assert await settlements.free_nonce(BASE, SETTLER, at_least=0) == 0
    assert await settlements.free_nonce(BASE, SETTLER, at_least=7) == 7
    for number in (0, 1, 2, 4):
        await settlements.reserve(build_settlement(number))
    await settlements.close(build_settlement(0), Fate.SETTLED, now=1_001)
    free = [await settlements.free_nonce(BASE, SETTLER, at_least=least) for least in (0, 2, 3, 4, 9)]
    assert free == [3, 3, 3, 5, 9]
    assert await settlements.free_nonce(BASE, "0xAnother", at_least=0) == 0


async def test_workers_at_once_share_nonces_without_a_gap(dsn: str, ledger: Redemptions) -> None:
    """A dozen settlements over two databases: a dozen nonces in a row."""
    del ledger
    databases = [open_database(dsn) for _ in range(2)]

    async def reserve(number: int) -> int:
        mine = Settlements(databases[number % 2])
        while True:
            nonce = await mine.free_nonce(BASE, SETTLER, at_least=5)
            try:
                await mine.reserve(replace(build_settlement(number), nonce=nonce))
            except NonceTaken:
                continue
            return nonce

    try:
        outcomes = await asyncio.gather(*(reserve(number) for number in range(12)))
    finally:
        for database in databases:
            await database.close()
    assert sorted(outcomes) == list(range(5, 17))


async def test_two_at_once_for_one_token_are_one(dsn: str, ledger: Redemptions) -> None:
    """Whatever nonces they take: one gets `TokenTaken`."""
    del ledger
    databases = [open_database(dsn) for _ in range(2)]
    try:
        outcomes = await asyncio.gather(
            *(
                Settlements(database).reserve(replace(build_settlement(at), token="token"))
                for at, database in enumerate(databases)
            ),
            return_exceptions=True,
        )
    finally:
        for database in databases:
            await database.close()
    assert sorted(type(one).__name__ for one in outcomes) == ["NoneType", "TokenTaken"]


async def test_a_replacement_is_one_worker_s(settlements: Settlements) -> None:
    """Only the first to replace what it saw does; hashes of all attempts are kept, the newest last."""
    await settlements.reserve(SENT)
    new = {"raw": b"\x03", "tx_id": "0x01", "fee": 2**201, "tip": 2**191, "now": 1_030}
    assert await settlements.replace(SENT, **new)  # type: ignore[arg-type]
    assert not await settlements.replace(SENT, **(new | {"tx_id": "0x02"}))  # type: ignore[arg-type]
    settlement = await settlements.open_for("token-0")
    assert settlement == replace(
        SENT, raw=b"\x03", hashes=("0x00", "0x01"), fee=2**201, tip=2**191, attempt=1, sent_at=1_030
    )
    assert settlement is not None
    assert await settlements.replace(settlement, **(new | {"tx_id": "0x02"}))  # type: ignore[arg-type]


async def test_what_is_closed_stays_as_it_is(settlements: Settlements) -> None:
    """It is on its way no more, cannot be replaced or closed again, and is found among its account's nonces."""
    for number in range(4):
        await settlements.reserve(build_settlement(number))
    assert await settlements.close(build_settlement(1), Fate.SETTLED, now=1_001)
    assert not await settlements.close(build_settlement(1), Fate.FAILED, now=1_002)
    assert not await settlements.replace(build_settlement(1), raw=b"", tx_id="0x01", fee=1, tip=1, now=1_003)
    assert [one.nonce for one in await settlements.open_on(BASE)] == [0, 2, 3]
    between = await settlements.between(BASE, SETTLER, 1, 2)
    assert [(one.nonce, one.fate) for one in between] == [(1, Fate.SETTLED), (2, Fate.OPEN)]
    assert await settlements.between(BASE, SETTLER, 4, 3) == []


async def test_failures_of_a_payer_are_counted_for_their_time(settlements: Settlements) -> None:
    """Only those that moved nothing, of this payer, on this chain, since then."""
    fates = (Fate.FAILED, Fate.FAILED, Fate.OVERTAKEN, Fate.SETTLED, Fate.VOID)
    for number, fate in enumerate(fates):
        await settlements.reserve(build_settlement(number))
        await settlements.close(build_settlement(number), fate, now=1_000 + number)
    await settlements.reserve(build_settlement(5, payer="0xother"))
    await settlements.close(build_settlement(5), Fate.FAILED, now=1_000)
    await settlements.reserve(build_settlement(6))
    counts = [await settlements.failures(BASE, "0xpayer", since=since) for since in (999, 1_000, 1_001)]
    assert counts == [2, 1, 0]
    assert await settlements.failures("eip155:84532", "0xpayer", since=0) == 0


async def test_failures_of_all_payers_are_counted_by_chain(settlements: Settlements) -> None:
    """Of their time; who has moved money before is known, also where a third party sent it."""
    for number, fate in enumerate((Fate.FAILED, Fate.FAILED, Fate.SETTLED, Fate.VOID, Fate.OVERTAKEN)):
        await settlements.reserve(build_settlement(number, payer=f"0x{number}"))
        await settlements.close(build_settlement(number), fate, now=1_000 + number)
    assert [await settlements.all_failures(since=since) for since in (999, 1_000, 1_001)] == [{BASE: 2}, {BASE: 1}, {}]
    numbers = [number for number in range(6) if await settlements.has_settled(BASE, f"0x{number}")]
    assert numbers == [2, 4]
    assert not await settlements.has_settled("eip155:84532", "0x2")


async def test_what_was_closed_may_be_on_its_way_again(settlements: Settlements) -> None:
    """After a reorganisation; not beside another one of its token, and not when it was reopened already."""
    await settlements.reserve(build_settlement(0))
    await settlements.close(build_settlement(0), Fate.SETTLED, now=1_001)
    settlement_before = replace(build_settlement(0), fate=Fate.SETTLED)
    assert await settlements.reopen(settlement_before)
    assert not await settlements.reopen(settlement_before)
    assert await settlements.open_for("token-0") == build_settlement(0)
    await settlements.close(build_settlement(0), Fate.FAILED, now=1_002)
    await settlements.reserve(replace(build_settlement(1), token="token-0"))
    assert not await settlements.reopen(replace(build_settlement(0), fate=Fate.FAILED))


async def insert_claim(ledger: Redemptions) -> Redemption:
    """Claim what the settlement pays for, with its request."""
    other_members = ("sha256:r", "service", "base_mainnet", "", "10000", "0xpayee", 2_000)
    new = NewClaim(SENT.token, SENT.payment_key, *other_members)
    claim = await ledger.claim(new, worker="w", now=1_000, order=1, request=b"{}")
    assert claim is not None
    return claim


async def test_a_claim_is_held_only_with_a_nonce(ledger: Redemptions, settlements: Settlements) -> None:
    """Both are one change: who finds a nonce taken has held nothing."""
    claim = await insert_claim(ledger)
    await settlements.reserve(replace(SENT, token="other"))
    with pytest.raises(NonceTaken):
        await settlements.reserve(SENT, build_hold(claim.id, until=3_000))
    claim_before = await ledger.get(claim.id)
    await settlements.reserve(replace(SENT, nonce=SENT.nonce + 1), build_hold(claim.id, until=3_000))
    claim_after = await ledger.get(claim.id)
    assert claim_before is not None
    assert claim_after is not None
    assert (claim_before.held_until, claim_after.held_until) == (None, 3_000)


@pytest.mark.parametrize("worker", ["w", "another"])
async def test_a_settlement_is_closed_with_its_claim_or_not_at_all(
    database: Database, ledger: Redemptions, settlements: Settlements, worker: str
) -> None:
    """The worker that marks the claim as paid closes it in the same change; one without the lease changes nothing."""
    claim = await insert_claim(ledger)
    await settlements.reserve(SENT, build_hold(claim.id, until=3_000))
    close, answer = build_close(SENT, Fate.SETTLED, now=1_001), Answer(b"{}", "told", "attested")
    payment = Payment("0xpayer", "0xhash")
    is_done = await ledger.mark_paid_and_spend(
        claim, payment, answer, close, worker=worker, now=1_001, recheck_at=2_000
    )
    row, still_open = await ledger.get(claim.id), await settlements.open_for(SENT.token)
    assert row is not None
    assert (is_done, row.is_over, still_open is None) == ((True,) * 3 if worker == "w" else (False,) * 3)
    assert await request_of(database, claim.id) == b"{}"


async def test_a_claim_whose_settlement_is_on_its_way_is_not_forgotten(
    ledger: Redemptions, settlements: Settlements
) -> None:
    """Only the chain can say that nothing moved (5.8): until its settlement is closed the claim stays for ever."""
    claim = await insert_claim(ledger)
    await settlements.reserve(SENT, build_hold(claim.id, until=3_000))
    await ledger.forget(unpaid_before=9_999, answers_before=9_999)
    assert await ledger.get(claim.id) is not None
    await settlements.close(SENT, Fate.FAILED, now=9_999)
    await ledger.forget(unpaid_before=9_999, answers_before=9_999)
    assert await ledger.get(claim.id) is None
