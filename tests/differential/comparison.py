"""The comparison of two nodes' answers: what is compared, and which differences have a reason.

A case returns facts: a tree of plain values. Values that cannot be equal on two nodes (hashes, times, heights) are
replaced by their shape. Facts are flattened to paths, so that a row of the table can name the place of each difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

ABSENT = "(not there)"
_BYTES = {"input", "data", "extraData"}
_TEXTS = (
    ("bytes32", re.compile("0x[0-9a-f]{64}")),
    ("address", re.compile("0x[0-9a-f]{40}")),
    ("bloom", re.compile("0x[0-9a-f]{512}")),
    ("eight bytes", re.compile("0x[0-9a-f]{16}")),
    ("quantity", re.compile("0x(0|[1-9a-f][0-9a-f]*)")),
    ("bytes", re.compile("0x([0-9a-f]{2})*")),
    ("signature", re.compile("[1-9A-HJ-NP-Za-km-z]{80,88}")),
    ("key", re.compile("[1-9A-HJ-NP-Za-km-z]{32,44}")),
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two nodes differ.

    Attributes:
        case: Name of the case.
        path: Place among its facts, its parts joined by dots.
        simulated: What the simulator tells there.
        real: What the real node tells there.
    """

    case: str
    path: str
    simulated: Any
    real: Any


@dataclass(frozen=True, slots=True)
class Allowed:
    """A kind of difference that has a reason.

    Attributes:
        case: Pattern of case names, as file names are matched.
        path: Pattern of paths.
        because: What was measured, and why the simulator keeps to its own way.
    """

    case: str
    path: str
    because: str

    def covers(self, difference: Difference) -> bool:
        """Return whether this row is about a difference."""
        return fnmatchcase(difference.case, self.case) and fnmatchcase(difference.path, self.path)


def shape(value: Any, name: str = "") -> Any:
    """Return the form of an answer: its members, and of each value what kind of thing it is.

    Args:
        value: JSON.
        name: Name of the member that holds it, which decides between a number and bytes.
    """
    if isinstance(value, Mapping):
        return {key: shape(inner, key) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [shape(inner, name) for inner in value]
    if value is None:
        return "null"
    if not isinstance(value, str):
        return type(value).__name__
    if name in _BYTES and value.startswith("0x"):
        return "bytes"
    return next((kind for kind, pattern in _TEXTS if pattern.fullmatch(value)), "text")


def flat(facts: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every leaf of a tree of facts with its path; empty objects and lists are leaves."""
    parts: list[tuple[Any, Any]] = []
    if isinstance(facts, Mapping):
        parts = list(facts.items())
    elif isinstance(facts, list | tuple):
        parts = list(enumerate(facts))
    if not parts:
        yield path, facts
    for key, inner in parts:
        yield from flat(inner, f"{path}.{key}" if path else str(key))


class Told:
    """What every case gives on two nodes.

    Attributes:
        facts: Facts by kind of node (`simulated`, `real`) and case; a case that fails has the failure as its fact.
        measured: All differences.
    """

    def __init__(self, cases: Mapping[str, Callable[[Any], Any]], nodes: Mapping[str, Any]) -> None:
        def collect_facts(node: Any) -> dict[str, Any]:
            return {name: _carried_out(case, node) for name, case in cases.items()}

        with ThreadPoolExecutor() as pool:  # most of the time is waiting for the nodes
            self.facts = dict(zip(nodes, pool.map(collect_facts, nodes.values()), strict=True))
        pairs = [(name, self.facts["simulated"][name], self.facts["real"][name]) for name in cases]
        self.measured = [one for name, ours, theirs in pairs for one in differences(name, ours, theirs)]

    def of(self, case: str) -> list[Difference]:
        """Return the differences of one case."""
        return [one for one in self.measured if one.case == case]

    def must_hold(self, kind: str, case: str) -> Any:
        """Return a case's facts.

        Raises:
            Exception: Whatever the case failed with on that node.
        """
        node_facts = self.facts[kind][case]
        if isinstance(node_facts, Exception):
            raise node_facts
        return node_facts


def _carried_out(case: Callable[[Any], Any], node: Any) -> Any:
    try:
        return case(node)
    except Exception as fault:  # noqa: BLE001 - it is raised again by the test of that case
        return fault


def differences(case: str, simulator_value: Any, real: Any) -> list[Difference]:
    """Return where the facts of one case differ, in the order of their paths."""
    ours, theirs = dict(flat(simulator_value)), dict(flat(real))
    places = sorted({*ours, *theirs})
    pairs = [(place, ours.get(place, ABSENT), theirs.get(place, ABSENT)) for place in places]
    return [
        Difference(case, place, simulator_part, real_part)
        for place, simulator_part, real_part in pairs
        if simulator_part != real_part or type(simulator_part) is not type(real_part)
    ]


def list_unexplained(measured_differences: Sequence[Difference], table: Sequence[Allowed]) -> list[Difference]:
    """Return differences that no row of the table is about."""
    return [one for one in measured_differences if not any(row.covers(one) for row in table)]


def list_outlived(measured_differences: Sequence[Difference], table: Sequence[Allowed]) -> list[Allowed]:
    """Return rows of the table whose difference does not occur any more."""
    return [row for row in table if not any(row.covers(one) for one in measured_differences)]
