"""The catalog of all mutants by id: data in the folder `mutants`, and a few in Python.

A service that starts with a mutant imports only what that mutant needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from reference.variants import mutants
from reference.variants.mutants.edit_mutants import find_mutant, load_mutants
from reference.variants.mutants.mutant import Mutant

# The modules with mutants in Python, by the beginning of their ids.
_MODULES: Final[Mapping[str, str]] = {"crash-": "crash", "hub-command": "console_commands"}


class Catalog(Mapping[str, Mutant]):
    """Every mutant."""

    def __getitem__(self, name: str) -> Mutant:
        """Return a mutant.

        Raises:
            KeyError: No mutant has this id.
        """
        mutant = find_mutant(name) or next((one for one in _in_python(name) if one.id == name), None)
        if mutant is None:
            raise KeyError(name)
        return mutant

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids."""
        yield from (mutant.id for mutant in load_mutants())
        for prefix in _MODULES:
            yield from (mutant.id for mutant in _in_python(prefix))

    def __len__(self) -> int:
        """Return how many there are."""
        return sum(1 for _ in self)


def _in_python(name: str) -> tuple[Mutant, ...]:
    """Return the mutants of the module whose ids begin as this one does; none if there is no such module."""
    for prefix, module in _MODULES.items():
        if name.startswith(prefix):
            module_mutants: tuple[Mutant, ...] = import_module(f"{mutants.__name__}.{module}").MUTANTS
            return module_mutants
    return ()


CATALOG: Final = Catalog()
