"""A node in DevMode whose clock falls behind: the launcher lets as many blocks pass as are needed, and no more."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import pytest

from localnet.block_clocks import keep_current
from localnet.lanes.algorand.trailing import CURRENT_SECONDS, STEP_SECONDS, catch_up
from localnet.rpc import NodeFault
from localnet.verbs import MayTrail, Verb

NOW = 1_800_000_000


@dataclass
class DevMode:
    """A node whose blocks are at most 25 s apart in block time.

    Attributes:
        newest: Time of its newest block.
        step: By how much a block's time may exceed that of the block before.
        blocks: How many blocks were made.
    """

    newest: int
    step: int = STEP_SECONDS
    blocks: int = 0

    async def newest_time(self) -> int:
        return self.newest

    async def pass_block(self) -> None:
        self.blocks += 1
        self.newest = min(NOW, self.newest + self.step)

    async def catch_up(self) -> int:
        return await catch_up(self.newest_time, self.pass_block, clock=lambda: NOW)


@pytest.mark.parametrize(
    ("idle", "blocks"), [(0, 0), (20, 0), (21, 1), (45, 1), (46, 2), (191, 7), (444, 17), (600, 24)]
)
async def test_an_idle_node_is_brought_up_to_date(idle: int, blocks: int) -> None:
    """As many blocks as the time needs; afterwards the next block is of the present time."""
    node = DevMode(NOW - idle)
    assert await node.catch_up() == blocks == node.blocks
    assert NOW - node.newest <= CURRENT_SECONDS < STEP_SECONDS


async def test_a_node_on_ordinary_rounds_or_ahead_of_the_clock_costs_nothing() -> None:
    """A block of the last seconds, or one of the future after a test moved the clock, needs no other block."""
    assert await DevMode(NOW - 4).catch_up() == 0
    assert await DevMode(NOW + 7200).catch_up() == 0


async def test_a_clock_that_does_not_move_is_reported() -> None:
    """One round of blocks, and no payments for ever."""
    node = DevMode(NOW - 100, step=0)
    with pytest.raises(NodeFault, match="4 blocks of algod did not bring its clock nearer: it is 100 s behind"):
        await node.catch_up()
    assert node.blocks == 4


async def test_a_network_of_last_month_is_not_made_up_for() -> None:
    """A new network is quicker, and the message says so; no block is made."""
    node = DevMode(NOW - 30 * 86_400)
    with pytest.raises(NodeFault, match=r"30 days behind.*start a new network"):
        await node.catch_up()
    assert node.blocks == 0


class Keeper:
    """Verbs of a node whose clock has to be kept current; some looks fail."""

    def __init__(self, *faults: str) -> None:
        self.faults = [*faults]
        self.looks = 0
        self.is_done = asyncio.Event()

    async def prepare(self) -> None:
        """Nothing is to be prepared."""

    def all(self) -> Mapping[str, Verb]:
        return {}

    async def keep_current(self) -> None:
        self.looks += 1
        if self.faults:
            raise NodeFault(self.faults.pop(0))
        if self.looks >= 6:
            self.is_done.set()


async def test_the_clock_is_kept_current_during_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    """It is looked at again and again; a fault is printed once for as long as it stays, and ends nothing."""
    node = Keeper("away", "away", "refused", "away")
    keeper = asyncio.create_task(keep_current(node, every=0.001))
    async with asyncio.timeout(60):
        await node.is_done.wait()
    keeper.cancel()
    with suppress(asyncio.CancelledError):
        await keeper
    said = capsys.readouterr().err.splitlines()
    assert isinstance(node, MayTrail)
    assert said == [f"block clock: {fault}" for fault in ("away", "refused", "away")]
