"""Division of a run among machines: each part is a set of whole requirements with all checks that decide them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from conformance.engine.catalogue import load_catalogue
from conformance.ledger import Requirement
from conformance.ledger.typical_seconds import typical_seconds

# A check without a recorded time counts as this many seconds, so that many such checks do not count as nothing.
_LEAST_SECONDS = 0.1


@dataclass(slots=True)
class _RowGroup:
    """Requirements that share checks, and the seconds of these checks; 0 if no check runs for them."""

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
    """Return one part of the requirements of a run; each requirement is in exactly one of the parts 1 to `of`.

    Args:
        rows: The requirements of the whole run.
        number: Which part, from 1.
        of: The number of parts.
        applies: Whether a requirement applies to the target, so that its checks run.
        lanes: The lanes of the run; all by default.

    Raises:
        ValueError: Some parts would be empty; the text contains the possible number of parts.
    """
    # The longest group first, each to the part with the least work. Nothing here is random, and the machines do not
    # talk to each other: each computes the same parts from the same files, and takes its own.
    groups = sorted(_group_rows(rows, applies, frozenset(lanes)), key=lambda group: -group.seconds)
    busy = sum(group.seconds > 0 for group in groups)
    if busy < of:
        raise ValueError(f"these requirements make {busy} parts with anything to do, not {of}")
    loads, parts = [0.0] * of, [set[str]() for _ in range(of)]
    for group in groups:
        # The first of several parts with equal work, so that every machine decides in the same way.
        place = loads.index(min(loads))
        loads[place] += group.seconds
        # Groups without a check cost nothing and go along, so that each row of the run is in one part's report.
        parts[place] |= {row.id for row in group.rows}
    return tuple(row for row in rows if row.id in parts[number - 1])


def _group_rows(
    rows: Sequence[Requirement], applies: Callable[[Requirement], bool], lanes: frozenset[str]
) -> Iterable[_RowGroup]:
    """Return groups of requirements that share a check, ordered by their first requirement."""
    applicable_ids = {row.id for row in rows if applies(row)}
    root = {row.id: row.id for row in rows}

    def find_root(row_id: str) -> str:
        while root[row_id] != row_id:
            row_id = root[row_id]
        return row_id

    # Union-find over the rows of each check. Rows of one check stay in one part: no check runs on two machines, and
    # no verdict has to be merged from two machines.
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
    """Return the recorded seconds of a check, on these lanes or on all."""
    typical = typical_seconds()
    on_lanes = (
        typical[name]
        for name in typical
        if name.startswith(f"{check}[") and (not lanes or name[len(check) + 1 : -1] in lanes)
    )
    return typical.get(check, 0.0) + sum(on_lanes)
