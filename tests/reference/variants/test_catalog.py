"""The catalog of mutants: where each is, and what a service that starts with one imports."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import pytest

from reference.variants import mutants
from reference.variants.mutants.catalog import CATALOG, indexed


def test_the_index_is_what_the_modules_hold() -> None:
    """Each mutant in Python is in one module, and the index has it with its service."""
    names = [
        mutant.id
        for module in iter_modules(mutants.__path__)
        for mutant in getattr(import_module(f"{mutants.__name__}.{module.name}"), "MUTANTS", ())
    ]
    assert len(names) == len(set(names))
    assert indexed() == CATALOG.in_python()
    assert len(CATALOG) > 900


def test_an_unknown_mutant_is_a_key_error() -> None:
    """An id that neither the index nor the data contains is not searched for in the modules."""
    assert "no-such-mutant" not in CATALOG
    with pytest.raises(KeyError):
        CATALOG["no-such-mutant"]


def test_a_mutant_brings_its_own_module_alone() -> None:
    """Asking for a control plane's mutant imports no rail."""
    code = (
        "import sys\n"
        "from reference.variants.mutants.catalog import CATALOG\n"
        "assert CATALOG['hub-command-away'].surface == 'control_plane'\n"
        "assert not [name for name in sys.modules if name.startswith('reference.rail')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
