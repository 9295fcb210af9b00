"""Every mutant by its id, from the modules of this package that hold some."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from reference.variants import mutants
from reference.variants.mutants.mutant import Mutant

_OTHERS = frozenset({"__main__", "catalog", "mutant"})

CATALOG: Mapping[str, Mutant] = {
    mutant.id: mutant
    for module in iter_modules(mutants.__path__)
    if module.name not in _OTHERS
    for mutant in import_module(f"{mutants.__name__}.{module.name}").MUTANTS
}
