"""Programs of the suite as they run where extras of the distribution are not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from conformance import extras

# Modules of these roots are found nowhere from then on, in this process.
_HIDING_HOOK = """
import importlib.machinery, sys
class Without(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else super().find_spec(name, path, target)
sys.meta_path[:] = [Without if one is importlib.machinery.PathFinder else one for one in sys.meta_path]
"""


def run_without(
    hidden_modules: Collection[str], program: str, *words: str, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program's text, given as to `python -c`, as if the libraries of these extras were not installed."""
    roots = {module for extra in hidden_modules for module in extras.MODULES[extra]}
    text = f"HIDDEN = {roots!r}\n{_HIDING_HOOK}\n{program}"
    return subprocess.run(
        [sys.executable, "-c", text, *words], cwd=cwd, capture_output=True, text=True, check=False, env=os.environ
    )


def weldproof_without(
    hidden_modules: Collection[str], *words: str, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command `weldproof` in the same way."""
    return run_without(hidden_modules, "from conformance.cli import main\nmain(prog_name='weldproof')", *words, cwd=cwd)
