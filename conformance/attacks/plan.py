"""The choice of the replays of one success: every single change, and pairs of axes drawn from the seed."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from itertools import combinations

from conformance.attacks.replay_changes import Change, Material, Replay, list_changes

# Every single change is about half of this. Pairs of different axes fill up the rest.
LEAST_REPLAYS = 200


def plan_replays(
    success: Replay, material: Material, rng: random.Random, *, least: int = LEAST_REPLAYS
) -> list[Replay]:
    """Return the replays of a captured success: unchanged, every single change, then distinct pairs up to `least`.

    Args:
        success: The request that was served.
        material: The material for the changes.
        rng: Draws the pairs; the same seed gives the same replays.
        least: The number of replays at least, as far as there are pairs.
    """
    singles = list_changes(material)
    replays = [success, *(one.apply(success) for one in singles)]
    # Two changes of one axis would overwrite each other, so pairs are of different axes.
    pairs = [(one, other) for one, other in combinations(singles, 2) if one.axis != other.axis]
    rng.shuffle(pairs)
    replays += [other.apply(one.apply(success)) for one, other in pairs[: max(0, least - len(replays))]]
    return replays


def find_rows(replay: Replay, material: Material) -> tuple[str, ...]:
    """Return the requirements that a replay probes, by its changes; an unchanged one probes the single use."""
    by_name = {one.name: one.row for one in list_changes(material)}
    return tuple(dict.fromkeys(by_name[name] for name in replay.changes)) or ("RAIL-WELD-11",)


def find_unexplained(change_names: Sequence[tuple[str, ...]]) -> list[int]:
    """Return the breaches that no smaller breach explains, by their places in `change_names`.

    Every single change is replayed. So a pair with a member that is a breach alone adds no information.

    Args:
        change_names: The names of the changes of each breach.
    """
    name_sets = [frozenset(names) for names in change_names]
    # A proper subset of the changes explains a breach; an equal set is the breach itself.
    return [place for place, names in enumerate(name_sets) if not any(other < names for other in name_sets)]


async def reduce_breach(
    success: Replay, breach: Replay, material: Material, is_breach: Callable[[Replay], Awaitable[bool]]
) -> Replay:
    """Return the breach with the fewest changes: none, one, or all as it was found."""
    by_name = {one.name: one for one in list_changes(material)}
    for size in range(len(breach.changes)):
        for names in combinations(breach.changes, size):
            candidate = _apply(success, [by_name[name] for name in names])
            if await is_breach(candidate):
                return candidate
    return breach


def _apply(replay: Replay, change_list: Sequence[Change]) -> Replay:
    for change in change_list:
        replay = change.apply(replay)
    return replay
