"""npm packages for tests, installed from a lock file into the cache and never into the repository."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weldproof" / "npm"


def node_modules(package: Path) -> Path:
    """Return a folder `node_modules` that holds what a folder's package-lock.json names, installed once for each lock.

    A machine without npm fails the test: nothing is skipped.
    """
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.fail("this test needs Node.js 20 or newer with npm: install it and run the test again")
    home = _CACHE / hashlib.sha256((package / "package-lock.json").read_bytes()).hexdigest()[:16]
    if not (home / "complete").exists():
        home.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(package / name, home)
        subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=home, check=True, timeout=240)
        (home / "complete").touch()
    return home / "node_modules"
