"""What each mutant without edits replaces, as data: `python -m tools.mutant_places` writes them.

Such a mutant is Python, so that only applying it shows what it replaces.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

from conformance.ledger.deciding import PLACES
from conformance.ledger.derived import ROOT
from reference.variants import mutants, seams
from reference.variants.mutants.catalog import CATALOG

FILE: Final = ROOT / PLACES


def replaced(mutant: str) -> frozenset[str]:
    """Return what a mutant in Python replaces; nothing stays changed."""
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


def places() -> Mapping[str, list[str]]:
    """Return what each mutant without edits replaces, by its id, both in order."""
    return {name: sorted(replaced(name)) for name in sorted(CATALOG) if not CATALOG[name].edits}


def encoded() -> str:
    """Return the file as it should be, a mutant a line."""
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(found)}" for name, found in places().items())
    return f"{{\n{lines}\n}}\n" if lines else "{}\n"


def missing() -> list[str]:
    """Return the mutants without edits whose entry is missing or wrong."""
    recorded = json.loads(FILE.read_bytes())
    return [name for name, found in places().items() if recorded.get(name) != found]


def main() -> None:
    """Write the file; with `--check`, end with 1 if a mutant without edits has no entry or a wrong one."""
    if "--check" in sys.argv[1:]:
        wrong = missing()
        sys.exit(f"record these again: {', '.join(wrong)}" if wrong else 0)
    FILE.write_text(encoded(), "utf-8")


if __name__ == "__main__":
    main()
