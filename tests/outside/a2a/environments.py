"""The environments of the A2A SDK's two lines, each in the user's cache under the digest of its pins.

They are made at first use, or ahead of it by `python -m tests.prefetch`; later runs need no network. Nothing of them
ever gets into the project's environment.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

LINES = ("1", "0.3")
_HERE = Path(__file__).parent
_SECONDS = 600


def python_of(line: str) -> Path:
    """Return the interpreter of a line's environment, making it at first use.

    Raises:
        RuntimeError: It could not be made; the text says what to do.
    """
    pins = _HERE / f"requirements-{line}.txt"
    digest = hashlib.sha256(pins.read_bytes() + f"{sys.base_prefix} {platform.python_version()}".encode())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "weldproof" / "a2a" / digest.hexdigest()[:16]
    home.mkdir(parents=True, exist_ok=True)
    python = home / "venv" / "bin" / "python"
    with (home / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not (home / "complete").exists():
            _run([sys.executable, "-m", "venv", "--clear", str(home / "venv")], home)
            # Most of what is installed is never imported: what is, is compiled then.
            pip = [str(python), "-m", "pip", "install", "--quiet", "--retries", "1", "--no-deps", "--no-compile"]
            _run([*pip, "-r", str(pins)], home)
            (home / "complete").touch()
    return python


def _run(words: list[str], home: Path) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode != 0:
        raise RuntimeError(
            f"{' '.join(words[:4])} failed; see that this machine reaches its package registry, or copy {home} from one"
            f" that does. It said: {done.stderr.strip()[-400:]}"
        )
