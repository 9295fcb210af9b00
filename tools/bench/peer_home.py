"""Where the peers live: an environment and an npm folder of the bench's own, in the cache, with pinned versions.

They are made at first use and kept under the digest of what pins them, so that later runs need no network. Nothing of
them ever gets into the project's environment.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from programs import npm_packages, python_packages
from programs.missing import Missing

PEERS = Path(__file__).parent / "peers"
_failures: dict[str, Missing] = {}


@dataclass(frozen=True, slots=True)
class PythonHome:
    """The peers' environment.

    Attributes:
        python: Its interpreter.
        servers: A folder that holds nothing but granian, for a path of modules.
    """

    python: Path
    servers: Path


def python_home(say: Callable[[str], None]) -> PythonHome:
    """Return the environment of the Python peers, making it at first use.

    Args:
        say: Called with a line before each installation.

    Raises:
        Missing: It could not be made.
    """
    pins = PEERS / "requirements.txt"
    home = _make_once(
        "Python", lambda: python_packages.environment("bench", pins, description="the Python peers", say=say)
    )
    servers = home.parent / "servers"
    servers.mkdir(exist_ok=True)
    granian = servers / "granian"
    if not granian.exists():
        granian.symlink_to(python_packages.packages(home) / "granian")
    return PythonHome(home / "bin" / "python", servers)


def node_home(say: Callable[[str], None]) -> Path:
    """Return a folder with the npm peers in `node_modules` and our scripts beside it, making it at first use.

    Raises:
        Missing: Node.js and npm are not to be had, or the packages could not be installed.
    """
    home = _make_once("npm", lambda: npm_packages.node_modules(PEERS, say=say)).parent
    for script in PEERS.glob("*.mjs"):
        shutil.copyfile(script, home / script.name)
    return home


def versions() -> dict[str, str]:
    """Return the pinned versions of the peers and servers, by name."""
    requirements = dict(line.split("==") for line in (PEERS / "requirements.txt").read_text("ascii").split())
    python_versions = {
        name: requirements[name]
        for name in ("x402", "fastapi", "uvicorn", "httptools", "granian", "http-message-signatures")
    }
    npm: dict[str, str] = json.loads((PEERS / "package.json").read_bytes())["dependencies"]
    return python_versions | npm


def _make_once(kind: str, make: Callable[[], Path]) -> Path:
    if kind in _failures:  # one run does not try twice
        raise _failures[kind]
    try:
        return make()
    except Missing as missing:
        _failures[kind] = missing
        raise
