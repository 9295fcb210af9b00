"""One world: a rail, its chains and its payers, from a seed to a judgement."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.simulation import operations
from tests.simulation.chains import Algorand, PayingChain, Solana
from tests.simulation.judging import Judge, Violation
from tests.simulation.loop import VirtualLoop
from tests.simulation.patches import Surroundings, cpu
from tests.simulation.payers import Market, redeem
from tests.simulation.rail import Rail, remove
from tests.simulation.wire import NodeNetwork

_SHARED = Path("/dev/shm")  # noqa: S108 - a folder of our own in it; an fsync costs nothing there
_NAMES = ("first", "second", "third")


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a world is made from.

    Attributes:
        seed: Everything that happens by chance follows from it.
        count: How many operations there are.
        only: Numbers of those that are carried out; None for all.
        kinds: Names of the operations that may be drawn; None for all.
    """

    seed: int
    count: int
    only: tuple[int, ...] | None = None
    kinds: tuple[str, ...] | None = None


@dataclass(slots=True)
class Outcome:
    """What came of a world."""

    scenario: Scenario
    trace: str
    violations: list[Violation]
    counts: dict[str, int]
    virtual_seconds: float
    cpu_seconds: float
    steps: int
    lines: list[str] = field(default_factory=list)
    done: list[tuple[int, str]] = field(default_factory=list)
    began: list[tuple[int, float]] = field(default_factory=list)


def run(scenario: Scenario, *, lines: bool = False) -> Outcome:
    """Carry out a scenario."""
    began = cpu()
    loop = VirtualLoop(str(scenario.seed))
    Surroundings.loop, Surroundings.chance = loop, random.Random(f"{scenario.seed}:world")
    folder = Path(tempfile.mkdtemp(prefix="simulation-", dir=_SHARED if _SHARED.is_dir() else None))
    judge = Judge(loop, [] if lines else None)
    asyncio.set_event_loop(loop)
    try:
        done = loop.run_until_complete(_live(scenario, loop, judge, folder))
        spent = cpu() - began
        return Outcome(
            scenario,
            judge.trace,
            judge.violations,
            judge.counts,
            loop.time(),
            spent,
            loop.steps,
            judge.lines or [],
            [(number, kind) for number, kind, _ in done],
            [(number, at) for number, _, at in done],
        )
    finally:
        loop.close()
        asyncio.set_event_loop(None)
        Surroundings.loop = None
        remove(folder)


async def _live(scenario: Scenario, loop: VirtualLoop, judge: Judge, folder: Path) -> list[tuple[int, str, float]]:
    seed = str(scenario.seed)
    nodes = NodeNetwork(loop, seed)
    Surroundings.request = nodes.request
    made: Sequence[PayingChain] = (
        Algorand(nodes, random.Random(f"{seed}:algorand")),
        Solana(nodes, random.Random(f"{seed}:solana")),
    )
    chains = {one.network: one for one in made}
    rail = Rail(loop, seed, folder, chains, _NAMES)
    for worker in rail.workers.values():
        await worker.start()
    market = Market(rail, judge)
    stage = operations.Stage(market, nodes, seed)
    done = await operations.perform(stage, scenario.count, only=scenario.only, kinds=scenario.kinds)
    await _heal(stage, rail)
    await _judge_all(market, seed)
    for worker in rail.workers.values():
        await worker.stop()
    return done


async def _heal(stage: operations.Stage, rail: Rail) -> None:
    """Make everything as it should be: nodes up, clocks right, workers started anew."""
    await stage.settle()
    for worker in rail.workers.values():
        worker.set_clock(0.0)
        await worker.stop()
        await worker.start()
    await asyncio.sleep(120)


async def _judge_all(market: Market, seed: str) -> None:
    """Every honest payment is served, now at the latest."""
    chance = random.Random(f"{seed}:last")
    for worker in market.rail.workers.values():
        if worker.app is None:
            market.judge.violated("does-not-start", worker.name, worker.trouble or "")
    for payment in market.payments:
        if payment.answer is not None:
            continue
        before = len(market.judge.violations)
        await redeem(market, payment, chance, until=market.now() + 600)
        del market.judge.violations[before:]
        if payment.answer is None:
            market.judge.violated("honest-lost", payment.actor, f"paid {payment.tx_id}, never served: {payment.last}")
