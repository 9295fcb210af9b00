"""Where the peers live: an environment and an npm folder of the bench's own, in the user's cache, with pinned versions.

They are made at first use and kept under the digest of what pins them, so that later runs need no network. Nothing of
them ever gets into the project's environment.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PEERS = Path(__file__).parent / "peers"
_SECONDS = 600
_LAST_WORDS = 400


class Missing(Exception):
    """A peer cannot be measured here; the text says what is missing and what to do."""


_failed: dict[Path, Missing] = {}


@dataclass(frozen=True, slots=True)
class PythonHome:
    """The peers' environment.

    Attributes:
        python: Its interpreter.
        servers: A folder that holds nothing but uvicorn and httptools, for a path of modules.
    """

    python: Path
    servers: Path


def python_home(say: Callable[[str], None]) -> PythonHome:
    """Return the environment of the Python peers, making it at first use.

    Args:
        say: Told what is installed, before it is.

    Raises:
        Missing: It could not be made.
    """
    home = _home("bench", PEERS / "requirements.txt", f"{sys.base_prefix} {platform.python_version()}")

    def make() -> None:
        say(f"installing the Python peers of {PEERS / 'requirements.txt'} into {home}, once")
        python = home / "venv" / "bin" / "python"
        shutil.rmtree(home / "servers", ignore_errors=True)
        _run([sys.executable, "-m", "venv", "--clear", str(home / "venv")], home)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--retries", "1", "--no-deps"]
        _run([*pip, "-r", str(PEERS / "requirements.txt")], home)
        (home / "servers").mkdir()
        packages = next((home / "venv" / "lib").glob("python*")) / "site-packages"
        for name in ("uvicorn", "httptools"):
            (home / "servers" / name).symlink_to(packages / name)

    _made(home, make)
    return PythonHome(home / "venv" / "bin" / "python", home / "servers")


def node_home(say: Callable[[str], None]) -> Path:
    """Return a folder with the npm peers in `node_modules` and our scripts beside it, making it at first use.

    Raises:
        Missing: Node.js or npm is not there, or the packages could not be installed.
    """
    for name in ("node", "npm"):
        if shutil.which(name) is None:
            raise Missing(f"no {name} on the PATH: install Node.js 20 or newer with npm, for example: apt install npm")
    home = _home("bench-npm", PEERS / "package-lock.json", "")

    def make() -> None:
        say(f"installing the npm peers of {PEERS / 'package-lock.json'} into {home}, once")
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(PEERS / name, home / name)
        _run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], home)

    _made(home, make)
    for script in PEERS.glob("*.mjs"):
        shutil.copyfile(script, home / script.name)
    return home


def versions() -> dict[str, str]:
    """Return the pinned versions of the peers and servers, by name."""
    pinned = dict(line.split("==") for line in (PEERS / "requirements.txt").read_text("ascii").split())
    found = {name: pinned[name] for name in ("x402", "fastapi", "uvicorn", "httptools", "http-message-signatures")}
    npm: dict[str, str] = json.loads((PEERS / "package.json").read_bytes())["dependencies"]
    return found | npm


def _home(kind: str, pins: Path, further: str) -> Path:
    digest = hashlib.sha256(pins.read_bytes() + further.encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "weldproof" / kind / digest


def _made(home: Path, make: Callable[[], None]) -> None:
    if home in _failed:  # one run does not try twice
        raise _failed[home]
    with _alone(home):
        if not (home / "complete").exists():
            try:
                make()
            except Missing as missing:
                _failed[home] = missing
                raise
            (home / "complete").touch()


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Let one process at a time look at a folder of the cache."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(words: list[str], home: Path) -> None:
    remedy = f"see that this machine reaches its package registries, or copy {home} from one that does"
    try:
        done = subprocess.run(words, cwd=home, capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603 - fixed words
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise Missing(f"{' '.join(words[:4])} did not end well: {fault}; {remedy}") from fault
    if done.returncode != 0:
        raise Missing(f"{' '.join(words[:4])} failed; {remedy}. It said: {done.stderr.strip()[-_LAST_WORDS:]}")
