"""The pinned Solidity compiler, for the tests that rebuild an artefact from its source."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

_CONTRACTS = Path(__file__).parents[1] / "sim" / "base" / "contracts"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weldproof" / "npm"


def compiler() -> Path:
    """Return a folder `node_modules` with the compiler of package-lock.json, installed once for each lock.

    A machine without npm skips; one whose npm cannot install fails.
    """
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, so no artefact can be rebuilt")
    lock = (_CONTRACTS / "package-lock.json").read_bytes()
    home = _CACHE / hashlib.sha256(lock).hexdigest()[:16]
    if not (home / "complete").exists():
        home.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(_CONTRACTS / name, home)
        subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=home, check=True, timeout=240)
        (home / "complete").touch()
    return home / "node_modules"


def rebuilt(sources: Path, output: Path) -> None:
    """Compile every contract of `sources` into `output`."""
    command = ["node", str(_CONTRACTS / "compile.mjs"), str(sources), str(output), str(compiler())]
    subprocess.run(command, check=True, timeout=240)
