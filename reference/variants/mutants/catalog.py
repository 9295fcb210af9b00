"""Every mutant by its id. A module is imported when one of its mutants is asked for: a service that starts wants one.

`index.json` says where each is; `python -m reference.variants.mutants.catalog` writes it anew, and a test compares it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Final, NamedTuple

from reference.variants import mutants
from reference.variants.mutants.mutant import Mutant

INDEX: Final = Path(__file__).parent / "index.json"
_OTHERS = frozenset({"__main__", "catalog", "mutant"})


class Where(NamedTuple):
    """Where a mutant is: its module in this package, and the service that it goes into."""

    module: str
    surface: str


class Catalog(Mapping[str, Mutant]):
    """The mutants of this package."""

    def __init__(self, index: Mapping[str, Where]) -> None:
        """Take where each is."""
        self._index = index

    def __getitem__(self, name: str) -> Mutant:
        """Return a mutant, with its module imported.

        Raises:
            KeyError: There is none of that id.
        """
        found: tuple[Mutant, ...] = import_module(f"{mutants.__name__}.{self._index[name].module}").MUTANTS
        return next(mutant for mutant in found if mutant.id == name)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids."""
        return iter(self._index)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._index)

    def where(self, name: str) -> Where:
        """Return where a mutant is, without its module."""
        return self._index[name]


def indexed() -> dict[str, Where]:
    """Return where each mutant is, by its id, from the modules themselves."""
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
