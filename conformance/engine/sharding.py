"""A run shared out among machines: each part is some whole requirements, with all the checks that decide them.

Requirements that one check decides stay together, so that no check runs twice and no verdict hangs on two machines.
What a part takes is weighed by what its checks took in a recorded run. The same requirements of the same profile are
shared out alike wherever it is done: nothing is random, and machines differ by their number alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from conformance.engine.catalogue import catalogue
from conformance.ledger import Requirement
from conformance.ledger.typical import typical_seconds

# What a check takes at least: those without a figure count, too.
_LEAST_SECONDS = 0.1


@dataclass(slots=True)
class _Together:
    """Requirements that share checks, and what these take in seconds; 0 where nothing is to be run for them."""

    rows: list[Requirement] = field(default_factory=list)
    seconds: float = 0.0


def part(
    rows: Sequence[Requirement],
    number: int,
    of: int,
    *,
    applies: Callable[[Requirement], bool],
    lanes: Iterable[str] = (),
) -> tuple[Requirement, ...]:
    """Return one part of the requirements of a run; the parts from 1 to `of` are all of them, each once.

    Args:
        rows: The requirements of the whole run.
        number: Which part, from 1.
        of: How many there are.
        applies: Whether a requirement applies to the target, so that its checks are run.
        lanes: The lanes that the run is of; all by default.

    Raises:
        ValueError: There are not so many parts with anything to do; its text says how many there are.
    """
    groups = sorted(_together(rows, applies, frozenset(lanes)), key=lambda group: -group.seconds)
    busy = sum(group.seconds > 0 for group in groups)
    if busy < of:
        raise ValueError(f"these requirements make {busy} parts with anything to do, not {of}")
    loads, parts = [0.0] * of, [set[str]() for _ in range(of)]
    for group in groups:
        place = loads.index(min(loads))
        loads[place] += group.seconds
        parts[place] |= {row.id for row in group.rows}
    return tuple(row for row in rows if row.id in parts[number - 1])


def _together(
    rows: Sequence[Requirement], applies: Callable[[Requirement], bool], lanes: frozenset[str]
) -> Iterable[_Together]:
    """Return the requirements by what they share, in the order of the first of each."""
    applying = {row.id for row in rows if applies(row)}
    root = {row.id: row.id for row in rows}

    def find(row_id: str) -> str:
        while root[row_id] != row_id:
            row_id = root[row_id]
        return row_id

    seconds = dict.fromkeys(root, 0.0)
    for check in catalogue():
        shared = [find(row_id) for row_id in check.rows if row_id in root]
        for other in shared[1:]:
            root[find(other)] = find(shared[0])
        if applying.intersection(check.rows):
            seconds[shared[0]] += max(_LEAST_SECONDS, _seconds(check.id, lanes))
    found: dict[str, _Together] = {}
    for row in rows:
        group = found.setdefault(find(row.id), _Together())
        group.rows.append(row)
        group.seconds += seconds[row.id]
    return found.values()


def _seconds(check: str, lanes: frozenset[str]) -> float:
    """Return what a check takes, on these lanes or on all."""
    typical = typical_seconds()
    on_lanes = (
        typical[name]
        for name in typical
        if name.startswith(f"{check}[") and (not lanes or name[len(check) + 1 : -1] in lanes)
    )
    return typical.get(check, 0.0) + sum(on_lanes)
