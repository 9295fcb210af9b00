"""The functions of the reference that decide a row, derived from what the row's mutants change.

A mutant drops one rule by editing one function or replacing one attribute of the clean code, and its kill list names
the row that must catch it. Some mutants change a function that only carries the fault, such as one that builds an app
or signs an answer. A function therefore decides a row only if more than half of the row's mutants change it. If the row
has one mutant, its function decides the row unless the mutants of many rows change that function. A row without such a
function has none.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

from conformance.selftest.kill_lists import load_kill_lists
from reference.variants import mutants, seams
from reference.variants.edits import Edit
from reference.variants.mutants.catalog import CATALOG
from reference.variants.mutants.data import ROOT

# A function that the mutants of more rows replace carries faults of other functions.
_MOST_ROWS: Final = 3


def deciding() -> Mapping[str, tuple[str, ...]]:
    """Return the functions that decide each row, as `reference/rail/keys.py:Keys.find`, rows and names in order."""
    by_row: dict[str, list[frozenset[str]]] = defaultdict(list)
    for kill in load_kill_lists():
        by_row[kill.caught_by].append(replaced(kill.mutant))
    rows_of = Counter(name for mutants in by_row.values() for name in frozenset().union(*mutants))
    found = {row: tuple(_agreed(mutants, rows_of)) for row, mutants in sorted(by_row.items())}
    return {row: names for row, names in found.items() if names}


def _agreed(mutants: list[frozenset[str]], rows_of: Mapping[str, int]) -> Iterator[str]:
    """Yield the functions that more than half of a row's mutants replace, in order."""
    replacing = Counter(name for names in mutants for name in names)
    for name, count in sorted(replacing.items()):
        if 2 * count > len(mutants) and (count > 1 or rows_of[name] <= _MOST_ROWS):
            yield name


def replaced(mutant: str) -> frozenset[str]:
    """Return what a mutant edits or replaces; nothing is changed by asking."""
    edits = CATALOG[mutant].edits
    if edits:
        places = (_edited(edit) for edit in edits)
        return frozenset(place for place in places if place is not None)
    seen: set[str] = set()

    def note(owner: Any, name: str, made: Callable[..., Any]) -> None:
        del made
        seen.add(_place(owner, name))

    def note_rule(owner: ModuleType, rule: Callable[..., bool], other: Callable[..., bool]) -> None:
        note(owner, rule.__name__, other)

    modules = [seams, *(import_module(f"{mutants.__name__}.{one.name}") for one in iter_modules(mutants.__path__))]
    patches = [
        patch.object(module, name, noting)
        for name, noting in (("replace", note), ("replace_rule", note_rule))
        for module in modules
        if hasattr(module, name)
    ]
    for one in patches:
        one.start()
    try:
        with patch.object(sys, "modules", dict(sys.modules)):
            CATALOG[mutant].apply()
    finally:
        for one in patches:
            one.stop()
    return frozenset(seen)


def _edited(edit: Edit) -> str | None:
    """Return the innermost function, class or constant that contains the text of an edit, by file and name.

    None for an import, which an edit adds to but which decides nothing.
    """
    source = (ROOT / edit.file).read_text("utf-8")
    start = source.index(edit.find)
    first = source.count("\n", 0, start + len(edit.find) - len(edit.find.lstrip())) + 1
    names: list[str] = []
    body: list[ast.stmt] = ast.parse(source).body
    while node := next((node for node in body if node.lineno <= first <= (node.end_lineno or 0)), None):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append(node.name)
            body = node.body
            continue
        names += [target.id for target in _targets(node) if isinstance(target, ast.Name) and not names]
        break
    return f"{edit.file}:{'.'.join(names)}" if names else None


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def _place(owner: Any, name: str) -> str:
    """Return where an attribute was defined: the file from the project's folder, and the name in it."""
    value = inspect.unwrap(getattr(owner, name))
    module, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(qualified, str) or not module.startswith("reference"):
        module = owner.__name__ if isinstance(owner, ModuleType) else owner.__module__
        qualified = name if isinstance(owner, ModuleType) else f"{owner.__qualname__}.{name}"
    return f"{module.replace('.', '/')}.py:{qualified.removesuffix('.__init__')}"
