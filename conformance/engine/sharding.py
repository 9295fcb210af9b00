"""A run shared out among machines: each part is some whole requirements, with all the checks that decide them.

Requirements that one check decides stay together, so that no check runs twice and no verdict hangs on two machines.
What a part takes is weighed by what its checks took in a recorded run. The same requirements of the same profile are
shared out alike wherever it is done: nothing is random, and machines differ by their number alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from conformance.engine.catalogue import load_catalogue
from conformance.ledger import Requirement
from conformance.ledger.typical import typical_seconds

# What a check takes at least: those without a figure count, too.
_LEAST_SECONDS = 0.1


@dataclass(slots=True)
class _RowGroup:
    """Requirements that share checks, and what these take in seconds; 0 where nothing is to be run for them."""

    rows: list[Requirement] = field(default_factory=list)
    seconds: float = 0.0


def select_part(
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
    groups = sorted(_group_rows(rows, applies, frozenset(lanes)), key=lambda group: -group.seconds)
    busy = sum(group.seconds > 0 for group in groups)
    if busy < of:
        raise ValueError(f"these requirements make {busy} parts with anything to do, not {of}")
    loads, parts = [0.0] * of, [set[str]() for _ in range(of)]
    for group in groups:
        place = loads.index(min(loads))
        loads[place] += group.seconds
        parts[place] |= {row.id for row in group.rows}
    return tuple(row for row in rows if row.id in parts[number - 1])


def _group_rows(
    rows: Sequence[Requirement], applies: Callable[[Requirement], bool], lanes: frozenset[str]
) -> Iterable[_RowGroup]:
    """Return the requirements by what they share, in the order of the first of each."""
    applicable_ids = {row.id for row in rows if applies(row)}
    root = {row.id: row.id for row in rows}

    def find_root(row_id: str) -> str:
        while root[row_id] != row_id:
            row_id = root[row_id]
        return row_id

    seconds = dict.fromkeys(root, 0.0)
    for check in load_catalogue():
        roots = [find_root(row_id) for row_id in check.rows if row_id in root]
        for root_id in roots[1:]:
            root[find_root(root_id)] = find_root(roots[0])
        if applicable_ids.intersection(check.rows):
            seconds[roots[0]] += max(_LEAST_SECONDS, _estimate_seconds(check.id, lanes))
    groups: dict[str, _RowGroup] = {}
    for row in rows:
        group = groups.setdefault(find_root(row.id), _RowGroup())
        group.rows.append(row)
        group.seconds += seconds[row.id]
    return groups.values()


def _estimate_seconds(check: str, lanes: frozenset[str]) -> float:
    """Return what a check takes, on these lanes or on all."""
    typical = typical_seconds()
    on_lanes = (
        typical[name]
        for name in typical
        if name.startswith(f"{check}[") and (not lanes or name[len(check) + 1 : -1] in lanes)
    )
    return typical.get(check, 0.0) + sum(on_lanes)
