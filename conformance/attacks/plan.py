"""The choice of the replays of one success: every single change, and pairs of axes drawn from the seed."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from itertools import combinations

from conformance.attacks.replay import Change, Material, Replay, changes

LEAST_REPLAYS = 200


def plan(captured: Replay, material: Material, rng: random.Random, *, least: int = LEAST_REPLAYS) -> list[Replay]:
    """Return the replays of a captured success: unchanged, every single change, then distinct pairs up to `least`.

    Args:
        captured: The request that was served.
        material: The material for the changes.
        rng: Draws the pairs; the same seed gives the same replays.
        least: The number of replays at least, as far as there are pairs.
    """
    singles = changes(material)
    chosen = [captured, *(one.apply(captured) for one in singles)]
    # Two changes of one axis would overwrite each other, so pairs are of different axes.
    pairs = [(one, other) for one, other in combinations(singles, 2) if one.axis != other.axis]
    rng.shuffle(pairs)
    chosen += [other.apply(one.apply(captured)) for one, other in pairs[: max(0, least - len(chosen))]]
    return chosen


def rows_of(replay: Replay, material: Material) -> tuple[str, ...]:
    """Return the requirements that a replay probes, by its changes; an unchanged one probes the single use."""
    by_name = {one.name: one.row for one in changes(material)}
    return tuple(dict.fromkeys(by_name[name] for name in replay.changes)) or ("RAIL-WELD-11",)


def unexplained(found: Sequence[tuple[str, ...]]) -> list[int]:
    """Return the breaches that no smaller breach explains, by their places in `found`.

    Every single change is replayed. So a pair with a member that is a breach alone adds no information.

    Args:
        found: The names of the changes of each breach.
    """
    sets = [frozenset(names) for names in found]
    return [place for place, names in enumerate(sets) if not any(other < names for other in sets)]


async def reduce(
    captured: Replay, breach: Replay, material: Material, is_breach: Callable[[Replay], Awaitable[bool]]
) -> Replay:
    """Return the breach with the fewest changes: none, one, or all as it was found."""
    by_name = {one.name: one for one in changes(material)}
    for size in range(len(breach.changes)):
        for names in combinations(breach.changes, size):
            candidate = _apply(captured, [by_name[name] for name in names])
            if await is_breach(candidate):
                return candidate
    return breach


def _apply(captured: Replay, chosen: Sequence[Change]) -> Replay:
    for one in chosen:
        captured = one.apply(captured)
    return captured
