"""Which checks reach which line: recorded once, kept as data, and asked for each mutant.

A line is known by its function and its place in it, so that what is recorded stays true when functions move. Where a
function has changed since, everything that reached it counts as reaching each of its lines.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.mutation.places import MODULE, ROOT, Function, Mutant, functions

FOLDER = ROOT / "conformance/recorded/reached"
# What is run while a service starts, before any check.
START_CHECK = "(starting)"


@dataclass(frozen=True, slots=True)
class Reached:
    """A recorded function: the digest of its source, and the checks by line from its first."""

    digest: str
    lines: Mapping[int, frozenset[str]]

    @property
    def whole(self) -> frozenset[str]:
        """Every check that reaches the function."""
        return frozenset(check for checks in self.lines.values() for check in checks)


@dataclass(frozen=True, slots=True)
class Reach:
    """What was recorded on one stand.

    Attributes:
        surfaces: Surfaces whose rows were run.
        lanes: Lanes that were offered.
        functions: What was reached, by function.
    """

    surfaces: tuple[str, ...]
    lanes: tuple[str, ...]
    functions: Mapping[str, Reached]

    def checks(self, mutant: Mutant, root: Path = ROOT) -> frozenset[str]:
        """Return the checks that reach a mutant, `START_CHECK` among them where a service does while it starts."""
        if mutant.names or mutant.function.endswith(MODULE):
            return self._outside(mutant, root)
        recorded_function = self.functions.get(mutant.function)
        if recorded_function is None:
            return frozenset()
        own = next(one for one in functions(root)[mutant.file] if one.key == mutant.function)
        if own.digest != recorded_function.digest:
            return recorded_function.whole
        lines = range(mutant.line - own.first, mutant.end_line - own.first + 1)
        return frozenset(check for line in lines for check in recorded_function.lines.get(line, ()))

    def with_more(self, other: Reach) -> Reach:
        """Return it with what another recording of the same stand found; where a function changed, the newer one's."""
        merged = dict(self.functions)
        for key, newer in other.functions.items():
            old = merged.get(key, Reached(newer.digest, {}))
            is_same = old.digest == newer.digest
            lines = {*newer.lines, *(old.lines if is_same else ())}
            before = {line: old.lines.get(line, frozenset()) if is_same else old.whole for line in lines}
            merged[key] = Reached(
                newer.digest, {line: before[line] | newer.lines.get(line, frozenset()) for line in lines}
            )
        return Reach(self.surfaces, self.lanes, merged)

    def _outside(self, mutant: Mutant, root: Path) -> frozenset[str]:
        """Return what reaches a place outside of functions: what uses its name, in a module that is loaded here."""
        own = functions(root)[mutant.file]
        near = self._of(own)
        users = self._by_names(mutant.names, root) if near or not own else frozenset()
        # A form that a service reads once, while it starts, is used by what the rest of its module does.
        return users if users - {START_CHECK} else users | near

    def _by_names(self, names: Iterable[str], root: Path) -> frozenset[str]:
        """Return what reaches a function that uses one of these names, or a name that is made of one."""
        name_set = set(names)
        return self._of(one for file in functions(root).values() for one in file if name_set & one.uses)

    def _of(self, some_functions: Iterable[Function]) -> frozenset[str]:
        recorded_functions = [self.functions[one.key] for one in some_functions if one.key in self.functions]
        return frozenset(check for one in recorded_functions for check in one.whole)


@cache
def load(name: str, folder: Path = FOLDER) -> Reach:
    """Return what was recorded under a name.

    Raises:
        FileNotFoundError: Nothing was.
    """
    data = json.loads((folder / f"{name}.json").read_bytes())
    checks = data["checks"]
    recorded_functions = {
        key: Reached(record["source"], {int(line): _of_bits(bits, checks) for line, bits in record["lines"].items()})
        for key, record in data["functions"].items()
    }
    return Reach(tuple(data["surfaces"]), tuple(data["lanes"]), recorded_functions)


def save(name: str, reach: Reach, folder: Path = FOLDER) -> None:
    """Keep what was recorded; each line's checks as the bits of a hexadecimal number.

    A check keeps its bit in later recordings, so that a new check or one that is gone changes no other line.
    """
    old_checks = _kept_checks(folder / f"{name}.json")
    new_checks = {check for record in reach.functions.values() for check in record.whole}
    checks = [*old_checks, *sorted(new_checks - {*old_checks})]
    place = {check: number for number, check in enumerate(checks)}
    data = {
        "surfaces": reach.surfaces,
        "lanes": reach.lanes,
        "checks": checks,
        "functions": {
            key: {
                "source": record.digest,
                "lines": {
                    str(line): f"{sum(1 << place[check] for check in new_checks):x}"
                    for line, new_checks in sorted(record.lines.items())
                },
            }
            for key, record in sorted(reach.functions.items())
        },
    }
    (folder / f"{name}.json").write_text(_text(data), "utf-8")


def _kept_checks(path: Path) -> list[str]:
    return [*json.loads(path.read_bytes())["checks"]] if path.exists() else []


def _text(data: Mapping[str, object]) -> str:
    """Return JSON with a line for each function, which a reader can compare."""
    members = []
    for name, value in data.items():
        if isinstance(value, dict):
            inner = ",\n".join(f"  {json.dumps(key)}: {json.dumps(one)}" for key, one in value.items())
            members.append(f" {json.dumps(name)}: {{\n{inner}\n }}")
        else:
            members.append(f" {json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def _of_bits(text: str, checks: list[str]) -> frozenset[str]:
    bits = int(text, 16)
    return frozenset(check for number, check in enumerate(checks) if bits >> number & 1)


def gather(lines_by_check: Mapping[str, Iterable[tuple[str, int]]], root: Path = ROOT) -> Mapping[str, Reached]:
    """Return the functions that lines belong to.

    Args:
        lines_by_check: Lines as (absolute file, line) by check.
        root: The checkout that they are of.
    """
    by_file = functions(root)
    lines: dict[Function, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for check, places in lines_by_check.items():
        for path, line in places:
            own = Path(path)
            file = own.relative_to(root).as_posix() if own.is_relative_to(root) else ""
            inner = [
                line_number for line_number in by_file.get(file, ()) if line_number.first <= line <= line_number.last
            ]
            if inner:
                lines[inner[-1]][line - inner[-1].first].add(check)
    return {
        line_number.key: Reached(line_number.digest, {line: frozenset(checks) for line, checks in check_names.items()})
        for line_number, check_names in lines.items()
    }
