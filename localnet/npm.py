"""The npm packages of the real nodes: pinned by package-lock.json, installed once into the user's cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localnet.missing import Missing

NODES = Path(__file__).parent
_SECONDS = 300
_LAST_WORDS = 500


def cache() -> Path:
    """Return the folder that keeps installed packages, one folder a lock file."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weldproof" / "npm"


def node_modules(package: Path = NODES) -> Path:
    """Return a folder `node_modules` that holds exactly what a folder's package-lock.json names.

    It is installed with `npm ci` at first use and kept under the lock file's digest; two processes that want the same
    one wait for each other. Scripts of packages are not run.

    Args:
        package: Folder with package.json and package-lock.json; the real nodes' own by default.

    Raises:
        Missing: Node.js or npm is not there, or the registry did not give the packages.
    """
    home = _home(package)
    with _alone(home):
        if not (home / "complete").exists():
            _install(package, home)
    return home / "node_modules"


def installed(package: Path = NODES) -> bool:
    """Return whether `node_modules` would install nothing."""
    return (_home(package) / "complete").exists()


def _home(package: Path) -> Path:
    return cache() / hashlib.sha256((package / "package-lock.json").read_bytes()).hexdigest()[:16]


def program(name: str) -> str:
    """Return the path of `node` or `npm`.

    Raises:
        Missing: It is not there.
    """
    found = shutil.which(name)
    if found is None:
        raise Missing(f"no {name} on the PATH", "install Node.js 20 or newer with npm, for example: apt install npm")
    return found


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Let one process at a time look at a folder of the cache."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(package: Path, home: Path) -> None:
    npm = program("npm")
    program("node")
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(package / name, home / name)
    words = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    remedy = f"see that npm reaches its registry (`npm ping`), then: cd {home} && npm ci --ignore-scripts"
    try:
        done = subprocess.run(words, cwd=home, capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603 - fixed words
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise Missing(f"npm did not install the packages of {package.name}: {fault}", remedy) from fault
    if done.returncode != 0:
        said = done.stderr.strip()[-_LAST_WORDS:]
        raise Missing(f"npm did not install the packages of {package.name}: {said}", remedy)
    (home / "complete").touch()
