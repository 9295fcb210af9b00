"""Every mutant by its id: those that are data in the folder `mutants`, and those that are Python in this package.

A service that starts needs one mutant, so that a module is imported only if it contains that one. `index.json` contains
the module of each mutant in Python. `python -m reference.variants.mutants.catalog` writes it, and a test compares it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Final, NamedTuple

from reference.variants import mutants
from reference.variants.mutants.data import find_mutant, load_mutants
from reference.variants.mutants.mutant import Mutant

INDEX: Final = Path(__file__).parent / "index.json"
_OTHERS = frozenset({"__main__", "catalog", "data", "mutant"})


class Where(NamedTuple):
    """Where a mutant is: its module in this package, and the service that it goes into."""

    module: str
    surface: str


class Catalog(Mapping[str, Mutant]):
    """Every mutant. One that is data replaces one in Python with the same id."""

    def __init__(self, index: Mapping[str, Where]) -> None:
        """Take the places of the mutants in Python."""
        self._index = index

    def __getitem__(self, name: str) -> Mutant:
        """Return a mutant, and import its module if it is Python.

        Raises:
            KeyError: No mutant has this id.
        """
        mutant = find_mutant(name)
        if mutant is not None:
            return mutant
        found: tuple[Mutant, ...] = import_module(f"{mutants.__name__}.{self._index[name].module}").MUTANTS
        return next(mutant for mutant in found if mutant.id == name)

    def __contains__(self, name: object) -> bool:
        """Return whether a mutant has this id, without its module."""
        return name in self._index or (isinstance(name, str) and find_mutant(name) is not None)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids."""
        return iter(dict.fromkeys((*self._index, *(mutant.id for mutant in load_mutants()))))

    def __len__(self) -> int:
        """Return how many there are."""
        return sum(1 for _ in self)

    def in_python(self) -> Mapping[str, Where]:
        """Return the mutants that are Python, with their places."""
        return self._index

    def surface(self, name: str) -> str:
        """Return the service that a mutant goes into, without its module."""
        mutant = find_mutant(name)
        return self._index[name].surface if mutant is None else mutant.surface


def indexed() -> dict[str, Where]:
    """Return where each mutant in Python is, by its id, from the modules themselves."""
    return {
        mutant.id: Where(module.name, mutant.surface)
        for module in iter_modules(mutants.__path__)
        if module.name not in _OTHERS
        for mutant in import_module(f"{mutants.__name__}.{module.name}").MUTANTS
    }


CATALOG: Final = Catalog({name: Where(*where) for name, where in json.loads(INDEX.read_bytes()).items()})

if __name__ == "__main__":
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(where)}" for name, where in sorted(indexed().items()))
    INDEX.write_text(f"{{\n{lines}\n}}\n", "utf-8")
