"""One world: a rail, its chains and its payers, from a seed to a judgement."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reference.webhooks.dispatcher_runner import deliver
from tests.simulation import operations
from tests.simulation.base import Base
from tests.simulation.chains import Algorand, PayingChain, SendingChain, Solana
from tests.simulation.gateway import Gateway, Shop, follow
from tests.simulation.judging import Judge, Violation
from tests.simulation.loop import VirtualLoop
from tests.simulation.neighbours import NAMES
from tests.simulation.operator_desk import judge_refunds
from tests.simulation.patches import Surroundings, cpu
from tests.simulation.payers import Market, redeem
from tests.simulation.rail import Rail
from tests.simulation.receivers import Receiver, judge_events, open_receivers
from tests.simulation.wire import NodeNetwork
from tests.simulation.workers import Fleet, Worker

_SHARED_FOLDER = Path("/dev/shm")  # noqa: S108 - a folder of our own in it; an fsync costs nothing there
_RAIL_NAMES, _GATEWAY_NAMES = ("first", "second", "third"), ("left", "right")


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a world is made from.

    Attributes:
        seed: Everything that happens by chance follows from it.
        count: How many operations there are.
        only: Numbers of those that are carried out; None for all.
        kinds: Names of the operations that may be drawn; None for all.
        databases: Addresses of empty databases for rail and gateway; without any, files of SQLite.
        crowd: How many times as often payers come; faults come as often as ever.
    """

    seed: int
    count: int
    only: tuple[int, ...] | None = None
    kinds: tuple[str, ...] | None = None
    databases: tuple[str, str] = ("", "")
    crowd: int = 1


@dataclass(slots=True)
class Outcome:
    """What came of a world.

    Attributes:
        requests: How many requests of payers, tenants and operators were answered; an operation is one or many.
        transfers: How many payments were made or authorized.
        commits: How often a database's writer carried out what it was given.
    """

    scenario: Scenario
    trace: str
    violations: list[Violation]
    counts: dict[str, int]
    virtual_seconds: float
    cpu_seconds: float
    steps: int
    requests: int = 0
    transfers: int = 0
    commits: int = 0
    lines: list[str] = field(default_factory=list)
    done: list[tuple[int, str]] = field(default_factory=list)
    began: list[tuple[int, float]] = field(default_factory=list)


def run(scenario: Scenario, *, lines: bool = False) -> Outcome:
    """Carry out a scenario."""
    began = cpu()
    loop = VirtualLoop(str(scenario.seed), scenario.crowd)
    Surroundings.commits = 0
    Surroundings.loop, Surroundings.chance = loop, random.Random(f"{scenario.seed}:world")
    folder = Path(tempfile.mkdtemp(prefix="simulation-", dir=_SHARED_FOLDER if _SHARED_FOLDER.is_dir() else None))
    judge = Judge(loop, [] if lines else None)
    asyncio.set_event_loop(loop)
    try:
        operations_done = loop.run_until_complete(_live(scenario, loop, judge, folder))
        cpu_seconds = cpu() - began
        return Outcome(
            scenario,
            judge.trace,
            judge.violations,
            judge.counts,
            loop.time(),
            cpu_seconds,
            loop.steps,
            judge.requests,
            len(judge.transfers),
            Surroundings.commits,
            judge.lines or [],
            [(number, kind) for number, kind, _ in operations_done],
            [(number, at) for number, _, at in operations_done],
        )
    finally:
        loop.close()
        asyncio.set_event_loop(None)
        Surroundings.loop = None
        shutil.rmtree(folder, ignore_errors=True)


