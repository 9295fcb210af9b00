"""The control verbs of the simulated Solana."""

from __future__ import annotations

from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

SOMEBODY = str(Pubkey.from_bytes(bytes([5]) * 32))


def test_minting_makes_the_token_account_and_funding_gives_lamports(bench: Any) -> None:
    """Amounts add up, by transactions that can be looked up and are confirmed at once."""
    owner = Keypair().pubkey()
    answers = [bench.control("mint", address=str(owner), amount="300") for _ in range(2)]
    answers += [bench.control("fund", address=str(owner), amount="1000000") for _ in range(2)]
    assert (bench.usdc_balance(owner), bench.balance(owner)) == (600, 2_000_000)
    statuses = [bench.status(one["tx_id"]) for one in answers]
    assert [(one["err"], one["confirmationStatus"]) for one in statuses] == [(None, "confirmed")] * 4


def test_advancing_makes_slots_or_time(bench: Any) -> None:
    """Blocks are slots; seconds move this slot's time and all later ones."""
    head, time = bench.chain.head.number, bench.chain.head.time
    assert head + 7 == bench.control("advance", blocks=7)["slot"]
    assert head + 8 == bench.control("advance", seconds=100)["slot"]
    bench.slots(3)
    assert time + 100 == bench.call("getBlockTime", bench.chain.head.number)
    bench.control("block_time_offset", seconds=250)
    assert time + 250 == bench.call("getBlockTime", bench.chain.head.number)
    assert "never shrinks" in bench.control_refused({"verb": "block_time_offset", "seconds": 249})


def test_time_never_goes_back_within_a_fork(bench: Any) -> None:
    """A system clock that is set back makes slots of the same time."""
    time = bench.chain.head.time
    bench.system_time -= 500
    bench.slots(2)
    assert time == bench.chain.head.time


@pytest.mark.parametrize(
    "members",
    [
        None,
        [],
        {},
        {"verb": "dance"},
        {"verb": "fund", "address": "x", "amount": "1"},
        {"verb": "fund", "address": SOMEBODY, "amount": 1},
        {"verb": "fund", "address": SOMEBODY, "amount": "1"},
        {"verb": "fund", "address": SOMEBODY, "amount": str(2**64)},
        {"verb": "fund", "address": SOMEBODY, "amount": str(2**64 - 1)},
        {"verb": "mint", "address": SOMEBODY, "amount": "-1"},
        {"verb": "mint", "address": SOMEBODY, "amount": "1", "asset": SOMEBODY},
        {"verb": "mint", "address": SOMEBODY, "amount": "1", "asset": 7},
        {"verb": "advance"},
        {"verb": "advance", "blocks": 1, "seconds": 1},
        {"verb": "advance", "blocks": 10**9},
        {"verb": "advance", "seconds": 10**30},
        {"verb": "advance", "blocks": -1},
        {"verb": "lag", "blocks": True},
        {"verb": "reorg", "depth": 0},
        {"verb": "reorg", "depth": 10**9},
        {"verb": "reorg"},
        {"verb": "fault", "name": "nonsense"},
        {"verb": "restore", "id": 0},
        {"verb": "restore", "id": -1},
    ],
)
def test_verbs_that_cannot_be_done_change_nothing(bench: Any, members: Any) -> None:
    """400 with a reason; head and money stay."""
    before = (bench.chain.head, bench.chain.totals(), len(bench.chain.ledger))
    assert bench.control_refused(members)
    assert before == (bench.chain.head, bench.chain.totals(), len(bench.chain.ledger))


def test_minting_more_than_the_token_can_count_is_refused(bench: Any) -> None:
    """The supply stays within 64 bits."""
    bench.control("mint", address=SOMEBODY, amount=str(2**64 - 1))
    assert bench.control_refused({"verb": "mint", "address": SOMEBODY, "amount": "1"})
