"""The catalog of mutants: where each is, and what a service that starts with one imports."""

from __future__ import annotations

import subprocess
import sys

import pytest

from reference.variants.mutants.catalog import CATALOG
from reference.variants.mutants.edit_mutants import load_mutants


def test_only_mutants_that_need_a_process_are_python() -> None:
    """Those that die in the middle of a payment, and those that install commands; each is found by its id."""
    in_python = {name for name in CATALOG if not CATALOG[name].edits}
    assert in_python == {*CATALOG} - {mutant.id for mutant in load_mutants()}
    assert {name.partition("-")[0] for name in in_python} == {"crash", "hub"}
    assert len(in_python) < 20 < len(CATALOG)


def test_an_unknown_mutant_is_a_key_error() -> None:
    """Also one that begins as those in Python do."""
    for name in ("no-such-mutant", "crash-never"):
        assert name not in CATALOG
        with pytest.raises(KeyError):
            CATALOG[name]


def test_a_mutant_brings_its_own_module_alone() -> None:
    """Asking for a control plane's mutant imports no rail."""
    code = (
        "import sys\n"
        "from reference.variants.mutants.catalog import CATALOG\n"
        "assert CATALOG['hub-command-away'].surface == 'control_plane'\n"
        "assert not [name for name in sys.modules if name.startswith('reference.rail')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