async def _live(scenario: Scenario, loop: VirtualLoop, judge: Judge, folder: Path) -> list[tuple[int, str, float]]:
    seed = str(scenario.seed)
    nodes = NodeNetwork(loop, seed)
    Surroundings.request = nodes.request
    sending_chains: Sequence[SendingChain] = (
        Algorand(nodes, random.Random(f"{seed}:algorand")),
        Solana(nodes, random.Random(f"{seed}:solana")),
    )
    paying_chains: list[PayingChain] = [*sending_chains]
    if _may(scenario, operations.SETTLING_FAULTS):
        paying_chains.append(Base(nodes, random.Random(f"{seed}:base")))
    for name in [name for name in os.environ if name.startswith(("WP_NODE_", "WP_INDEXER_"))]:
        del os.environ[name]  # of the world before, whose chains may be others
    for chain in paying_chains:
        key = chain.network.upper()
        os.environ[f"WP_NODE_{key}"], *other_hosts = (f"http://{host}" for host in chain.hosts)
        os.environ.update({f"WP_INDEXER_{key}": host for host in other_hosts})
    chains = {one.network: one for one in paying_chains}
    rail = Rail(loop, seed, folder, chains, _RAIL_NAMES, scenario.databases[0])
    market = Market(rail, judge)
    shop: Shop | None = None
    if _may(scenario, operations.SHOPPERS):
        links = {one.network: one for one in sending_chains}
        shop = Shop(Gateway(loop, seed, folder / "gateway", links, _GATEWAY_NAMES, scenario.databases[1]), judge)
        if _may(scenario, operations.TOLD_FAULTS):
            shop.gateway.beside = (deliver,)
    fleets: list[Fleet] = [rail] if shop is None else [rail, shop.gateway]
    workers = [worker for fleet in fleets for worker in fleet.workers.values()]
    _set_first_clocks(scenario, workers)
    for worker in workers:
        await worker.start()
    if shop is not None:
        await shop.open(random.Random(f"{seed}:shop"), NAMES if _may(scenario, operations.BESIDE) else NAMES[:1])
    receivers: list[Receiver] = []
    if shop is not None and shop.gateway.beside:
        receivers = await open_receivers(shop, nodes, random.Random(f"{seed}:receivers"), seed)
    stage = operations.Stage(market, shop, nodes, receivers, seed)
    operations_done = await operations.perform(
        stage, scenario.count, only=scenario.only, kinds=scenario.kinds, crowd=scenario.crowd
    )
    await stage.settle()
    await _heal(workers)
    await _judge_all(market, shop, workers, seed)
    await judge_events(judge, receivers)
    for worker in workers:
        await worker.stop()
    return operations_done


def _may(scenario: Scenario, kinds: Iterable[str]) -> bool:
    """Return whether one of these may happen in a world."""
    return scenario.kinds is None or not set(scenario.kinds).isdisjoint(kinds)


def _set_first_clocks(scenario: Scenario, workers: Sequence[Worker]) -> None:
    """Let clocks differ from the beginning, in some of the worlds in which they may."""
    chance = random.Random(f"{scenario.seed}:clocks")
    if (scenario.kinds is None or "skew" in scenario.kinds) and chance.random() < 0.5:
        for worker in workers:
            worker.set_clock(chance.uniform(-25, 25))


async def _heal(workers: Sequence[Worker]) -> None:
    """Restore everything: clocks right, workers restarted."""
    for worker in workers:
        worker.set_clock(0.0)
        await worker.stop()
        await worker.start()
    await asyncio.sleep(120)


async def _judge_all(market: Market, shop: Shop | None, workers: Sequence[Worker], seed: str) -> None:
    """Every honest payment is served, now at the latest."""
    chance = random.Random(f"{seed}:last")
    judge = market.judge
    for worker in workers:
        if worker.app is None:
            judge.note_violation("does-not-start", worker.name, worker.trouble or "")
    for payment in market.payments:
        stands = market.rail.chains[payment.network].has(payment.tx_id)
        if payment.answer is not None and not stands:
            judge.note_violation(
                "served-for-nothing", payment.actor, f"{payment.tx_id} was undone, and it bought an answer"
            )
        if payment.answer is not None or not stands:
            continue
        chain = market.rail.chains[payment.network]
        if payment.refused and isinstance(chain, Base) and chain.is_sent_by_rail(payment.tx_id):
            # A payer whose payment was refused pays again, so a payment that the rail sends afterwards was paid twice.
            judge.note_violation("refused-and-charged", payment.actor, f"{payment.refused}, and then the rail sent it")
        before = len(judge.violations)
        await redeem(market, payment, chance, until=market.now() + 600)
        del judge.violations[before:]
        if payment.answer is None and not payment.given_back:
            judge.note_violation("honest-lost", payment.actor, f"paid {payment.tx_id}, never served: {payment.last}")
    if judge.given_back:
        await judge_refunds(market, chance)
    if shop is not None:
        await _judge_links(shop, chance)


async def _judge_links(shop: Shop, chance: random.Random) -> None:
    judge = shop.judge
    for bill in shop.bills:
        stands = shop.gateway.chains[bill.network].has(bill.tx_id)
        if bill.paid and not stands:
            judge.note_violation("served-for-nothing", bill.actor, f"{bill.tx_id} was undone, and it paid a link")
        if bill.paid or not stands:
            continue
        before = len(judge.violations)
        await follow(shop, chance, bill, seconds=600)
        del judge.violations[before:]
        if not bill.paid:
            judge.note_violation("link-lost", bill.actor, f"paid {bill.tx_id}, and the link is {bill.last}")
