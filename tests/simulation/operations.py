"""What happens in a world: each operation by its number, drawn from the seed and that number alone.

So an operation is the same whether others happen or not, which is what lets a failing list be made shorter.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.simulation import a2a_payers, cheats, faults, gateway, neighbours, operator_desk, payers
from tests.simulation.gateway import Shop
from tests.simulation.payers import Market
from tests.simulation.receivers import Receiver
from tests.simulation.wire import NodeNetwork


@dataclass(slots=True)
class Stage:
    """What operations act on."""

    market: Market
    shop: Shop | None
    nodes: NodeNetwork
    receivers: Sequence[Receiver]
    seed: str
    running: list[asyncio.Task[None]] = field(default_factory=list)

    async def settle(self) -> None:
        """Wait for what is going on."""
        await asyncio.gather(*self.running)


Act = Callable[[Stage, str, random.Random], Coroutine[Any, Any, None]]


async def _honest(stage: Stage, actor: str, chance: random.Random) -> None:
    await payers.honest(stage.market, actor, chance)


def _of_payers(act: Callable[[Market, str, random.Random], Awaitable[None]]) -> Act:
    async def run_act(stage: Stage, actor: str, chance: random.Random) -> None:
        await act(stage.market, actor, chance)

    return run_act


def _of_shoppers(act: Callable[[Shop, str, random.Random], Awaitable[None]]) -> Act:
    async def run_act(stage: Stage, actor: str, chance: random.Random) -> None:
        if stage.shop is not None:
            await act(stage.shop, actor, chance)

    return run_act


def _of_faults(act: Callable[[Stage, random.Random], Awaitable[None]]) -> Act:
    async def run_act(stage: Stage, actor: str, chance: random.Random) -> None:
        del actor
        await act(stage, chance)

    return run_act


async def _pay_both(stage: Stage, actor: str, chance: random.Random) -> None:
    if stage.shop is not None:
        await cheats.pay_call_and_link(stage.market, stage.shop, actor, chance)


PAYERS: Mapping[str, int] = {
    "honest": 100,
    "race": 8,
    "elsewhere": 6,
    "foreign": 8,
    "short": 3,
    "late": 3,
    "twice": 4,
    "a2a": 25,
    "doors": 8,
}
SHOPPERS: Mapping[str, int] = {"link": 25, "two_links": 2, "both": 3, "neighbours": 4}
FAULTS: Mapping[str, int] = {
    "restart": 4,
    "kill": 10,
    "kill_all": 2,
    "reprice": 3,
    "switch_off": 1,
    "outage": 3,
    "broken_answers": 5,
    "lie": 3,
    "skew": 3,
    "jump": 2,
    "key_file": 2,
    "trusted_file": 2,
    "locked": 2,
    "reorganisation": 2,
    "withheld": 3,
    "dear": 2,
    "overtaken": 3,
    "cancelled": 2,
    "idle": 1,
    "receiver": 4,
    "gone_for_good": 2,
}
# Worlds in which one of these may happen have a Base; those of lists without them were found before there was one.
SETTLING_FAULTS = frozenset({"withheld", "dear", "overtaken", "cancelled"})
# Worlds in which one of these may happen have two tenants, both paid to one address.
BESIDE = frozenset({"neighbours"})
# Worlds in which one of these may happen have receivers of webhooks.
TOLD_FAULTS = frozenset({"receiver"})
# Happen only where they are named, so that the other worlds of a seed are what they were.
NAMED_KINDS: Mapping[str, int] = {"operator": 30, "cold_boot": 10, "struck": 30}
WEIGHTS: Mapping[str, int] = {**PAYERS, **SHOPPERS, **FAULTS, **NAMED_KINDS}
# What no rail can stand: a node that says for days that a payment is not there.
BEYOND_ANY_RAIL = frozenset({"gone_for_good"})
STANDING_KINDS = tuple(name for name in WEIGHTS if name not in BEYOND_ANY_RAIL and name not in NAMED_KINDS)
# Faults whose kind, which commands and recorded worlds name, is no name for a function.
_FUNCTIONS = {"cancelled": "cancel", "locked": "lock", "withheld": "withhold"}
ACTS: Mapping[str, Act] = {
    "honest": _honest,
    "a2a": _of_payers(a2a_payers.a2a),
    "doors": _of_payers(a2a_payers.doors),
    **{name: _of_payers(getattr(cheats, name)) for name in cheats.__all__ if name in PAYERS},
    "link": _of_shoppers(gateway.link_payer),
    "two_links": _of_shoppers(gateway.two_links),
    "both": _pay_both,
    "neighbours": _of_shoppers(neighbours.neighbours),
    **{name: _of_faults(getattr(faults, _FUNCTIONS.get(name, name))) for name in FAULTS},
    "operator": _of_payers(operator_desk.operator),
    "cold_boot": _of_faults(faults.cold_boot),
    "struck": _of_payers(payers.struck),
}


def draw_operation(
    seed: str, number: int, kinds: tuple[str, ...] | None, crowd: int = 1
) -> tuple[str, float, random.Random]:
    """Return an operation's kind, the seconds before it, and its chance.

    In a crowd of N, payers come N times as often; faults come as often as ever, so no two more of them at once.
    """
    chance = random.Random(f"{seed}:operation:{number}")
    names = [name for name in WEIGHTS if (name not in NAMED_KINDS if kinds is None else name in kinds)]
    weights = {name: WEIGHTS[name] * (crowd if name in PAYERS or name in SHOPPERS else 1) for name in names}
    [kind] = chance.choices(names, [*weights.values()])
    how = chance.random()
    gap = chance.uniform(0, 20) if how < 0.7 else chance.uniform(20, 600) if how < 0.9 else chance.uniform(600, 20_000)
    gap *= sum(WEIGHTS[name] for name in names) / sum(weights.values())
    return kind, gap + (chance.uniform(1, 9) * 86400 if kind == "idle" else 0), chance


async def perform(
    stage: Stage, count: int, *, only: tuple[int, ...] | None, kinds: tuple[str, ...] | None, crowd: int
) -> list[tuple[int, str, float]]:
    """Carry operations out, each in its time, and return number, kind and beginning of those that were."""
    done_operations = []
    for number in range(count):
        kind, gap, chance = draw_operation(stage.seed, number, kinds, crowd)
        await asyncio.sleep(gap)
        if only is not None and number not in only:
            continue
        actor = f"{number}:{kind}"
        stage.market.judge.note(actor, "begins")
        done_operations.append((number, kind, stage.market.now()))
        stage.running.append(asyncio.create_task(ACTS[kind](stage, actor, chance)))
    return done_operations
