"""Rounds: places that can be negated in one run, since no check comes by two of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


def rounds(checks: Mapping[str, Collection[str]]) -> Sequence[Sequence[str]]:
    """Divide places into as few rounds as is simple.

    A check that judges wrongly at one place may never come to its next, so each of its places has a round of its own.

    Args:
        checks: The checks that come by each place.

    Returns:
        The places of each round; together they are all, each once.
    """
    checks_by_round: list[set[str]] = []
    places_by_round: list[list[str]] = []
    # Those that most checks come by have the fewest rounds to choose from.
    for place in sorted(checks, key=lambda name: (-len(checks[name]), name)):
        free = next(
            (number for number, some in enumerate(checks_by_round) if some.isdisjoint(checks[place])),
            len(checks_by_round),
        )
        if free == len(checks_by_round):
            checks_by_round.append(set())
            places_by_round.append([])
        checks_by_round[free].update(checks[place])
        places_by_round[free].append(place)
    return places_by_round
