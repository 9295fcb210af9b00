"""`weldproof pay` on Solana when the node gets the transaction after its blockhash has lapsed.

The rail, the gateway and the chain are real processes. A proxy in front of the chain lets blockhashes lapse.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.conformance.cli.killing import CALL, PRICE, USDC, Payer, Seen, World, world

LANE = "solana"
# Blockhashes of the stack's node are good for 3,000 slots.
SLOTS = 3100


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A simulated rail and gateway with one lane, behind proxies."""
    with world(
        tmp_path_factory.mktemp("stack"), "--surface", "rail", "--surface", "gateway", "--lane", LANE
    ) as new_world:
        yield new_world
        new_world.watch = None


class Late:
    """Lets the chain outlive the blockhash of the first transactions before the node gets them."""

    def __init__(self, stack: World, times: int) -> None:
        self._control = f"{stack.ready[LANE]}/control"
        self._times = times
        self.transactions = 0

    def __call__(self, request_seen: Seen) -> bool:
        """Return that nothing is cut off."""
        if request_seen.is_transaction and request_seen.phase == "before":
            self.transactions += 1
            if self.transactions <= self._times:
                verb = {"verb": "advance", "blocks": SLOTS}
                httpx.post(self._control, json=verb, trust_env=False, timeout=60).raise_for_status()
        return False


def test_a_call_is_paid_once_by_the_transaction_that_came_in_time(stack: World, tmp_path: Path) -> None:
    """Two transactions are refused and never land; the third pays, and its id is the one that is stored."""
    payer, late = Payer(stack, tmp_path), Late(stack, 2)
    before = stack.balance_of(LANE, stack.ready["payto_solana"], USDC[LANE]["rail"])
    stack.watch = late
    result = payer.run_command(stack.places[stack.ready["rail"]] + CALL)
    assert result.returncode == 0, result.stderr
    assert late.transactions == 3
    assert result.stdout.count("signed:") == 3
    assert stack.balance_of(LANE, stack.ready["payto_solana"], USDC[LANE]["rail"]) - before == PRICE
    [record] = payer.records()
    assert record["state"] == "served"
    assert record["signed"]["proof"]["tx_id"] == record["signed"]["tx_id"]


def test_a_link_is_paid_once_by_the_transaction_that_came_in_time(stack: World, tmp_path: Path) -> None:
    """The transfer with the memo is signed again, too."""
    payer, late = Payer(stack, tmp_path), Late(stack, 1)
    page, payee, asset = stack.link(LANE)
    before = stack.balance_of(LANE, payee, asset)
    stack.watch = late
    result = payer.run_command(page)
    assert result.returncode == 0, result.stderr
    assert (late.transactions, stack.balance_of(LANE, payee, asset) - before) == (2, PRICE)


def test_a_node_that_is_always_too_late_is_paid_nothing(stack: World, tmp_path: Path) -> None:
    """After four signatures the command ends, and says that nothing was paid."""
    payer, late = Payer(stack, tmp_path), Late(stack, 100)
    before = stack.balance_of(LANE, stack.ready["payto_solana"], USDC[LANE]["rail"])
    stack.watch = late
    result = payer.run_command(stack.places[stack.ready["rail"]] + CALL)
    assert result.returncode == 3, result.stderr
    assert "BlockhashNotFound" in result.stderr
    assert "Nothing was paid" in result.stderr
    assert late.transactions == 4
    assert [one["state"] for one in payer.records()] == ["not_paid"]
    assert stack.balance_of(LANE, stack.ready["payto_solana"], USDC[LANE]["rail"]) == before
