"""The places where checks judge: every call of `Case.expect` in the suite's source."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_SUITE = _ROOT / "conformance"
# A row, whether it holds, what was expected and what was found.
_FEWEST = 3


@dataclass(frozen=True, slots=True)
class Place:
    """A call of `expect`.

    Attributes:
        id: `PACKAGE/MODULE:FUNCTION#N`, the N-th of its function from 1; stays when lines move.
        file: Its file, from the checkout's root.
        first: The line on which the call begins.
        last: The line on which it ends.
        condition: What is judged, as written.
    """

    id: str
    file: str
    first: int
    last: int
    condition: str = field(compare=False)


def places(folder: Path = _SUITE) -> Mapping[str, Place]:
    """Return every place of the modules in a folder, by its id."""
    return {place.id: place for path in sorted(folder.rglob("*.py")) for place in _of(path)}


def _of(path: Path) -> Iterator[Place]:
    name = path.relative_to(_ROOT).with_suffix("").as_posix()
    count: Counter[str] = Counter()
    for function, call in _judging_calls(ast.parse(path.read_text("utf-8")), ()):
        count[function] += 1
        where = path.relative_to(_ROOT).as_posix()
        last = call.end_lineno or call.lineno
        yield Place(f"{name}:{function}#{count[function]}", where, call.lineno, last, ast.unparse(call.args[1]))


def _judging_calls(node: ast.AST, within: tuple[str, ...]) -> Iterator[tuple[str, ast.Call]]:
    """Yield each call of `expect` with the dotted name of the function that it stands in, as the source has them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _judging_calls(child, (*within, child.name))
            continue
        if isinstance(child, ast.Call) and _judges(child):
            yield ".".join(within), child
        yield from _judging_calls(child, within)


def _judges(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "expect" and len(call.args) >= _FEWEST
