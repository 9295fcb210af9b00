"""The walls of the house: who may import whom."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_walls_stand() -> None:
    """Every import contract of the house is kept."""
    result = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_nothing_loads_a_forbidden_package_by_name() -> None:
    """The suite and the launcher name no module of the reference or the simulators in an import at run time."""
    for folder in ("conformance", "localnet"):
        for path in (ROOT / folder).rglob("*.py"):
            for line in path.read_text("utf-8").splitlines():
                loads = "import_module(" in line or "__import__(" in line
                assert not (loads and any(f'"{name}' in line for name in ("reference", "sim"))), f"{path}: {line}"


def test_no_function_is_found_by_its_name() -> None:
    """What the code obeys is held as a function, where a type checker and a reader can follow it."""
    for folder in ("conformance", "localnet", "reference", "sim", "tools"):
        for path in (ROOT / folder).rglob("*.py"):
            assert "globals()[" not in path.read_text("utf-8"), path
