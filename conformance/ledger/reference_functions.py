"""Functions of the reference that decide a row, derived from the edits of the row's mutants.

A mutant removes one rule by an edit of the clean code, and its entry names the row that must catch it. A function
decides a row if most of the row's mutants change it. A row without such a function has no entry.

The sources are read as text: the suite never imports the reference.
"""

from __future__ import annotations

import ast
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

MUTANTS: Final = "mutants"
# A function that the mutants of more rows change only carries faults of other functions.
_MOST_ROWS: Final = 3


def list_deciding_functions(root: Path) -> list[dict[str, Any]]:
    """Return each row that has such functions, with their names as `reference/rail/keys.py:Keys.find`, in order."""
    by_row: dict[str, list[frozenset[str]]] = defaultdict(list)
    sources = _Sources(root)
    # Sorted, because the file in a wheel must not depend on the order in which the file system lists names.
    for path in sorted((root / MUTANTS).glob("*.toml")):
        for entry in tomllib.loads(path.read_text("utf-8"))["mutant"]:
            places = [sources.place(edit["file"], edit["find"]) for edit in entry.get("edits", ())]
            by_row[entry["caught_by"]].append(frozenset(place for place in places if place is not None))
    rows_of = Counter(name for mutants in by_row.values() for name in frozenset().union(*mutants))
    names_by_row = {row: [*_decisive_names(mutants, rows_of)] for row, mutants in sorted(by_row.items())}
    return [{"row": row, "rules": names} for row, names in names_by_row.items() if names]


def _decisive_names(mutants: list[frozenset[str]], rows_of: Mapping[str, int]) -> Iterator[str]:
    """Yield the functions that more than half of a row's mutants replace, in order."""
    counts = Counter(name for names in mutants for name in names)
    for name, count in sorted(counts.items()):
        # Some mutants edit a function that only carries the fault, such as one that builds an app or signs an
        # answer. So a function must be changed by more than half of the row's mutants. The function of a
        # single mutant decides, unless the mutants of many rows change it.
        if 2 * count > len(mutants) and (count > 1 or rows_of[name] <= _MOST_ROWS):
            yield name


class _Sources:
    """The files of the reference, each parsed once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._parsed: dict[str, tuple[str, list[ast.stmt]]] = {}

    def place(self, file: str, text: str) -> str | None:
        """Return the method, function, class or constant that contains a text, by file and name.

        None for an import, which decides nothing even if an edit adds to it. None also if the file is missing or is
        not valid Python, or if the text is not in it.
        """
        # A checkout may be in the middle of a change of the reference, so a missing text is not an error
        # here. A test requires that each text of an edit occurs once.
        if file not in self._parsed:
            self._parsed[file] = self._read(file)
        source, body = self._parsed[file]
        start = source.find(text)
        if start < 0:
            return None
        # The text of an edit may begin with line ends and indentation. Its first line is the one of its first
        # word.
        first = source.count("\n", 0, start + len(text) - len(text.lstrip())) + 1
        names: list[str] = []
        while node := next((node for node in body if node.lineno <= first <= (node.end_lineno or 0)), None):
            if isinstance(node, ast.ClassDef):
                names.append(node.name)
                body = node.body
                continue
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                names.append(node.name)
                break
            names += [target.id for target in _targets(node) if isinstance(target, ast.Name) and not names]
            break
        return f"{file}:{'.'.join(names)}" if names else None

    def _read(self, file: str) -> tuple[str, list[ast.stmt]]:
        try:
            source = (self._root / file).read_text("utf-8")
            return source, ast.parse(source).body
        except (OSError, SyntaxError):
            return "", []


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []
