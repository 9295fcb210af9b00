"""Death in the middle of a redemption, on both databases: one price, one execution, one receipt (P-ST-06)."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from reference.protocol.redemption import State
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.rail_tables import redemptions
from reference.store.redemption_rows import Redemption
from reference.store.redemptions import Redemptions
from tests.reference.rail.rail_stack import USDC, Payer, Rail, proof_of

POINTS = {
    "crash-after-seen": State.UNPAID,
    "crash-after-paid": State.PAID,
    "crash-after-stored": State.SPENT,
}


def rows_of(rail: Rail) -> list[Redemption]:
    """Return every row of a rail's ledger, read beside the rail."""

    async def read() -> list[Redemption]:
        dsn = rail.settings.get("WP_RAIL_DB") or sqlite_dsn(rail.folder / "data" / "rail.sqlite3")
        database = open_database(dsn)
        try:
            ids = await database.rows(select(redemptions.c.id))
            return [row for (row_id,) in ids if (row := await Redemptions(database).get(row_id)) is not None]
        finally:
            await database.close()

    return asyncio.run(read())


def usdc_of(payer: Payer, address: str) -> int:
    match: Any = payer.chain.client.account_asset_info(address, USDC)
    return int(match["asset-holding"]["amount"])


def crash_rail(make: Callable[..., Rail], mutant: str, payer: Payer, **settings: str) -> tuple[Rail, dict[str, str]]:
    """Pay a rail that dies at one point of the redemption, and return it, dead, with the proof."""
    rail = make(mutant=mutant, **settings)
    entry = rail.quote()
    proof = proof_of(payer.pay(entry), entry)
    with pytest.raises(httpx.TransportError):
        rail.present(proof)
    assert rail.process.wait(120) == -signal.SIGKILL
    assert (rail.folder / "crashed").exists()
    return rail, proof


@pytest.mark.parametrize("mutant", POINTS)
def test_a_crash_ends_in_one_receipt(
    own_rail: Callable[..., Rail], payer: Payer, database: dict[str, str], mutant: str
) -> None:
    """After the restart the same proof is served, for the price that was paid before the crash."""
    before = usdc_of(payer, payer.address)
    rail, proof = crash_rail(own_rail, mutant, payer, WP_RAIL_LEASE_SECONDS="0.3", **database)
    rows = rows_of(rail)
    assert [row.state for row in rows] == [POINTS[mutant]]
    rail.start()
    reply = rail.present(proof)
    assert reply.status_code == 200, reply.text
    assert usdc_of(payer, payer.address) == before - 50_000
    [row] = rows_of(rail)
    assert (row.id, row.state, row.answer) == (rows[0].id, State.SPENT, reply.content)
    if mutant == "crash-after-stored":
        assert reply.content == rows[0].answer
        assert reply.headers["Idempotent-Replayed"] == "true"
    assert rail.present(proof).content == reply.content


def test_a_stranger_waits_out_the_lease_over_several_calls(own_rail: Callable[..., Rail], payer: Payer) -> None:
    """A lease longer than a call is waited out all the same: 409 with Retry-After, and then the receipt."""
    settings = {"WP_RAIL_LEASE_SECONDS": "8", "WP_RAIL_JOIN_WAIT": "0.2"}
    rail, proof = crash_rail(own_rail, "crash-after-paid", payer, **settings)
    rail.start()
    reply = rail.present(proof)
    assert (reply.status_code, reply.json()["error"]) == (409, "payment_in_progress")
    assert reply.headers["Retry-After"] == "1"
    deadline = time.monotonic() + 60
    answer = reply
    while answer.status_code == 409 and time.monotonic() < deadline:
        answer = rail.present(proof)
    assert answer.status_code == 200, answer.text


def test_a_clean_end_and_restart_keep_challenges_and_answers(own_rail: Callable[..., Rail], payer: Payer) -> None:
    """Tokens and ledger outlive the process (P-ST-02): an old challenge is redeemed, an old answer found."""
    rail = own_rail()
    first, second = rail.quote(), rail.quote()
    proofs = [proof_of(payer.pay(entry), entry) for entry in (first, second)]
    reply = rail.present(proofs[0])
    rail.stop()
    rail.start()
    assert rail.present(proofs[0]).content == reply.content
    assert rail.present(proofs[1]).status_code == 200


def test_a_mutant_that_does_not_exist_does_not_start(own_rail: Callable[..., Rail]) -> None:
    """A misspelt mutant is a usage fault, never a clean service that nothing can catch."""
    with pytest.raises(AssertionError, match="no mutant crash-never"):
        own_rail(mutant="crash-never")
