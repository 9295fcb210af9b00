"""A node in DevMode whose clock falls behind: the launcher lets as many blocks pass as are needed, and no more."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from algosdk import account
from algosdk.v2client.algod import AlgodClient

from localnet.block_clocks import keep_current
from localnet.control_verbs import MayTrail, Verb
from localnet.lanes.algorand.devmode_clock import CURRENT_SECONDS, STEP_SECONDS, SimulatedDevMode, catch_up
from localnet.lanes.lane import Reach
from localnet.lanes.registry import LANES
from localnet.rpc import NodeFault
from tests import prepared

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

    def list_verbs(self) -> Mapping[str, Verb]:
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
    lines = capsys.readouterr().err.splitlines()
    assert isinstance(node, MayTrail)
    assert lines == [f"block clock: {fault}" for fault in ("away", "refused", "away")]


async def test_the_simulator_in_devmode_is_caught_up_by_payments_of_nothing() -> None:
    """As many blocks as the idle time needs, and a node of another mode is left alone."""
    words = ("--algod-port", "0", "--indexer-port", "0", "--mode", "dev", "--idle-seconds", "600")
    with prepared.run_ready("sim.algorand", *words) as ready:
        client = AlgodClient(ready["token"], ready["algod"])
        address = account.generate_account()[1]
        async with aiohttp.ClientSession(trust_env=False) as session:
            clock = SimulatedDevMode(session, ready["algod"], ready["token"], f"{ready['algod']}/control", address)
            await clock.keep_current()
            node_status: Any = await asyncio.to_thread(client.status)
            await clock.keep_current()
            later: Any = await asyncio.to_thread(client.status)
    assert node_status["last-round"] == later["last-round"] == 24


async def test_the_stack_keeps_the_simulator_current_in_devmode_alone(tmp_path: Path) -> None:
    """The launcher keeps it current in DevMode, and leaves the other modes alone."""
    lane, token = LANES["algorand"], tmp_path / "token"
    token.write_text("a" * 64, "ascii")
    reach = Reach({"algod": "http://127.0.0.1:9"}, {"algod_token_file": token}, {"algorand": "http://127.0.0.1:9/c"})
    async with aiohttp.ClientSession(trust_env=False) as session:
        clocks = {mode: lane.simulated_clock(session, reach, "payee", mode) for mode in ("steady", "dev", "rounds")}
        assert {mode for mode, clock in clocks.items() if isinstance(clock, MayTrail)} == {"dev"}
        clock = clocks["dev"]
        assert clock is not None
        with pytest.raises(NodeFault, match="the simulated Algorand"):
            await clock.keep_current()
