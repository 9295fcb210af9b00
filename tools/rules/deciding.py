"""The functions of the reference that decide a row: those that the row's mutants replace.

A mutant drops one rule by replacing one attribute of the clean code, and its kill list names the rows that must catch
it. So a row leads to the rules of the mutants that it catches first or, where it catches none first, of those that it
sees too; and a rule's function leads to its file and line.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any
from unittest.mock import patch

from conformance.selftest.kill_lists import load_kill_lists
from reference.variants import mutants, seams
from reference.variants.mutants.catalog import CATALOG


def deciding() -> Mapping[str, tuple[str, ...]]:
    """Return the functions that decide each row, as `reference/rail/keys.py:Keys.find`, rows and names in order."""
    first: dict[str, set[str]] = {}
    further: dict[str, set[str]] = {}
    for kill in load_kill_lists():
        names = replaced(kill.mutant)
        first.setdefault(kill.caught_by, set()).update(names)
        for row in kill.also:
            further.setdefault(row, set()).update(names)
    found = {**further, **first}
    return {row: tuple(sorted(names)) for row, names in sorted(found.items()) if names}


def replaced(mutant: str) -> frozenset[str]:
    """Return what a mutant replaces; nothing is changed by asking."""
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


def _place(owner: Any, name: str) -> str:
    """Return where an attribute was defined: the file from the project's folder, and the name in it."""
    value = inspect.unwrap(getattr(owner, name))
    module, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(qualified, str) or not module.startswith("reference"):
        module = owner.__name__ if isinstance(owner, ModuleType) else owner.__module__
        qualified = name if isinstance(owner, ModuleType) else f"{owner.__qualname__}.{name}"
    return f"{module.replace('.', '/')}.py:{qualified.removesuffix('.__init__')}"
