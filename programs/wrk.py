"""wrk: the machine's, since no registry of packages has it."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

from programs.found import Program
from programs.missing import Missing

REMEDY: Final = "install wrk, for example: apt install wrk"
_VERSION = re.compile(r"wrk (?:debian/)?(\d+(?:\.\d+)+)")


def wrk() -> Program:
    """Return wrk.

    Raises:
        Missing: It is not installed.
    """
    path = shutil.which("wrk")
    if path is None:
        raise Missing("wrk is not installed", REMEDY)
    return Program("wrk", Path(path), _read_version(path), of_machine=True)


@cache
def _read_version(path: str) -> str:
    # It prints its version with its help, and ends with 1.
    process = subprocess.run([path, "-v"], capture_output=True, text=True, errors="replace", timeout=60, check=False)  # noqa: S603 - looked up
    match = _VERSION.search(process.stdout + process.stderr)
    return match[1] if match else ""
