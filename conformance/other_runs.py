"""Whether another run of the suite, on this machine and of this user, is under way against the same addresses.

Two runs on one stack disturb each other: both move its clock and its chains, exhaust its limits and read its counts.
Each run holds a lock an address, which the system takes back when its process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


@contextmanager
def claimed(addresses: Iterable[str], folder: Path | None = None) -> Iterator[list[str]]:
    """Claim addresses for as long as the context lasts, and yield those that another run has claimed.

    Args:
        addresses: Of what a run judges and disturbs.
        folder: Where the locks are; by default a folder of the user's own among temporary files. Where there can be
            none, nothing is claimed and nobody is noticed.
    """
    with ExitStack() as held:
        yield [one for one in sorted(set(addresses)) if not _claim(one.rstrip("/"), folder, held)]


def _claim(address: str, folder: Path | None, held: ExitStack) -> bool:
    """Return whether an address is nobody else's; the lock is kept until `held` is closed."""
    try:
        home = folder or _home()
        name = hashlib.sha256(address.encode()).hexdigest()[:32]
        lock = os.open(home / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return True
    held.callback(os.close, lock)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _home() -> Path:
    """Return the folder of the locks.

    Raises:
        OSError: It cannot be made, or is somebody else's.
    """
    home = Path(tempfile.gettempdir()) / f"weldproof-runs-{os.getuid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    if home.is_symlink() or home.stat().st_uid != os.getuid():
        raise PermissionError(f"{home} is somebody else's")
    return home
