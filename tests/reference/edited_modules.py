"""Modules of `reference.protocol` as a mutant edits them, imported next to the clean ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

import reference
from reference.variants.edits import edit_modules, import_edited
from reference.variants.mutants.catalog import CATALOG
from reference.variants.mutants.edit_mutants import ROOT

_PACKAGE = "reference.protocol"


def import_mutated(mutant: str, module: str) -> ModuleType:
    """Return a module of `reference.protocol` whose whole package is imported with the edits of a mutant.

    The clean modules are what every other import returns, before and after.
    """
    with _imported_again(edit_modules(CATALOG[mutant].edits, ROOT)):
        return import_module(module)


@contextmanager
def _imported_again(sources: Mapping[str, str]) -> Iterator[None]:
    clean = {name: sys.modules.pop(name) for name in _modules_of_package()}
    finders = [*sys.meta_path]
    try:
        import_edited(sources)
        yield
    finally:
        sys.meta_path[:] = finders
        for name in _modules_of_package():
            del sys.modules[name]
        sys.modules.update(clean)
        if _PACKAGE in clean:
            vars(reference)["protocol"] = clean[_PACKAGE]


def _modules_of_package() -> list[str]:
    return [name for name in sys.modules if name == _PACKAGE or name.startswith(f"{_PACKAGE}.")]
