"""Functions of the reference that decide a row, derived from its mutants as `rules.json`, and their lines.

The suite imports none of them. If the reference is also installed, its files are read as text to find the line of a
function.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from conformance.ledger.derived_files import ROOT, Derived
from conformance.ledger.reference_functions import MUTANTS, list_deciding_functions

RULES: Final = Derived(
    "conformance/ledger/rules.json",
    (f"{MUTANTS}/*.toml", "reference/*.py", "conformance/ledger/reference_functions.py"),
    list_deciding_functions,
)


@cache
def _rules() -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType({one["row"]: tuple(one["rules"]) for one in RULES.load()})


def rules_of(row_id: str) -> tuple[str, ...]:
    """Return the functions of the reference that decide a row, as `reference/rail/keys.py:Keys.find`; () if unknown."""
    return _rules().get(row_id, ())


def find_line(file: str, name: str) -> int | None:
    """Return the line of a definition, None if the file is not installed or has no such name.

    Args:
        file: From the project's folder.
        name: Of a function, a class, or a constant; dots lead into classes.
    """
    body = _definitions(file)
    definition: ast.stmt | None = None
    for part in name.split("."):
        definition = next((node for node in body if part in _names(node)), None)
        if definition is None:
            return None
        # Only a class contains definitions that a dotted name can reach.
        body = definition.body if isinstance(definition, ast.ClassDef) else []
    return None if definition is None else definition.lineno


@cache
def _definitions(file: str) -> list[ast.stmt]:
    """Return what a file defines, or nothing if it is not installed. A file that decides many rows is read once."""
    try:
        return ast.parse((ROOT / file).read_text("utf-8")).body
    except FileNotFoundError:
        return []


def _names(node: ast.stmt) -> tuple[str, ...]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return (node.name,)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    nodes = [inner for target in targets for inner in ast.walk(target)]
    return tuple(inner.id for inner in nodes if isinstance(inner, ast.Name))


def place(file: str, name: str) -> str:
    """Return where a definition is, as `file:line`; only the file if its line is unknown."""
    line = find_line(file, name)
    return file if line is None else f"{file}:{line}"
