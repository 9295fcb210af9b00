"""The npm packages of the examples, installed from their lock file into the cache and never into the repository."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weldproof" / "npm" / "examples"


def node_modules() -> Path:
    """Return a folder `node_modules` that holds what package-lock.json names, installed once for each lock."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.fail("the JavaScript examples need Node.js 20 or newer with npm: install it and run this test again")
    lock = (EXAMPLES / "package-lock.json").read_bytes()
    home = _CACHE / hashlib.sha256(lock).hexdigest()[:16]
    if not (home / "complete").exists():
        home.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(EXAMPLES / name, home)
        subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=home, check=True, timeout=240)
        (home / "complete").touch()
    return home / "node_modules"
