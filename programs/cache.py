"""The project's cache: `$WELDPROOF_CACHE`, else `weldproof` in `$XDG_CACHE_HOME` or in `~/.cache`.

Each thing has a folder named by the digest of what pins it, and is whole once `complete` lies in it. So what was got
once needs no network again, another version never mixes with it, and the whole cache may be deleted at any time.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_DIGITS = 16
_COMPLETE = "complete"


def folder() -> Path:
    """Return the cache's folder, which need not be there yet."""
    own = os.environ.get("WELDPROOF_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weldproof"


def home(kind: str, pins: Path, further: str = "") -> Path:
    """Return where a thing lies.

    Args:
        kind: What sort of thing it is; the folder above its own.
        pins: File that pins it.
        further: What else makes it another thing, such as the version of Python.
    """
    return folder() / kind / hashlib.sha256(pins.read_bytes() + further.encode()).hexdigest()[:_DIGITS]


def is_whole(place: Path) -> bool:
    """Return whether a thing is there to its last file."""
    return (place / _COMPLETE).exists()


def make_once(place: Path, make: Callable[[], None]) -> Path:
    """Return a thing's folder, calling `make` unless it is whole; two that want the same thing wait for each other.

    Args:
        place: Its folder, as `home` names it; there when `make` is called.
        make: Puts the thing there, over what an earlier try may have left. What it raises, this raises.
    """
    with _alone(place):
        if not is_whole(place):
            make()
            (place / _COMPLETE).touch()
    return place


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Let one process, and one thread of it, at a time look at a folder of the cache."""
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
